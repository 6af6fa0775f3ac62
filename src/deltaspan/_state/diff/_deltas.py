"""The protocol of a delta, and the two deltas of states that have no members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deltaspan._state.render._render import show

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltaspan.typing import Number

__all__ = ["Delta", "NumberDelta", "ValueDelta"]


class Delta(Protocol):
    """The computed difference of a baseline and a post-state."""

    @property
    def changed(self) -> bool:
        """Whether the two states differ, by value."""
        ...

    @property
    def value(self) -> object:
        """The frozen value that a report shows as `actual_delta`."""
        ...

    def words(self) -> str:
        """Say what happened, to follow "but it": `changed by 0`, `did not change`."""
        ...


@dataclass(frozen=True, slots=True, init=False)
class NumberDelta:
    """The difference of two numbers, or of two points in time.

    Attributes:
        amount: post-state minus baseline, exact for all but floats.
        changed: whether the states differ; the amount is zero if and only if they do not.
    """

    amount: Number
    changed: bool

    def __init__(self, amount: Number, changed: bool) -> None:  # noqa: FBT001 - the fields, in their order
        # One is made for every number that is checked: this takes a third of what a generated __init__ takes.
        _set_amount(self, amount)
        _set_changed(self, changed)

    @property
    def value(self) -> object:
        return self.amount

    def words(self) -> str:
        return f"changed by {show(self.amount)}"


_set_amount: Callable[[NumberDelta, Number], None] = NumberDelta.__dict__["amount"].__set__
_set_changed: Callable[[NumberDelta, bool], None] = NumberDelta.__dict__["changed"].__set__


@dataclass(frozen=True, slots=True)
class ValueDelta:
    """The difference of two states that can only be compared as wholes.

    Attributes:
        changed: whether the states differ.
        how: what happened, in words, where more can be said.
    """

    changed: bool
    how: str = ""

    @property
    def value(self) -> object:
        return "changed" if self.changed else "no change"

    def words(self) -> str:
        return self.how or ("changed" if self.changed else "did not change")
