"""A change: from a start, to an end, by a movement; each part optional."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from deltaspan._deltas import Delta
from deltaspan._difference import difference, equal
from deltaspan._records import FAIL, PASS, UNREAD, Verdict, inconclusive
from deltaspan._render import show
from deltaspan.expectations._ends import instead
from deltaspan.expectations.base import Incomparable, Movement, NothingClaimed, States, sentence
from deltaspan.expectations.ignoring import NOTHING_IGNORED, Ignored
from deltaspan.expectations.predicates import PredicateRaised

__all__ = ["ChangeExpectation", "SomeChange"]


@dataclass(frozen=True, slots=True)
class SomeChange:
    """Any movement at all, judged by value."""

    verb: ClassVar[str] = "change"
    extent: ClassVar[str] = ""
    expected: ClassVar[None] = None

    def holds(self, delta: Delta, states: States) -> bool:
        return delta.changed

    def happened(self, delta: Delta) -> str:
        return delta.words() if delta.changed else "did not change"

    def fault(self, delta: Delta, states: States) -> str | None:
        return None if delta.changed else self.happened(delta)


@dataclass(frozen=True, slots=True)
class ChangeExpectation:
    """A movement, which may be asked to start and to end at given states.

    Attributes:
        start: the state that the baseline must equal, frozen; UNREAD when any will do.
        end: the state that the post-state must equal, frozen; UNREAD when any will do.
        movement: how the state must have moved. A bare start or end still demands some change: an end
            that was there before the action proves nothing about the action.
        ignored: what is left out before anything is judged, of a start and an end too.
    """

    movement: Movement = SomeChange()
    start: Any = UNREAD
    end: Any = UNREAD
    ignored: Ignored = NOTHING_IGNORED

    @property
    def expected(self) -> object:
        own = self.movement.expected
        if own is None:
            own = self._ends.strip() or "some change"
        if callable(own):
            own = "computed"
        return f"{own}{self.ignored.words}" if isinstance(own, str) else own

    @property
    def _ends(self) -> str:
        start = "" if self.start is UNREAD else f" from {_operand(self.start)}"
        return start if self.end is UNREAD else f"{start} to {_operand(self.end)}"

    def judge(self, delta: Delta, pre_state: object, post_state: object) -> Verdict:
        states = (pre_state, post_state)
        try:
            if self.ignored.patterns:
                delta = self.ignored.leave_out(delta)
            moved = self.movement.holds(delta, states)
        except Incomparable as fact:
            return inconclusive("incomparable", fact.sentence(states))
        except NothingClaimed as fact:
            return inconclusive("expectation_failed", str(fact))
        except PredicateRaised as fact:
            return inconclusive("expectation_failed", str(fact), fact.error)
        return PASS if moved and self.starts(pre_state) and self.arrives(post_state) else FAIL

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        states = (pre_state, post_state)
        delta = self.ignored.leave_out(delta)
        extent = self.movement.extent
        demand = f"{self.movement.verb}{self._ends}{' ' if extent else ''}{extent}"
        faults = [] if holds else list(self._faults(delta, states))
        happened = " and ".join(faults) or self.movement.happened(delta)
        ignoring = self.ignored.words
        if holds:
            happened += ignoring
        return sentence(metric, f"{demand}{ignoring}", happened, states, holds=holds)

    def _faults(self, delta: Delta, states: States) -> Iterator[str]:
        if not self.starts(states[0]):
            yield f"started {instead(self.start, states[0], self.ignored)}"
        if not self.arrives(states[1]):
            yield f"ended {instead(self.end, states[1], self.ignored)}"
        fault = self.movement.fault(delta, states)
        if fault is not None:
            yield fault

    def starts(self, pre_state: object) -> bool:
        """Return whether the baseline is the start that is asked for, if any."""
        return self.start is UNREAD or self._same(self.start, pre_state)

    def arrives(self, post_state: object) -> bool:
        """Return whether the post-state is the end that is asked for, if any."""
        return self.end is UNREAD or self._same(self.end, post_state)

    def _same(self, expected: object, state: object) -> bool:
        if not self.ignored.patterns:
            return equal(expected, state)
        return not self.ignored.leave_out(difference(expected, state)).changed


def _operand(state: object) -> str:
    return "a computed state" if callable(state) else show(state)
