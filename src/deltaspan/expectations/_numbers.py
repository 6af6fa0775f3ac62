"""The movement of one number, or of one point in time, by an amount."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from deltaspan._state.diff import Delta, NumberDelta
from deltaspan._state.render import show
from deltaspan.exceptions import DefinitionValueError
from deltaspan.expectations._base import Movement, States
from deltaspan.expectations._comparison import (
    amount_of,
    compare,
    negate,
    validate_amount,
    validate_finite,
    validate_order,
    validate_tolerance,
    zero_like,
)
from deltaspan.expectations._computed import resolve
from deltaspan.expectations._movements import NoMovement
from deltaspan.expectations._numbers_by_key import ByKey
from deltaspan.expectations._operands import Computed, Operand, OperandValues, operands_in


class _Bounds(NamedTuple):
    """The lowest and the highest amount that hold. None leaves a side open."""

    low: Any
    high: Any

    def contain(self, amount: Any, tolerance: Any) -> bool:
        """Return whether an amount lies within the bounds, both included."""
        return (self.low is None or compare(amount, self.low, tolerance) in (0, 1)) and (
            self.high is None or compare(amount, self.high, tolerance) in (-1, 0)
        )

    def negate(self) -> _Bounds:
        """Return the bounds of the opposite amounts."""
        low, high = (None if bound is None else negate(bound) for bound in (self.high, self.low))
        return _Bounds(low, high)

    def words(self, tolerance: Any) -> str:
        """Return the text of the bounds, to follow "by", or nothing."""
        within = _within(tolerance)
        if self.low is not None and self.high is not None:
            return f"between {show(self.low)} and {show(self.high)}{within}"
        if self.low is not None:
            return f"at least {show(self.low)}{within}"
        return "" if self.high is None else f"at most {show(self.high)}{within}"


@dataclass(frozen=True, slots=True)
class ByAmount(Movement):
    """A movement of one number, by an exact amount or within bounds.

    With a direction, the amounts are given as positive numbers. A computed amount may be 0. Then no movement
    at all is one in that direction.

    Attributes:
        word: the word that demands it.
        by: the exact amount, or None.
        at_least: the lowest amount, or None.
        at_most: the highest amount, or None.
        tolerance: the largest deviation from an amount that still holds.
        direction: 1 for an increase, -1 for a decrease, 0 for either.
    """

    word: str
    by: Any = None
    at_least: Any = None
    at_most: Any = None
    tolerance: Any = None
    direction: Literal[-1, 0, 1] = 0
    _is_resolved: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        amounts = {"by": self.by, "at_least": self.at_least, "at_most": self.at_most}
        for name, amount in amounts.items():
            if amount is not None:
                self._validate(name, amount)
                if name != "by":
                    validate_finite(self.word, amount)
        validate_tolerance(self.tolerance)
        if self.by is not None and (self.at_least is not None or self.at_most is not None):
            other = "at_least" if self.at_least is not None else "at_most"
            raise DefinitionValueError(f"{self.word}() takes by= or {other}=, not both: by= is exact already")
        if self.at_least is not None and self.at_most is not None:
            options = "at_least={!r}, at_most={!r}" if self.direction else "{!r}, {!r}"
            call = f"{self.word}({options.format(self.at_least, self.at_most)})"
            validate_order(call, self.at_least, self.at_most)

    def _validate(self, name: str, amount: Any) -> None:
        if not self.direction:
            validate_amount(self.word, amount)
            return
        validate_amount(f"{self.word}({name}=...)", amount)
        lowest = (0, 1) if self._is_resolved else (1,)
        if not isinstance(amount, Computed) and compare(amount, zero_like(amount)) not in lowest:
            opposite = "decreasing" if self.direction > 0 else "increasing"
            raise DefinitionValueError(
                f"{self.word}({name}={amount!r}) needs a positive amount; "
                f"use {opposite}({name}=...) for the other direction, or unchanged(...) for none"
            )

    @property
    def operands(self) -> tuple[Operand, ...]:
        return operands_in(self.by, self.at_least, self.at_most, self.tolerance)

    def resolve(self, values: OperandValues) -> Movement:
        """Return the movement with its computed operands.

        An exact amount for each key makes a ByKey, and no key at all a NoMovement.
        """
        if not self.operands:
            return self
        amounts = []
        for operand in (self.by, self.at_least, self.at_most):
            amounts.append(resolve(operand, values))
            if operand is not None and amounts[-1] is None:
                validate_amount(self.word, None)
        by, at_least, at_most = amounts
        tolerance = resolve(self.tolerance, values)
        if isinstance(by, Mapping) and not self.direction:
            return ByKey(by, tolerance) if by else NoMovement()
        return ByAmount(self.word, by, at_least, at_most, tolerance, self.direction, _is_resolved=True)

    @property
    def verb(self) -> str:
        if not self.direction:
            return "change"
        return "increase" if self.direction > 0 else "decrease"

    @property
    def extent(self) -> str:
        if self.by is not None:
            amount = "a computed amount" if isinstance(self.by, Computed) else show(self.by)
            return f"by {amount}{_within(self.tolerance)}"
        bounds = self._bounds.words(self.tolerance)
        return f"by {bounds}" if bounds else ""

    @property
    def expected(self) -> object:
        if self.by is not None and not (self.direction and isinstance(self.by, Computed)):
            return negate(self.by) if self.direction < 0 else self.by
        return f"{self.verb} {self.extent}".rstrip() if self.direction else self._bounds.words(self.tolerance)

    @property
    def admits_no_change(self) -> bool:
        if self.operands:
            return True
        amounts = self._amounts
        zero = zero_like(amounts[0]) if amounts else 0
        return self.holds(NumberDelta(zero, changed=False), (zero, zero))

    def holds(self, delta: Delta, states: States) -> bool:
        amount = amount_of(delta, self.word, states)
        if not self.direction:
            if self.by is not None:  # the most usual check of all: one comparison is enough
                return compare(amount, self.by, self.tolerance) == 0
            return self._bounds.contain(amount, self.tolerance)
        sign = compare(amount, zero_like(amount))
        if sign != self.direction and not (sign == 0 and self._has_zero):
            return False
        # The bounds take the sign, not the delta: a delta may be the one number that has no opposite.
        return (self._bounds if self.direction > 0 else self._bounds.negate()).contain(amount, self.tolerance)

    def happened(self, delta: Delta) -> str:
        return delta.words()

    @property
    def _bounds(self) -> _Bounds:
        return _Bounds(self.at_least, self.at_most) if self.by is None else _Bounds(self.by, self.by)

    @property
    def _amounts(self) -> list[Any]:
        return [bound for bound in self._bounds if bound is not None]

    @property
    def _has_zero(self) -> bool:
        return any(compare(amount, zero_like(amount)) == 0 for amount in self._amounts)


def is_of_numbers(movement: object) -> bool:
    """Return whether a movement is that of one number."""
    return isinstance(movement, ByAmount)


def _within(tolerance: Any) -> str:
    return "" if tolerance is None else f" ± {show(tolerance)}"
