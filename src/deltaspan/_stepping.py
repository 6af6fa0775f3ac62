"""Actions that go on after their call has returned: generators, coroutines, futures.

A generator of ours drives the action's, step by step, so that it is a generator to whoever asks, `yield from`
included. The run is entered before each step and left after it, in the context that steps: the body sees its
tag and what its consumer has set since, the consumer sees nothing of the run.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import types
import weakref
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Final, TypeAlias

from deltaspan._background import later, prepare
from deltaspan._engine import Run
from deltaspan._records import UNREAD

__all__ = ["go_on", "is_result", "keep_open", "step", "step_async"]

Start: TypeAlias = Callable[[], Run]
"""Gives the run of an action at its first step."""


def step(start: Start, action: types.GeneratorType[Any, Any, Any]) -> Any:
    """Return a generator that drives the action's own within its window.

    Args:
        start: gives the run when the first value is asked for.
        action: what the action returned; not begun yet.
    """
    drive = _drive_awaitable if action.gi_code.co_flags & inspect.CO_ITERABLE_COROUTINE else _drive
    return _named_like(action, drive(start, action))


def step_async(start: Start, action: AsyncGenerator[Any, Any]) -> Any:
    """Return an async generator that drives the action's own within its window; arguments as for `step`."""
    return _named_like(action, _drive_async(start, action))


def _awaited(start: Start, action: types.CoroutineType[Any, Any, Any]) -> Any:
    """Return a coroutine that awaits the action's own within its window; arguments as for `step`."""
    return _named_like(action, _await(start, action))


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
            except BaseException as error:  # whatever it is, it is the action's to handle
                thrown.append(_as_thrown(error))
            # Outside the handler, so that what the body raises next has no context that it would not have.
            run.resume(thrown[0] if thrown else None)
    return None if run.result is UNREAD else run.result


# What `types.coroutine` made can be awaited; what drives it must be awaitable too.
_drive_awaitable: Final = types.coroutine(_drive)


async def _drive_async(start: Start, action: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    sent: Any = None
    thrown: list[BaseException] = []
    async with start() as run:
        asked = _first_step(action)
        while True:
            try:
                value = await asked
            except StopAsyncIteration:
                run.result = None
                break
            run.suspend()
            sent = None
            try:
                sent = yield value
            except BaseException as error:  # whatever it is, it is the action's to handle
                thrown.append(_as_thrown(error))
            run.resume(thrown[0] if thrown else None)
            asked = action.athrow(thrown.pop()) if thrown else action.asend(sent)


async def _await(start: Start, action: types.CoroutineType[Any, Any, Any]) -> Any:
    async with start() as run:
        run.result = await action
    return run.result


def _as_thrown(error: BaseException) -> BaseException:
    """Take our own frame, where it was thrown in, off an exception."""
    trace = error.__traceback__
    return error.with_traceback(None if trace is None else trace.tb_next)


def _first_step(action: AsyncGenerator[Any, Any]) -> Any:
    """Ask for the first value in such a way that an event loop comes to know our generator alone.

    A generator is made known when it is first asked for anything, and at its shutdown a loop would close
    both at once.
    """
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return action.asend(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _named_like(action: Any, made: Any) -> Any:
    # In reprs, in tracebacks and in the warning of a coroutine that is never awaited.
    made.__name__, made.__qualname__ = action.__name__, action.__qualname__
    return made


# What a plain function may return in place of a result -----------------------------------------------------


def is_result(result: Any) -> bool:
    """Return whether a call has returned what most actions return, which needs no closer look."""
    try:
        return type(result) in _RESULTS
    except Exception:
        return False  # its class does not hash


def keep_open(run: Run, result: Any) -> bool:
    """Keep the window of a call open until what it returned has ended, and say whether that is to come.

    Args:
        run: the run of the call, entered.
        result: what the call returned.
    """
    try:
        if type(result) not in _ONGOING and not _is_future(type(result)):
            return False
    except Exception:
        return False  # a class that cannot even be asked what it is, is nobody's future
    if not _is_new(result):
        return False  # it began elsewhere, and is a value like any other here
    run.result = UNREAD
    run.pause()
    return True


def go_on(run: Run, result: Any) -> Any:
    """Return to the caller what will end a run: what drives the action's generator or coroutine, or a future.

    Args:
        run: the run of the call, which was kept open and left.
        result: what the call returned.
    """
    wrap = _ONGOING.get(type(result))
    if wrap is None:
        _until_done(run, result)
        return result
    watch: list[weakref.finalize[Any, Any]] = []

    def start() -> Run:
        watch.pop().detach()
        return run

    # Only what drives the action holds `start`; it lets go of it when it is closed or dropped unused.
    watch.append(_abandon_with(start, run, result))
    return wrap(start, result)


_RESULTS: Final = frozenset({type(None), bool, int, float, str, bytes, tuple, list, dict, set})

_ONGOING: Final[dict[type, Callable[[Start, Any], Any]]] = {
    types.CoroutineType: _awaited,
    types.GeneratorType: step,
    types.AsyncGeneratorType: step_async,
}


def _is_future(kind: type) -> bool:
    return hasattr(kind, "add_done_callback") and hasattr(kind, "cancelled") and hasattr(kind, "exception")


def _is_new(result: Any) -> bool:
    if isinstance(result, types.GeneratorType):
        return inspect.getgeneratorstate(result) == inspect.GEN_CREATED
    if isinstance(result, types.CoroutineType):
        return inspect.getcoroutinestate(result) == inspect.CORO_CREATED
    return not getattr(result, "ag_suspended", False)  # Python 3.12; before, it does not tell


def _until_done(run: Run, future: Any) -> None:
    """Judge when a future is done: the caller has it as it is, so that nothing can be raised or awaited."""
    watch: list[weakref.finalize[Any, Any]] = []

    def settle(done: Any) -> None:
        for finalizer in watch:
            finalizer.detach()
        try:
            error = _error_of(done)
            if error is None:
                run.result = done.result()
        except Exception as fault:
            error = fault  # a future that does not even tell
        run.settle(error)

    with suppress(TypeError):  # a future that cannot be referred to weakly
        watch.append(_abandon_with(future, run, None))
    try:
        future.add_done_callback(settle)
    except Exception:
        # It cannot be watched, so what there is to see is what there is now; the caller has it all the same.
        for finalizer in watch:
            finalizer.detach()
        run.result = future
        run.settle(None)


def _error_of(future: Any) -> BaseException | None:
    if future.cancelled():
        return asyncio.CancelledError()
    if asyncio.isfuture(future):
        # Asking `exception()` would count as having retrieved it, and asyncio's warning would be lost.
        return getattr(future, "_exception", None)
    return future.exception()  # type: ignore[no-any-return]


def _abandon_with(holder: Any, run: Run, action: Any) -> weakref.finalize[Any, Any]:
    """Report a run as abandoned when what would have ended it is collected first.

    Args:
        holder: lives as long as the run may still go on.
        run: the run, whose window is open.
        action: what the holder would have driven; it is closed, as the caller closed or dropped the holder.
    """
    prepare()
    return weakref.finalize(holder, _drop, action, partial(copy_context().run, run.abandon))


def _drop(action: Any, abandon: Callable[[], None]) -> None:
    if isinstance(action, (types.CoroutineType, types.GeneratorType)):
        action.close()  # it never began, so nothing of it runs; a coroutine would warn
    later(abandon)
