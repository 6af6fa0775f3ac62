"""Locks around a window: taken before its baselines, released after its verdict.

A blocking lock is not always entered by the thread that runs the action. An async action that waited for it
would stop the event loop, and with it the task that has to release the lock. A generator, or a window that is
opened by hand, may end on another thread than it began, and a lock such as an RLock belongs to its thread. In
these cases a separate thread enters the lock and leaves it.
"""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Generator, Hashable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, NoReturn

from deltaspan._attribution._lock_threads import LockThread
from deltaspan._attribution._places import text_of
from deltaspan._callables import Bound
from deltaspan._guard import describe, guarded
from deltaspan._interrupts import let_through
from deltaspan._process import on_reset
from deltaspan._verdicts import NotLocked
from deltaspan._workers import is_loop_running
from deltaspan.causal_tag import CausalTag


@dataclass(frozen=True, slots=True)
class LockSource:
    """The source of the lock of a check.

    Attributes:
        lock: the lock itself; None if it is computed.
        computed: computes it from the action's parameters; None if it is given.
    """

    lock: Any
    computed: Bound | None

    @property
    def is_async(self) -> bool:
        """True if the definition shows that only an async action can take it."""
        return self.computed is None and not _blocks(self.lock)

    def find(self, values: Mapping[str, Any]) -> tuple[list[Hashable], Any]:
        """Return the keys of the lock, and the lock.

        A computed lock is often a new object for each run. For arguments of the same place it is the same
        lock.
        """
        if self.computed is None:
            return [id(self.lock)], self.lock
        lock = self.computed.call(values)
        named = tuple(map(_argument_key, map(values.get, self.computed.names)))
        return [(id(self.computed.function), *named), id(lock)], lock


def _argument_key(argument: Any) -> Hashable:
    text = text_of(argument)
    # An object that does not tell its place is the same one at least.
    return (id(type(argument)), id(argument)) if text is None else text


_holders: Final[dict[str, set[Hashable]]] = {}
"""The locks that each run holds, by its causal tag. Each run writes only its own entry.

A forked child keeps the entries. A run below a holder must not wait for a lock that nobody releases there.
"""
on_reset(_holders.clear)


class Locks:
    """The locks of one run.

    Args:
        tag: the run's tag.
        may_change_thread: whether the run may end on another thread than it began.

    Attributes:
        may_change_thread: the same.
    """

    __slots__ = ("_held", "_tag", "may_change_thread")

    def __init__(self, tag: CausalTag, *, may_change_thread: bool = False) -> None:
        self._tag = tag
        self.may_change_thread = may_change_thread
        self._held: list[_Held] = []

    def take(self, source: LockSource, values: Mapping[str, Any]) -> float:
        """Take a lock in a sync action, and return the waiting time in seconds.

        Raises:
            NotLocked: it cannot be computed or taken.
        """
        began = perf_counter()
        try:
            keys, lock = source.find(values)
            if self._holder_of(keys) is None:
                self._enter(keys, lock)
        except BaseException as error:
            let_through(error)
            raise _not_locked(error) from error
        return perf_counter() - began

    async def take_async(self, source: LockSource, values: Mapping[str, Any]) -> float:
        """Take a lock in an async action, as `take` does.

        A lock that blocks is taken by another thread.
        """
        began = perf_counter()
        try:
            keys, lock = source.find(values)
            if self._holder_of(keys) is None:
                self._register(keys, await _enter_async(keys[0], lock))
        except BaseException as error:
            let_through(error)
            raise _not_locked(error) from error
        return perf_counter() - began

    def release(self) -> None:
        """Release every lock, the last one first, where nothing can be awaited."""
        while self._held:
            held = self._held[-1]
            try:
                self._leave(held)
            except BaseException:
                self._held.remove(held)
                self.release()
                raise
            self._held.remove(held)
        _holders.pop(self._tag.id, None)

    @staticmethod
    def _leave(held: _Held) -> None:
        try:
            guarded(_RELEASE, held.leave)
        except BaseException:
            guarded(_RELEASE, held.leave)  # an interrupted release is tried again
            raise

    async def release_async(self) -> None:
        """Release every lock, the last one first, even if the task is cancelled meanwhile."""
        if self._held:
            try:
                await self._held.pop().leave_async()
            except BaseException as error:
                let_through(error)
                guarded(_RELEASE, _raise, error)
            finally:
                await self.release_async()
        else:
            _holders.pop(self._tag.id, None)

    def _enter(self, keys: list[Hashable], lock: Any) -> None:
        if not _blocks(lock):
            raise TypeError(f"{lock!r} is not a lock that a sync action can take")
        if self.may_change_thread:
            self._register(keys, _HeldByThread(LockThread.enter(lock)))
            return
        # Noted before it is entered, so that a lock which is taken when Ctrl-C comes is given back.
        held = _HeldHere(lock)
        self._register(keys, held)
        held.enter()

    def _register(self, keys: list[Hashable], held: _Held) -> None:
        self._held.append(held)
        _holders.setdefault(self._tag.id, set()).update(keys)

    def _holder_of(self, keys: list[Hashable]) -> CausalTag | None:
        run: CausalTag | None = self._tag
        while run is not None and _holders.get(run.id, _NOTHING).isdisjoint(keys):
            run = run.parent
        return run


