"""A hint of a probe, behind the sentence of a check that failed because nothing changed."""

from __future__ import annotations

from dataclasses import dataclass

from deltaspan._state.diff import Delta
from deltaspan._verdicts import Explained

__all__ = ["Hinted"]


@dataclass(frozen=True, slots=True)
class Hinted:
    """An expectation whose sentence ends with a hint.

    Attributes:
        expectation: what was expected.
        hint: what may have kept a change from being seen, in words.
    """

    expectation: Explained
    hint: str

    @property
    def expected(self) -> object:
        """What a report shows as `expected_delta`."""
        return self.expectation.expected

    @property
    def keeps_others(self) -> bool:
        """Whether the sentence of the expectation tells of rows of others itself."""
        return self.expectation.keeps_others

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        """Return the sentence of the expectation, and the hint."""
        return f"{self.expectation.explain(metric, delta, pre_state, post_state, holds=holds)}; {self.hint}"
