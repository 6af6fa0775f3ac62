"""Iterators that were read before: a second read of one finds nothing, which is no state."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator
from typing import Any, Final

from deltaspan._concurrency_part1 import keep_newest
from deltaspan._state.snapshot import Unfreezable

__all__ = ["Spent"]

_MAX_HELD: Final = 8
"""How many iterators are remembered that cannot be remembered weakly; held on to, so few."""


class Spent:
    """Remembers the iterators that one probe gave, for as long as they live.

    A fresh one for each read, as a generator function makes them, is as good as a list. A cursor that is run
    again for each read cannot be told from one that is spent, so it is refused as well.
    """

    __slots__ = ("_held", "_seen")

    def __init__(self) -> None:
        # By identity. An iterator that cannot be remembered weakly is held, in a list of its own.
        self._seen: dict[int, weakref.ref[Any]] = {}
        self._held: dict[int, list[Any]] = {}

    def refuse(self, rows: Any, source: str) -> None:
        """Refuse an iterator that was read before, or is known to be at its end.

        Args:
            rows: what the probe gave.
            source: where rows come from, for a sentence.

        Raises:
            Unfreezable: it is such an iterator.
        """
        if not isinstance(rows, Iterator):
            return
        closed = inspect.isgenerator(rows) and inspect.getgeneratorstate(rows) == inspect.GEN_CLOSED
        if closed or self._is_known(rows):
            raise Unfreezable(
                f"{source} gave an iterator that was read before ({type(rows).__name__}), so what it leaves "
                f"is not the state: return list(rows), read anew each time"
            )

    def _is_known(self, rows: Any) -> bool:
        """Return whether the iterator was given before, and remember it."""
        key, seen = id(rows), self._seen

        def forget(dead: weakref.ref[Any]) -> None:
            if seen.get(key) is dead:
                seen.pop(key, None)

        try:
            own = weakref.ref(rows, forget)
        except TypeError:  # most of Python's own take no weak reference
            held = [rows]
            is_known = self._held.setdefault(key, held) is not held
            keep_newest(self._held, _MAX_HELD)
            return is_known
        known = seen.setdefault(key, own)
        if known is own:
            return False
        if known() is rows:
            return True
        seen[key] = own  # the one that was here before is gone, and its callback is still to come
        return False

    def __reduce__(self) -> tuple[type[Spent], tuple[()]]:
        return Spent, ()  # elsewhere there are other iterators