_RELEASE: Final = "the release of a lock"
_NOTHING: Final[frozenset[Hashable]] = frozenset()


async def _enter_async(key: Hashable, lock: Any) -> _Held:
    # Special methods are looked up on the type, as `with` does.
    if hasattr(type(lock), "__aenter__"):
        await lock.__aenter__()
        return _HeldByTask(lock)
    if not _blocks(lock):
        raise TypeError(f"{lock!r} is not a lock, because it is not a context manager")
    if is_loop_running():
        return _HeldByThread(await LockThread.enter_async(key, lock))
    held = _HeldHere(lock)
    held.enter()
    return held


def _blocks(lock: Any) -> bool:
    return hasattr(type(lock), "__enter__")


def _not_locked(error: BaseException) -> NotLocked:
    return NotLocked(f"its lock could not be taken: {describe(error)}")


def _raise(error: BaseException) -> NoReturn:
    raise error


class _Held(ABC):
    """A lock that is held, and how to leave it."""

    @abstractmethod
    def leave(self) -> None:
        """Leave it where nothing can be awaited."""

    async def leave_async(self) -> None:
        self.leave()


class _HeldHere(_Held):
    """A lock that this thread entered."""

    def __init__(self, lock: Any) -> None:
        self._inside = _within(lock)

    def enter(self) -> None:
        next(self._inside)

    def leave(self) -> None:
        if inspect.getgeneratorstate(self._inside) == inspect.GEN_SUSPENDED:
            next(self._inside, None)


def _within(lock: Any) -> Generator[None, None, None]:
    # No signal handler can come between the taking of a lock by `with` and the note that it is taken.
    with lock:
        yield


class _HeldByThread(_Held):
    """A lock that a thread of its own entered."""

    def __init__(self, thread: LockThread) -> None:
        self._thread = thread

    def leave(self) -> None:
        self._thread.leave()

    async def leave_async(self) -> None:
        await self._thread.leave_async()


class _HeldByTask(_Held):
    """An async lock that this task entered."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._loop = asyncio.get_running_loop() if is_loop_running() else None

    def leave(self) -> None:
        loop = self._loop
        if loop is None or loop.is_closed():
            self._leave_at_once()
        elif not is_loop_running() or asyncio.get_running_loop() is not loop:
            asyncio.run_coroutine_threadsafe(self.leave_async(), loop)
        elif type(self._lock).__module__.startswith("asyncio."):
            self._leave_at_once()
        else:
            leaving = loop.create_task(self.leave_async())
            _leaving.add(leaving)
            leaving.add_done_callback(_leaving.discard)

    async def leave_async(self) -> None:
        await self._lock.__aexit__(None, None, None)

    def _leave_at_once(self) -> None:
        """Run the single step in which a lock of asyncio is released.

        A lock that needs more than one step is not awaited.
        """
        leaving = self.leave_async()
        try:
            leaving.send(None)
        except StopIteration:
            return
        leaving.close()


_leaving: Final[set[asyncio.Task[None]]] = set()
"""An event loop holds its tasks weakly."""
on_reset(_leaving.clear)
