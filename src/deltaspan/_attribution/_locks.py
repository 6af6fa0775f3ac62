"""Locks around a window: taken before its baselines, released after its verdict.

A blocking lock is not always entered by the thread that runs the action. In an async action, waiting for it
would stop the event loop, and with it whoever is to release it; a generator, or a window that is opened by
hand, may end on another thread than it began, and a lock such as an RLock belongs to the thread that took it.
There a thread of its own, the keeper, enters the lock and leaves it.
"""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Generator, Hashable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, NoReturn

from deltaspan._attribution._lock_threads import Keeper
from deltaspan._attribution._places import place_of
from deltaspan._callables import Bound
from deltaspan._guard import describe, guarded
from deltaspan._interrupts import let_through
from deltaspan._process import on_reset
from deltaspan._verdicts import NotLocked
from deltaspan._workers import is_loop_running
from deltaspan.causal_tag import CausalTag

__all__ = [
    "LockSource",
    "Locks",
]


@dataclass(frozen=True, slots=True)
class LockSource:
    """Where the lock of a check comes from.

    Attributes:
        lock: the lock itself; None when it is computed.
        computed: computes it from the action's parameters; None when it is given.
    """

    lock: Any
    computed: Bound | None

    @property
    def is_async(self) -> bool:
        """Whether it is known beforehand that only an async action can take it."""
        return self.computed is None and not _blocks(self.lock)

    def find(self, values: Mapping[str, Any]) -> tuple[list[Hashable], Any]:
        """Return what the lock is known by, and the lock.

        One that is computed is often made anew for each run, and is still the same lock for arguments of the
        same place.
        """
        if self.computed is None:
            return [id(self.lock)], self.lock
        lock = self.computed.call(values)
        named = tuple(map(_known_by, map(values.get, self.computed.names)))
        return [(id(self.computed.function), *named), id(lock)], lock


def _known_by(argument: Any) -> Hashable:
    place = place_of(argument)
    # An object that does not tell its place is the same one at least.
    return (id(type(argument)), id(argument)) if place is None else place


_holders: Final[dict[str, set[Hashable]]] = {}
"""The locks that each run holds, by its causal tag. Each run writes only its own entry."""
on_reset(_holders.clear)


class Locks:
    """The locks of one run.

    Args:
        tag: the run's tag.
        moves: whether the run may end on another thread than it began.

    Attributes:
        moves: the same.
    """

    __slots__ = ("_held", "_tag", "moves")

    def __init__(self, tag: CausalTag, *, moves: bool = False) -> None:
        self._tag = tag
        self.moves = moves
        self._held: list[_Held] = []

    def take(self, source: LockSource, values: Mapping[str, Any]) -> float:
        """Take a lock in an action that is not async, and return how long that took, in seconds.

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
        """Take a lock in an async action, off the event loop when it blocks; otherwise as `take`."""
        began = perf_counter()
        try:
            keys, lock = source.find(values)
            if self._holder_of(keys) is None:
                self._note(keys, await _enter_async(keys[0], lock))
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
        """Release every lock, the last one first; each of them, though the task be cancelled meanwhile."""
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
        if self.moves:
            self._note(keys, _Kept(Keeper.enter(lock)))
            return
        # Noted before it is entered, so that a lock which is taken when Ctrl-C comes is given back.
        held = _Entered(lock)
        self._note(keys, held)
        held.enter()

    def _note(self, keys: list[Hashable], held: _Held) -> None:
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
        return _AsyncEntered(lock)
    if not _blocks(lock):
        raise TypeError(f"{lock!r} is not a lock: it is no context manager")
    if is_loop_running():
        return _Kept(await Keeper.enter_async(key, lock))
    held = _Entered(lock)
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


class _Entered(_Held):
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


class _Kept(_Held):
    """A lock that a keeper entered."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def leave(self) -> None:
        self._keeper.leave()

    async def leave_async(self) -> None:
        await self._keeper.leave_async()


class _AsyncEntered(_Held):
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
        """Take the one step in which a lock of asyncio's leaves; one that takes more is left in its midst."""
        leaving = self.leave_async()
        try:
            leaving.send(None)
        except StopIteration:
            return
        leaving.close()


_leaving: Final[set[asyncio.Task[None]]] = set()
"""An event loop holds its tasks weakly."""
