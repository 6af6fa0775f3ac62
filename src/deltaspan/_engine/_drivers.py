"""Drivers of actions that go on after their call: generators, coroutines, futures, other awaitables.

A generator of ours drives the generator of the action, step by step, and behaves like it in every respect,
`yield from` included. The run is entered before each step and left after it, in the context of the consumer:
the body sees its causal tag and what its consumer has set since, and the consumer sees nothing of the run.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import sys
import types
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Final, TypeAlias

import wrapt

from deltaspan._engine._run import NO_VERDICT, Run
from deltaspan._interrupts import let_through
from deltaspan._verdicts import UNREAD
from deltaspan._workers import run_in_background, start_background_thread

Start: TypeAlias = Callable[[], Run]
"""Returns the run of an action at its first step."""


def drive_generator(start: Start, action: types.GeneratorType[Any, Any, Any]) -> Any:
    """Return a generator that drives the action's own within its window.

    Args:
        start: returns the run, at the first step.
        action: the generator that the action returned. It has not begun.
    """
    drive = _drive_awaitable if action.gi_code.co_flags & inspect.CO_ITERABLE_COROUTINE else _drive
    return _copy_name(action, drive(start, action))


def drive_async_generator(start: Start, action: AsyncGenerator[Any, Any]) -> Any:
    """Return an async generator that drives the action's own within its window.

    Args:
        start: returns the run, at the first step.
        action: the async generator that the action returned. It has not begun.
    """
    return _copy_name(action, _drive_async(start, action))


def _wrap_awaitable(start: Start, action: Coroutine[Any, Any, Any]) -> Any:
    """Return a coroutine that awaits the action's own within its window."""
    return _copy_name(action, _await(start, action))


def _wrap_in_proxy(start: Start, action: Awaitable[Any]) -> Any:
    """Return a proxy of the awaitable that the action returned."""
    proxy_class = _AwaitableCoroutine if isinstance(action, Coroutine) else _Awaitable
    return proxy_class(action, start)


