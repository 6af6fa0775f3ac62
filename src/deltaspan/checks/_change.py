"""The words of a change: from where, to where, and by how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from deltaspan._freeze import Unfreezable, freeze
from deltaspan._records import UNREAD
from deltaspan.checks._check import Check, S_co
from deltaspan.checks._words import said
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import (
    AtLeast,
    AtMost,
    Between,
    By,
    ChangeExpectation,
    Decrease,
    Increase,
    Movement,
    SomeChange,
)
from deltaspan.typing import Number

__all__ = ["Change"]

_NumericState = Number | date  # a datetime is a date; the delta of two of them is a timedelta
_Amount = Number | Callable[..., Number]


@dataclass(frozen=True, slots=True, repr=False)
class Change(Check[S_co]):
    """A claim that the state changes; the words below say from where, to where and by how much."""

    def by(self: Change[_NumericState], amount: _Amount, *, tolerance: Number | None = None) -> Change[S_co]:
        """Demand a delta of exactly `amount`.

        Args:
            amount: post-state minus baseline, in the unit of the state; a timedelta for datetimes. A
                callable computes it from what it names: the action's parameters, `result`, `pre_state`,
                `causal_tag`.
            tolerance: largest absolute deviation that still holds, for floats.

        Raises:
            DefinitionTypeError: the amount is not a number.
            DefinitionValueError: another word already says how far.

        Example:
            >>> from deltaspan import change
            >>> change("flows", lambda: 3).by(1)  # doctest: +ELLIPSIS
            change('flows', <function <lambda> at ...>).by(1)
        """
        return self._moving(By(amount, tolerance), said("by", amount, tolerance=tolerance))

    def by_at_least(
        self: Change[_NumericState], amount: _Amount, *, tolerance: Number | None = None
    ) -> Change[S_co]:
        """Demand a delta of `amount` or more; arguments and errors as for `by`."""
        return self._moving(AtLeast(amount, tolerance), said("by_at_least", amount, tolerance=tolerance))

    def by_at_most(
        self: Change[_NumericState], amount: _Amount, *, tolerance: Number | None = None
    ) -> Change[S_co]:
        """Demand a delta of `amount` or less (a negative delta is less); otherwise as for `by`."""
        return self._moving(AtMost(amount, tolerance), said("by_at_most", amount, tolerance=tolerance))

    def by_between(
        self: Change[_NumericState], low: _Amount, high: _Amount, *, tolerance: Number | None = None
    ) -> Change[S_co]:
        """Demand a delta from `low` to `high`, both included; otherwise as for `by`."""
        return self._moving(Between(low, high, tolerance), said("by_between", low, high, tolerance=tolerance))

    def increasing(
        self: Change[_NumericState],
        *,
        by: _Amount | None = None,
        at_least: _Amount | None = None,
        at_most: _Amount | None = None,
        tolerance: Number | None = None,
    ) -> Change[S_co]:
        """Demand a positive delta.

        Args:
            by: exactly this much.
            at_least: this much or more; may be combined with `at_most`.
            at_most: this much or less, though more than nothing.
            tolerance: as for `by`.

        Raises:
            DefinitionTypeError: an amount is not a number.
            DefinitionValueError: an amount is not positive, or two contradict each other.
        """
        words = said("increasing", by=by, at_least=at_least, at_most=at_most, tolerance=tolerance)
        return self._moving(Increase(by, at_least, at_most, tolerance), words)

    def decreasing(
        self: Change[_NumericState],
        *,
        by: _Amount | None = None,
        at_least: _Amount | None = None,
        at_most: _Amount | None = None,
        tolerance: Number | None = None,
    ) -> Change[S_co]:
        """Demand a negative delta; amounts are positive numbers, otherwise as for `increasing`."""
        words = said("decreasing", by=by, at_least=at_least, at_most=at_most, tolerance=tolerance)
        return self._moving(Decrease(by, at_least, at_most, tolerance), words)

    def from_(self, state: object) -> Change[S_co]:
        """Demand that the baseline equals `state`, by value.

        Args:
            state: any value, or a callable that computes one from what it names.

        Raises:
            DefinitionValueError: a start was given already.
            DefinitionTypeError: the state cannot be compared by value.
        """
        expectation = self._expectation
        if expectation.start is not UNREAD:
            raise DefinitionValueError(f"check {self.metric!r} has a start already: {self!r}")
        return self._with(replace(expectation, start=self._frozen(state, "from_")), said("from_", state))

    def to(self, state: object) -> Change[S_co]:
        """Demand that the post-state equals `state`, by value; otherwise as for `from_`.

        The state must still have changed: one that was there before proves nothing about the action.
        """
        expectation = self._expectation
        if expectation.end is not UNREAD:
            raise DefinitionValueError(f"check {self.metric!r} has an end already: {self!r}")
        return self._with(replace(expectation, end=self._frozen(state, "to")), said("to", state))

    @property
    def _expectation(self) -> ChangeExpectation:
        assert isinstance(self.expectation, ChangeExpectation)  # noqa: S101  # `change` makes no other
        return self.expectation

    def _moving(self, movement: Movement, words: str) -> Change[Any]:
        expectation = self._expectation
        if not isinstance(expectation.movement, SomeChange):
            raise DefinitionValueError(
                f"check {self.metric!r} says twice how far the state moves: {self!r} cannot be followed by "
                f".{words}; keep one, or use by_between(low, high)"
            )
        return self._with(replace(expectation, movement=movement), words)

    def _with(self, expectation: ChangeExpectation, words: str) -> Change[Any]:
        return replace(self, expectation=expectation, words=(*self.words, words))

    def _frozen(self, state: object, word: str) -> object:
        if callable(state):
            return state
        try:
            return freeze(state)
        except Unfreezable as error:
            raise DefinitionTypeError(
                f"check {self.metric!r}: {word} cannot compare with this: {error}"
            ) from None
