"""Expectations without a movement: that nothing changes, and no claim at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from deltaspan._state.diff._init_part1 import Delta
from deltaspan._verdicts import FAIL, OBSERVED, PASS, Verdict
from deltaspan._state.render._render import transition
from deltaspan.expectations._base import sentence
from deltaspan.expectations._ignoring import NOTHING_IGNORED, Ignored

__all__ = ["NoChange", "NoClaim"]


@dataclass(frozen=True, slots=True)
class NoChange:
    """The two states are equal, by value.

    Attributes:
        ignored: what is left out before anything is judged.
        cause: what the action did, when that is why nothing may have changed: `raised ValueError`.
    """

    ignored: Ignored = NOTHING_IGNORED
    cause: str = ""

    @property
    def expected(self) -> str:
        return f"no change{self.ignored.words}"

    def judge(self, delta: Delta, pre_state: object, post_state: object) -> Verdict:
        return FAIL if delta.changed and self.ignored.leave_out(delta).changed else PASS

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        ignoring = self.ignored.words
        after = f" after the action {self.cause}" if self.cause else ""
        because = f", because the action {self.cause}" if self.cause else ""
        happened = f"did not change{after}{ignoring}" if holds else self.ignored.leave_out(delta).words()
        demand = f"stay unchanged{ignoring}{because}"
        return sentence(metric, demand, happened, (pre_state, post_state), holds=holds)


@dataclass(frozen=True, slots=True)
class NoClaim:
    """Nothing is asserted: both states and their delta are recorded."""

    expected: ClassVar[str] = "no claim"

    def judge(self, delta: Delta, pre_state: object, post_state: object) -> Verdict:
        return OBSERVED

    def explain(
        self,
        metric: str,
        delta: Delta,
        pre_state: object,
        post_state: object,
        *,
        holds: bool,
    ) -> str:
        happened = delta.words() if delta.changed else "did not change"
        return f"{metric} {happened}{transition(pre_state, post_state)}; no claim was made"
