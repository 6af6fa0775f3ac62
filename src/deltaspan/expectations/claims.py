"""Expectations without a movement: that nothing changes, and no claim at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from deltaspan._deltas import Delta
from deltaspan._records import FAIL, OBSERVED, PASS, Verdict
from deltaspan._render import show
from deltaspan.expectations.base import sentence

__all__ = ["NoChange", "NoClaim"]


@dataclass(frozen=True, slots=True)
class NoChange:
    """The two states are equal, by value."""

    expected: ClassVar[str] = "no change"

    def judge(self, delta: Delta, pre_state: object, post_state: object) -> Verdict:
        return FAIL if delta.changed else PASS

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        happened = "did not change" if holds else delta.words()
        return sentence(metric, "stay unchanged", happened, (pre_state, post_state), holds=holds)


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
        return f"{metric} {happened} ({show(pre_state)} → {show(post_state)}); no claim was made"
