"""Exact comparison of amounts of any numeric kind, in any decimal context."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import isfinite
from typing import Any, Final

from deltaspan._state.diff import Delta, NumberDelta, TaggedDelta, is_nan, subtract
from deltaspan._state.render import show
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations._base import Incomparable, States, wrong_kind
from deltaspan.expectations._operands import Computed

_AMOUNTS: Final = (int, float, Decimal, Fraction, timedelta)


def amount_of(delta: Delta, word: str, states: States) -> Any:
    """Return the amount of a numeric delta.

    Raises:
        Incomparable: the states were not two numbers, or two points in time.
    """
    if isinstance(delta, NumberDelta):
        return delta.amount
    if isinstance(delta, TaggedDelta):
        return delta.amount  # rows are counted
    raise wrong_kind(word, "a number", delta, states)


def compare(one: Any, other: Any, tolerance: Any = None) -> int | None:
    """Return the sign of `one - other`.

    It is 0 within the tolerance, and None if either is NaN.

    Raises:
        Incomparable: the two do not subtract, such as a timedelta and a number.
    """
    if type(one) is int and type(other) is int and tolerance is None:
        return (one > other) - (one < other)
    if is_nan(one) or is_nan(other):
        return None
    if one == other:
        return 0
    amount = subtract(one, other)
    if amount is None:
        raise Incomparable(f"the amounts are of kinds that do not compare: {show(one)} and {show(other)}")
    if tolerance is not None and compare(_absolute(amount), tolerance) in (-1, 0):
        return 0
    return 1 if amount > zero_like(amount) else -1


def negate(amount: Any) -> Any:
    """Return `-amount` exactly. The minus sign would round a Decimal to the context."""
    return amount.copy_negate() if isinstance(amount, Decimal) else -amount


def zero_like(amount: Any) -> Any:
    """Return zero of the amount's kind."""
    return timedelta() if isinstance(amount, timedelta) else 0


def _absolute(amount: Any) -> Any:
    return amount.copy_abs() if isinstance(amount, Decimal) else abs(amount)


# At construction ------------------------------------------------------------------------------------------


def validate_amount(word: str, amount: Any) -> None:
    """Check that an amount is a number or is computed.

    Raises:
        DefinitionTypeError: the amount is of another kind. A bool is not a number.
        DefinitionValueError: the amount is NaN, which no delta satisfies.
    """
    if isinstance(amount, Computed):
        return
    if isinstance(amount, bool | Enum) or not isinstance(amount, _AMOUNTS):
        raise DefinitionTypeError(
            f"{word} takes a number, a timedelta, or a callable that computes one, not {show(amount)}"
        )
    if is_nan(amount):
        raise DefinitionValueError(f"{word} takes a number, not NaN, which no delta satisfies")


def validate_tolerance(tolerance: Any) -> None:
    """Check that a tolerance is a number of zero or more.

    Raises:
        DefinitionTypeError: the tolerance is of another kind.
        DefinitionValueError: the tolerance is negative, infinite or NaN.
    """
    if tolerance is None:
        return
    validate_amount("tolerance", tolerance)
    validate_finite("tolerance", tolerance)
    if not isinstance(tolerance, Computed) and compare(tolerance, zero_like(tolerance)) == -1:
        raise DefinitionValueError(f"tolerance={tolerance!r} must not be negative")


def validate_finite(word: str, bound: Any) -> None:
    """Check that a bound is finite or is computed.

    Raises:
        DefinitionValueError: the bound is infinite, so that every delta, or none, lies within it.
    """
    if isinstance(bound, float | Decimal) and not isfinite(bound):
        raise DefinitionValueError(
            f"{word} takes a finite number, not {show(bound)}; leave the bound out, or write a number"
        )


def validate_order(call: str, low: Any, high: Any) -> None:
    """Check that some delta lies within a range.

    Raises:
        DefinitionTypeError: the two ends do not compare.
        DefinitionValueError: the lower end is the larger one.
    """
    if isinstance(low, Computed) or isinstance(high, Computed):
        return
    try:
        order = compare(low, high)
    except Incomparable as error:
        raise DefinitionTypeError(f"{call}: {error}") from None
    if order == 1:
        raise DefinitionValueError(f"{call} holds for no delta: the first is larger; swap them")
