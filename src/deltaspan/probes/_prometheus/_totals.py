"""Totals of counters that continue across resets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class LastRead(NamedTuple):
    """The values of the last read.

    Attributes:
        read_at: its time by the server's clock, in seconds; None before the first read.
        last: the value of each series.
    """

    read_at: float | None
    last: Mapping[str, float]

    def is_after(self, read_at: float) -> bool:
        """Return whether the last read is later than `read_at`.

        Then the two times are not from the same clock.
        """
        return self.read_at is not None and read_at < self.read_at

    def has_fallen(self, values: Mapping[str, float]) -> bool:
        """Return whether some counter is lower than before: it was reset."""
        return any(series in self.last and value < self.last[series] for series, value in values.items())


class _State:
    """The last read and the total.

    A later read adds the next state to the chain.
    """

    __slots__ = ("_next", "last_read", "total")

    def __init__(self, last_read: LastRead, total: float) -> None:
        self.last_read = last_read
        self.total = total
        self._next: dict[None, _State] = {}

    def latest(self) -> _State:
        """Return the last state of the chain."""
        state = self
        while (later := state._next.get(None)) is not None:
            state = later
        return state

    def set_next(self, state: _State) -> bool:
        """Set the next state, unless another thread has set one.

        The result says whether it was set.
        """
        return self._next.setdefault(None, state) is state


class CounterTotal:
    """A total over counters that never falls.

    Each counter continues after a reset, and keeps its part of the total after it has vanished.

    A probe has one for each query. Several threads may read at once.
    """

    def __init__(self) -> None:
        self._state = _State(LastRead(None, {}), 0.0)

    def last_read(self) -> LastRead:
        """Return the values of the last read."""
        return self._latest().last_read

    def add(
        self, last_read: LastRead, read_at: float, between: Mapping[str, Iterable[float]]
    ) -> float | None:
        """Add the increases since the last read.

        Args:
            last_read: the last read when this read began.
            read_at: the time of the present values, in seconds.
            between: the samples of each series since the last read, in order, including the present value.

        Returns:
            The total. None if another read has finished meanwhile, so that this read must start again.
        """
        state = self._latest()
        if state.last_read is last_read:
            last, total = dict(last_read.last), state.total
            for series, samples in between.items():
                for value in samples:
                    before = last.get(series, 0.0)
                    # A lower value means a reset, as in Prometheus: the counter started again from 0.
                    total += value - before if value >= before else value
                    last[series] = value
            next_state = _State(
                LastRead(read_at if last_read.read_at is None else max(read_at, last_read.read_at), last),
                total,
            )
            if state.set_next(next_state):
                self._state = next_state
                return total
            state = self._latest()
        # A later answer has overtaken this one, so the total already includes it.
        return (
            state.total
            if state.last_read.read_at is not None and read_at <= state.last_read.read_at
            else None
        )

    def _latest(self) -> _State:
        self._state = state = self._state.latest()
        return state