def _drive(start: Start, action: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    sent: Any = None
    thrown: list[BaseException] = []
    with start() as run:
        while True:
            try:
                value = action.throw(thrown.pop()) if thrown else action.send(sent)
            except StopIteration as end:
                run.result = end.value
                break
            run.suspend()
            sent = None
            try:
                sent = yield value
            except BaseException as error:  # of any class: the action may handle it
                thrown.append(_without_our_frame(error))
            # Outside the handler, so that what the body raises next has no context that it would not have.
            run.resume(thrown[0] if thrown else None)
    return None if run.result is UNREAD else run.result


# A generator of `types.coroutine` can be awaited, so its driver must be awaitable too.
_drive_awaitable: Final = types.coroutine(_drive)


async def _drive_async(start: Start, action: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    sent: Any = None
    thrown: list[BaseException] = []
    async with start() as run:
        step = _first_step(action)
        while True:
            try:
                value = await step
            except StopAsyncIteration:
                run.result = None
                break
            run.suspend()
            sent = None
            try:
                sent = yield value
            except BaseException as error:  # of any class: the action may handle it
                thrown.append(_without_our_frame(error))
            run.resume(thrown[0] if thrown else None)
            step = action.athrow(thrown.pop()) if thrown else action.asend(sent)


async def _await(start: Start, action: Awaitable[Any]) -> Any:
    async with start() as run:
        run.result = await action
    return run.result


def _without_our_frame(error: BaseException) -> BaseException:
    """Remove our frame, in which an exception was thrown in, from its traceback."""
    trace = error.__traceback__
    return error.with_traceback(None if trace is None else trace.tb_next)


def _first_step(action: AsyncGenerator[Any, Any]) -> Any:
    """Start the generator without registering it with the event loop.

    A loop registers an async generator when it is first iterated, and closes all of them at its shutdown. It
    must know our generator alone, or it would close both at once.
    """
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return action.asend(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _copy_name(action: Any, driver: Any) -> Any:
    """Name a driver like its action, and return it.

    The name stands in reprs, in tracebacks and in the warning of a coroutine that is never awaited.
    """
    name = getattr(action, "__name__", None) or type(action).__name__
    driver.__name__, driver.__qualname__ = name, getattr(action, "__qualname__", name)
    return driver


# Pending results of a plain function -----------------------------------------------------------------------


def is_plain_value(result: Any) -> bool:
    """Return whether the result is of a common type that is never pending."""
    try:
        return type(result) in _PLAIN_TYPES
    except BaseException as error:
        let_through(error)
        return False  # its class does not hash


def keep_window_open(run: Run, result: Any) -> bool:
    """Keep the window open if the result is pending, and return whether it is.

    Args:
        run: the run of the call, entered.
        result: what the call returned.
    """
    try:
        kind = type(result)
        if kind not in _WRAPPERS and not _is_future(kind) and not hasattr(kind, "__await__"):
            return False
    except BaseException as error:
        let_through(error)
        return False  # a class that raises on inspection is not a future
    if not _is_new(result):
        return False  # it was started elsewhere, so here it is a value like any other
    run.result = UNREAD
    run.keep_open()
    return True


def wrap_pending(run: Run, result: Any) -> Any:
    """Return the driver of a pending result, or the future itself.

    Args:
        run: the run of the call, which was kept open and left.
        result: what the call returned.
    """
    kind = type(result)
    wrap = _WRAPPERS.get(kind)
    if wrap is None and _is_future(kind):
        _close_when_done(run, result)
        return result
    if wrap is None:
        wrap = _wrap_in_proxy if _is_made_in_python(kind) else _wrap_awaitable
        if wrap is _wrap_awaitable and not issubclass(kind, Coroutine):
            run.abandon_because(
                f"the action returned a {kind.__name__}, which acts when it is awaited, and nothing can "
                "stand in for it; make the action async, and await it there"
            )
            return result
        run.why_abandoned = (
            f"nobody awaited the {kind.__name__} that the action returned; if it acts in another way, make "
            f"the action async, and let it return when it has acted"
        )
    finalizers: list[weakref.finalize[Any, Any]] = []

    def start() -> Run:
        finalizers.pop().detach()
        run.why_abandoned = NO_VERDICT
        return run

    # Only the driver holds `start`. It drops it when it is closed or collected unused.
    finalizers.append(_abandon_when_collected(start, run, result))
    return wrap(start, result)


_PLAIN_TYPES: Final = frozenset({type(None), bool, int, float, str, bytes, tuple, list, dict, set})

_WRAPPERS: Final[dict[type, Callable[[Start, Any], Any]]] = {
    types.CoroutineType: _wrap_awaitable,
    types.GeneratorType: drive_generator,
    types.AsyncGeneratorType: drive_async_generator,
}


class _Awaitable(wrapt.AutoObjectProxy[Any]):
    """A proxy of an awaitable that the action returned.

    The window is open until it has been awaited or, used in `async with`, until that block has ended. A
    second use goes to the awaitable itself.
    """

    def __init__(self, awaitable: Any, start: Start) -> None:
        super().__init__(awaitable)
        self._self_start: Start | None = start
        self._self_entered: tuple[Run, weakref.finalize[Any, Any]] | None = None

    def __copy__(self) -> Any:
        return copy.copy(self.__wrapped__)

    def __deepcopy__(self, memo: Any) -> Any:
        return copy.deepcopy(self.__wrapped__, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__wrapped__.__reduce_ex__(protocol)

    def __await__(self) -> Any:
        start, self._self_start = self._self_start, None
        if start is None:
            return self.__wrapped__.__await__()
        return _await(start, self.__wrapped__).__await__()

    async def __aenter__(self) -> Any:
        start, self._self_start = self._self_start, None
        if start is None:
            return await self.__wrapped__.__aenter__()
        run = start()
        await run.__aenter__()
        try:
            run.result = entered = await self.__wrapped__.__aenter__()
        except BaseException as raised:
            await run.__aexit__(type(raised), raised, raised.__traceback__)
            raise
        run.suspend()
        self._self_entered = run, _abandon_when_collected(self, run, None)
        return entered

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> Any:
        entered, self._self_entered = self._self_entered, None
        if entered is None:
            return await self.__wrapped__.__aexit__(kind, error, trace)
        run, finalizer = entered
        finalizer.detach()
        run.resume(None)
        try:
            is_handled = await self.__wrapped__.__aexit__(kind, error, trace)
        except BaseException as raised:
            await run.__aexit__(type(raised), raised, raised.__traceback__)
            raise
        unhandled = None if is_handled else error
        await run.__aexit__(None if unhandled is None else type(unhandled), unhandled, None)
        return is_handled


class _AwaitableCoroutine(_Awaitable):
    """A proxy that an event loop can also drive by itself, like a coroutine."""

    def __init__(self, awaitable: Any, start: Start) -> None:
        super().__init__(awaitable, start)
        self._self_driver: Any = None

    def send(self, value: Any) -> Any:
        return self._driver.send(value)

    def throw(self, *error: Any) -> Any:
        return self._driver.throw(*error)

    def close(self) -> None:
        self._self_start = None  # if nothing has driven it yet, its run is abandoned
        driver = self.__wrapped__ if self._self_driver is None else self._self_driver
        driver.close()

    @property
    def _driver(self) -> Any:
        if self._self_driver is None:
            start, self._self_start = self._self_start, None
            self._self_driver = (
                self.__wrapped__ if start is None else _wrap_awaitable(start, self.__wrapped__)
            )
        return self._self_driver


_PY_TPFLAGS_HEAPTYPE: Final = 1 << 9


def _is_made_in_python(kind: type) -> bool:
    """Return whether a proxy can stand in for objects of this class.

    Compiled code asks for a compiled class by its layout, which no proxy has.
    """
    return all(base.__flags__ & _PY_TPFLAGS_HEAPTYPE for base in kind.__mro__ if base is not object)


def _is_future(kind: type) -> bool:
    return hasattr(kind, "add_done_callback") and hasattr(kind, "cancelled") and hasattr(kind, "exception")


def _is_new(result: Any) -> bool:
    if isinstance(result, types.GeneratorType):
        return inspect.getgeneratorstate(result) == inspect.GEN_CREATED
    if isinstance(result, types.CoroutineType):
        return inspect.getcoroutinestate(result) == inspect.CORO_CREATED
    return not getattr(result, "ag_suspended", False)  # only Python 3.12 and later tell


def _close_when_done(run: Run, future: Any) -> None:
    """Close the window when a future is done. A failure is then logged."""
    finalizers: list[weakref.finalize[Any, Any]] = []

    def close(done: Any) -> None:
        for finalizer in finalizers:
            finalizer.detach()
        try:
            error = _error_of(done)
            if error is None:
                run.result = done.result()
        except BaseException as raised:
            let_through(raised)
            error = raised  # by the future itself
        run.close_silently(error)

    with suppress(TypeError):  # a future that cannot be referred to weakly
        finalizers.append(_abandon_when_collected(future, run, None))
    try:
        future.add_done_callback(close)
    except BaseException as error:
        let_through(error)
        # It cannot be observed, so the state is judged as it is now. The caller gets the future all the same.
        for finalizer in finalizers:
            finalizer.detach()
        run.result = future
        run.close_silently(None)


def _error_of(future: Any) -> BaseException | None:
    if future.cancelled():
        return asyncio.CancelledError()
    if asyncio.isfuture(future):
        # Asking `exception()` would count as having retrieved it, and asyncio's warning would be lost.
        return getattr(future, "_exception", None)
    return future.exception()  # type: ignore[no-any-return]


def _abandon_when_collected(holder: Any, run: Run, action: Any) -> weakref.finalize[Any, Any]:
    """Abandon a run if the object that would have ended it is collected first.

    Args:
        holder: the object. It lives as long as the run may still go on.
        run: the run, whose window is open.
        action: the coroutine or generator that the holder would have driven. It is closed. None for no such
            object.
    """
    start_background_thread()
    return weakref.finalize(holder, _close_and_abandon, action, partial(copy_context().run, run.abandon))


def _close_and_abandon(action: Any, abandon: Callable[[], None]) -> None:
    if isinstance(action, (types.CoroutineType, types.GeneratorType)):
        action.close()  # it never began, so nothing of it runs. A coroutine that is not closed warns.
    run_in_background(abandon)
