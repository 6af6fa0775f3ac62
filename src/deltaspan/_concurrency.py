"""Steps that run one at a time, and for which a thread never waits while it is in one itself.

A signal handler, a finalizer that the garbage collector runs or a tracing function may call us between any
two instructions of ours, on the thread that holds a lock. With a `Lock` that call would wait for ever. With
an `RLock` it would find the state half changed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from deltaspan._process import on_fork

__all__ = [
    "Once",
    "Serial",
    "keep_newest",
    "take_first",
]

P = ParamSpec("P")


class Serial:
    """Runs steps one at a time; meant for module level, since it stays registered for forks.

    A step that is asked for in the midst of another one, on the same thread, runs right after that one and
    before any other thread's. Steps must be short and must not call code of the user's.

    Example:
        >>> counts = {"rows": 0}
        >>> def add(amount):
        ...     counts["rows"] += amount
        >>> steps = Serial()
        >>> steps.run(add, 2)
        True
        >>> counts
        {'rows': 2}
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._is_busy = False
        self._put_off: deque[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]] = deque()
        on_fork(self._forget_other_threads)

    def run(self, step: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Run a step, or put it off until the step that this thread is in has ended.

        Args:
            step: what to do.
            *args: its positional arguments.
            **kwargs: its keyword arguments.

        Returns:
            Whether the step has run. If not, the caller is inside another step: until it returns, no other
            thread runs a step, and the state may be half changed.
        """
        with self._lock:
            if self._is_busy:
                self._put_off.append((step, args, kwargs))
                return False
            # An interrupt may have come between the end of a step and what it had put off.
            if self._put_off:
                self._catch_up()
            self._is_busy = True
            try:
                step(*args, **kwargs)
            finally:
                self._is_busy = False
                if self._put_off:
                    self._catch_up()
            return True

    def _catch_up(self) -> None:
        # Asked again after each round, since an interrupt may put off another step at its very end.
        while self._put_off:
            self._is_busy = True
            try:
                while self._put_off:
                    step, args, kwargs = self._put_off[0]
                    try:
                        step(*args, **kwargs)
                    finally:
                        self._put_off.popleft()
            finally:
                self._is_busy = False

    def _forget_other_threads(self) -> None:
        """Free the lock in a forked child if a thread held it that was not copied."""
        if self._lock.acquire(blocking=False):
            self._lock.release()  # it is free, or held by the thread that forked, which goes on in its step
            return
        self._lock = threading.RLock()
        self._is_busy = False
        self._put_off.clear()


K = TypeVar("K")

_NOTHING: Final = object()


class Once:
    """A right that one caller takes, whoever asks at the same time."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[None, object] = {}

    @property
    def is_taken(self) -> bool:
        """Whether somebody has taken it."""
        return bool(self._taken)

    def take(self) -> bool:
        """Return True to the first caller, and False to all later ones."""
        own = object()
        return self._taken.setdefault(None, own) is own

    def give_back(self) -> bool:
        """Let it be taken again; return False if nobody had taken it."""
        return self._taken.pop(None, None) is not None


def take_first(entries: dict[K, Any]) -> K | None:
    """Remove the oldest key of a mapping and return it; None if the mapping is empty."""
    while entries:
        try:
            key = next(iter(entries))
        except (StopIteration, RuntimeError):
            continue  # it was changed between the two steps
        if entries.pop(key, _NOTHING) is not _NOTHING:
            return key
    return None


def keep_newest(entries: dict[Any, Any], most: int) -> None:
    """Drop the oldest entries of a mapping, so that no more than `most` are left."""
    while len(entries) > most:
        take_first(entries)
