"""What an expectation is, and the one way in which its sentences are put together."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from deltaspan._state.diff._init_part1 import Delta
from deltaspan._verdicts import Explained, Verdict
from deltaspan._state.render._render import kinds, transition

__all__ = ["Expectation", "Incomparable", "Movement", "NothingClaimed", "States", "sentence"]

States: TypeAlias = tuple[object, object]
"""Baseline and post-state, frozen."""


class Expectation(Explained, Protocol):
    """A named comparison that a delta must satisfy."""

    def judge(self, delta: Delta, pre_state: object, post_state: object) -> Verdict:
        """Return the verdict on one delta; never raises for any state."""
        ...


class Movement(Protocol):
    """How a state must have moved between its start and its end."""

    @property
    def verb(self) -> str:
        """`change`, `increase`, `decrease` or `satisfy`."""
        ...

    @property
    def extent(self) -> str:
        """How far, in words that follow the verb: `by at least 1`, or nothing."""
        ...

    @property
    def expected(self) -> object:
        """As for Expectation, or None when the movement adds nothing to a start and an end."""
        ...

    @property
    def admits_none(self) -> bool:
        """Whether a state that did not change may be such a movement, as far as its operands are known."""
        ...

    def holds(self, delta: Delta, states: States) -> bool:
        """Return whether the delta is such a movement.

        Raises:
            Incomparable: the delta is of a kind that this movement cannot judge.
            NothingClaimed: all that it demands was computed, as nothing.
        """
        ...

    def happened(self, delta: Delta) -> str:
        """Say what happened, to follow the name of what changed."""
        ...

    def fault(self, delta: Delta, states: States) -> str | None:
        """Say what happened instead, to follow "but it"; None when nothing is wrong.

        Asked only of a delta that was judged already, and judges no predicate again.
        """
        ...


class Incomparable(Exception):
    """The two states cannot be compared in the way that the expectation asks.

    Args:
        fact: why not, in words to be followed by the states.
        hint: what to say or to return instead, if anything.
    """

    def __init__(self, fact: str, hint: str = "") -> None:
        super().__init__(fact)
        self.hint = hint

    def sentence(self, states: States) -> str:
        """Return the whole sentence."""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self}, but the states were {kinds(*states)}{hint}"


class NothingClaimed(Exception):
    """A change was claimed, and what was computed names none: no delta could tell whether that was meant.

    Args:
        computed: what was computed, in words.
    """

    def __init__(self, computed: str) -> None:
        super().__init__(
            f"a change was claimed and none was named: what was computed is {computed}; "
            f"use unchanged(...) to claim that nothing changes"
        )


def sentence(metric: str, demand: str, happened: str, states: States, *, holds: bool, held: str = "") -> str:
    """Put one sentence together, the same way for each family.

    Args:
        metric: the name of what was measured.
        demand: what follows "expected … to".
        happened: what follows "but it".
        states: baseline and post-state.
        holds: whether the demand was met.
        held: says that what was asked for held before the action; empty if it did not.
    """
    both = transition(*states)
    if held:
        both = f"{both}; {held}"
    if holds:
        return f"{metric} {happened}, as expected{both}"
    return f"expected {metric} to {demand}, but it {happened}{both}"
