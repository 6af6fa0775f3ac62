"""How far counters have counted since somebody looked, whatever resets them."""

from __future__ import annotations

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


class _State:
    """What was known, and the total by then; another state follows once more is known."""

    __slots__ = ("_next", "known", "total")

    def __init__(self, known: Known, total: float) -> None:
        self.known = known
        self.total = total
        self._next: dict[None, _State] = {}

    def latest(self) -> _State:
        """Return the last of the states that follow."""
        state = self
        while (later := state._next.get(None)) is not None:
            state = later
        return state

    def is_followed_by(self, state: _State) -> bool:
        """Have a state follow this one, unless another does already."""
        return self._next.setdefault(None, state) is state


class Counted:
    """A total over series that never falls: each counts on where it was reset, or has vanished.

    One belongs to each query of a probe. Reads may come from several threads.
    """

    def __init__(self) -> None:
        self._state = _State(Known(None, {}), 0.0)

    def known(self) -> Known:
        """Return what is known now."""
        return self._latest().known

    def add(self, known: Known, at: float, between: Mapping[str, Iterable[float]]) -> float | None:
        """Count on from what was known.

        Args:
            known: what the read began with.
            at: when its values are from.
            between: the samples of each series since then, in order of time, up to its present value.

        Returns:
            The total; None when another read has counted on meanwhile, and this one has to begin anew.
        """
        state = self._latest()
        if state.known is known:
            last, total = dict(known.last), state.total
            for series, samples in between.items():
                for value in samples:
                    before = last.get(series, 0.0)
                    # Lower than before is how Prometheus knows a reset: what is there was counted since.
                    total += value - before if value >= before else value
                    last[series] = value
            more = _State(Known(at if known.at is None else max(at, known.at), last), total)
            if state.is_followed_by(more):
                self._state = more
                return total
            state = self._latest()
        # An answer that was overtaken by a later one is no news: the total has gone on.
        return state.total if state.known.at is not None and at <= state.known.at else None

    def _latest(self) -> _State:
        self._state = state = self._state.latest()
        return state
