"""State that threads share without a lock.

A signal handler or a finalizer may run between any two lines, and may call an action. If it waited for a lock
that the interrupted thread holds, it would wait for ever. Here nothing waits: each step is one operation of a
built-in container, which Python never interrupts.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

__all__ = ["Once", "keep_newest", "take_first"]

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
