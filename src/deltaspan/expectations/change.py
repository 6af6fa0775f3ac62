"""A change: from a start, to an end, by a movement; each part optional."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from deltaspan._deltas import Delta
from deltaspan._difference import equal
from deltaspan._records import FAIL, PASS, UNREAD, Verdict, inconclusive
from deltaspan._render import show
from deltaspan.expectations.base import Incomparable, Movement, sentence

__all__ = ["ChangeExpectation", "SomeChange"]


@dataclass(frozen=True, slots=True)
class SomeChange:
    """Any movement at all, judged by value."""

    verb: ClassVar[str] = "change"
    extent: ClassVar[str] = ""
    expected: ClassVar[None] = None

    def holds(self, delta: Delta) -> bool:
        return delta.changed

    def happened(self, delta: Delta) -> str:
        return delta.words() if delta.changed else "did not change"


@dataclass(frozen=True, slots=True)
class ChangeExpectation:
    """A movement, which may be asked to start and to end at given states.

    Attributes:
        start: the state that the baseline must equal, frozen; UNREAD when any will do.
        end: the state that the post-state must equal, frozen; UNREAD when any will do.
        movement: how the state must have moved. A bare start or end still demands some change: an end
            that was there before the action proves nothing about the action.
    """

    movement: Movement = SomeChange()
    start: Any = UNREAD
    end: Any = UNREAD

    @property
    def expected(self) -> object:
        own = self.movement.expected
        if own is not None and not callable(own):
            return own
        return self._ends.strip() or "some change" if own is None else "computed"

    @property
    def _ends(self) -> str:
        start = "" if self.start is UNREAD else f" from {_operand(self.start)}"
        return start if self.end is UNREAD else f"{start} to {_operand(self.end)}"

    def judge(self, delta: Delta, pre_state: object, post_state: object) -> Verdict:
        try:
            moved = self.movement.holds(delta)
        except Incomparable as fact:
            return inconclusive("incomparable", f"{fact}, but the states were {_both(pre_state, post_state)}")
        if moved and self._starts(pre_state) and self._arrives(post_state):
            return PASS
        return FAIL

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        extent = self.movement.extent
        demand = f"{self.movement.verb}{self._ends}{' ' if extent else ''}{extent}"
        faults = [] if holds else list(self._faults(delta, pre_state, post_state))
        happened = " and ".join(faults) or self.movement.happened(delta)
        return sentence(metric, demand, happened, (pre_state, post_state), holds=holds)

    def _faults(self, delta: Delta, pre_state: object, post_state: object) -> Any:
        if not self._starts(pre_state):
            yield f"started at {show(pre_state)}"
        if not self._arrives(post_state):
            yield f"ended at {show(post_state)}"
        if not self.movement.holds(delta):
            yield self.movement.happened(delta)

    def _starts(self, pre_state: object) -> bool:
        return self.start is UNREAD or equal(self.start, pre_state)

    def _arrives(self, post_state: object) -> bool:
        return self.end is UNREAD or equal(self.end, post_state)


def _both(pre_state: object, post_state: object) -> str:
    return f"{show(pre_state)} → {show(post_state)}"


def _operand(state: object) -> str:
    return "a computed state" if callable(state) else show(state)
