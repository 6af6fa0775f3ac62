"""Hints of probes, for checks that failed because nothing changed."""

from __future__ import annotations

from dataclasses import dataclass

from deltaspan._state.diff import Delta
from deltaspan._verdicts import Explained


@dataclass(frozen=True, slots=True)
class HintedExpectation:
    """An expectation whose sentence ends with a hint.

    Attributes:
        expectation: the demand.
        hint: the sentence that says why a change may not have been seen.
    """

    expectation: Explained
    hint: str

    @property
    def expected(self) -> object:
        """The value that a report shows as `expected_delta`."""
        return self.expectation.expected

    @property
    def keeps_others(self) -> bool:
        """True if the sentence of the expectation describes the rows of others."""
        return self.expectation.keeps_others

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        """Return the sentence of the expectation, and the hint."""
        return f"{self.expectation.explain(metric, delta, pre_state, post_state, holds=holds)}; {self.hint}"
