"""How far counters have counted since somebody looked, whatever resets them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import NamedTuple

__all__ = ["Counted", "Known"]


class Known(NamedTuple):
    """What was known at some moment.

    Attributes:
        at: when, by the server's clock in seconds; None before the first read.
        last: the last value of each series by then.
    """

    at: float | None
    last: Mapping[str, float]

    def is_after(self, at: float) -> bool:
        """Return whether it is from later than `at`, which no read that follows is by the same clock."""
        return self.at is not None and at < self.at

    def falls(self, values: Mapping[str, float]) -> bool:
        """Return whether some counter stands lower than it did: it was reset in between."""
        return any(series in self.last and value < self.last[series] for series, value in values.items())


class Counted:
    """A total over series that never falls: each counts on where it was reset, or has vanished.

    One belongs to each query of a probe. Reads may come from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = Known(None, {})
        self._total = 0.0

    def known(self) -> Known:
        """Return what is known now."""
        with self._lock:
            return self._known

    def add(self, known: Known, at: float, between: Mapping[str, Iterable[float]]) -> float | None:
        """Count on from what was known.

        Args:
            known: what the read began with.
            at: when its values are from.
            between: the samples of each series since then, in order of time, up to its present value.

        Returns:
            The total; None when another read has counted on meanwhile, and this one has to begin anew.
        """
        with self._lock:
            if self._known is not known:
                # An answer that was overtaken by a later one is no news: the total has gone on.
                overtaken = self._known.at is not None and at <= self._known.at
                return self._total if overtaken else None
            last = dict(known.last)
            for series, samples in between.items():
                for value in samples:
                    before = last.get(series, 0.0)
                    # Lower than before is how Prometheus knows a reset: what is there was counted since.
                    self._total += value - before if value >= before else value
                    last[series] = value
            self._known = Known(at if known.at is None else max(at, known.at), last)
            return self._total
