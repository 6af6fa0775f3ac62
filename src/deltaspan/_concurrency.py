"""Serialize steps without deadlock, even if a signal handler interrupts one.

A signal handler, a finalizer or a tracing function may call this library between any two of its instructions,
on the thread that holds a lock. With a `Lock` that call would wait for ever. With an `RLock` it would find
the state half changed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeVar

from typing_extensions import TypeVarTuple, Unpack

from deltaspan._process import on_fork

Args = TypeVarTuple("Args")


class Serial:
    """Runs steps one at a time.

    Create it at module level, because it stays registered for forks.

    If a step is requested during another one on the same thread, it runs right after that one and before any
    step of another thread. Steps must be short and must not call the user's code.

    Attributes:
        is_busy: whether a thread is inside a step.

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
        self.is_busy = False
        self._postponed: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        on_fork(self._forget_other_threads)

    def run(self, step: Callable[[Unpack[Args]], object], *args: Unpack[Args]) -> bool:
        """Run a step, or postpone it until this thread's current step has ended.

        Args:
            step: the function to call.
            *args: its arguments.

        Returns:
            Whether the step has run. If not, the caller is inside another step. Until that step returns, no
            other thread runs a step, and the state may be half changed.
        """
        with self._lock:
            if self.is_busy:
                self._postponed.append((step, args))
                return False
            # An interrupt may have come between the end of a step and the steps postponed during it.
            if self._postponed:
                self._run_postponed()
            self.is_busy = True
            try:
                step(*args)
            finally:
                self.is_busy = False
                if self._postponed:
                    self._run_postponed()
            return True

    def _run_postponed(self) -> None:
        # Checked again after each round, because an interrupt may postpone another step at its very end.
        while self._postponed:
            self.is_busy = True
            try:
                while self._postponed:
                    step, args = self._postponed[0]
                    try:
                        step(*args)
                    finally:
                        self._postponed.popleft()
            finally:
                self.is_busy = False

    def _forget_other_threads(self) -> None:
        """Free the lock in a forked child if a parent's thread holds it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()  # free, or held by the thread that forked and goes on with its step
            return
        self._lock = threading.RLock()
        self.is_busy = False
        self._postponed.clear()


K = TypeVar("K")

_NOTHING: Final = object()


class Once:
    """A right that only one caller can take, even if several try at once."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[None, object] = {}

    @property
    def is_taken(self) -> bool:
        """True if a caller has taken it."""
        return bool(self._taken)

    def take(self) -> bool:
        """Return True for the first caller and False for all later ones."""
        own = object()
        return self._taken.setdefault(None, own) is own

    def give_back(self) -> bool:
        """Make it available again. Return False if it was not taken."""
        return self._taken.pop(None, None) is not None


def take_first(entries: dict[K, Any]) -> K | None:
    """Remove and return the oldest key of a mapping, or None if empty."""
    while entries:
        try:
            key = next(iter(entries))
        except (StopIteration, RuntimeError):
            continue  # it was changed between the two steps
        if entries.pop(key, _NOTHING) is not _NOTHING:
            return key
    return None


def keep_newest(entries: dict[Any, Any], most: int) -> None:
    """Drop the oldest entries of a mapping until at most `most` are left."""
    while len(entries) > most:
        take_first(entries)
