"""Exact subtraction of numbers and points in time, for all but floats."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from enum import Enum
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltaspan.typing import Number

_MAX_DIGITS = 100_000
"""Decimals further apart than this do not subtract: writing 10**999999999 - 1 out would exhaust memory."""

_EXACT_FLOAT = 2**53
"""Integers up to this are floats exactly, so a float subtraction of them is as good as it gets."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# The caller's context may have any precision, and may trap. This one never rounds.
_EXACT = Context(prec=_MAX_DIGITS + 10, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def is_number(value: object) -> bool:
    """Return whether a value subtracts as a number.

    A bool does not, and neither does a member of an enum.
    """
    return isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool | Enum)


def is_nan(value: Any) -> bool:
    """Return whether a number or point in time is NaN or NaT."""
    return bool(value.is_nan()) if isinstance(value, Decimal) else bool(value != value)  # noqa: PLR0124 - only NaN and its like


def subtract(post: Any, pre: Any) -> Number | None:
    """Return the exact difference of two numbers or points in time, or None.

    Two ints, Decimals or Fractions, or a mix, subtract exactly whatever the current decimal context. A mix
    with a float is computed exactly, then rounded to a float; with a Decimal it stays exact. Two datetimes
    (both aware or both naive), dates or timedeltas give a timedelta. The difference of two NaNs is NaN.
    """
    if is_number(post) and is_number(pre):
        return _subtract_numbers(post, pre)
    for kind in (datetime, timedelta):
        if isinstance(post, kind) and isinstance(pre, kind):
            return _subtract_times(post, pre)
    dates = isinstance(post, date) and isinstance(pre, date)
    return _subtract_times(post, pre) if dates else None


def _subtract_numbers(post: Any, pre: Any) -> Number | None:
    if isinstance(post, Decimal) or isinstance(pre, Decimal):
        return _subtract_decimals(post, pre)
    if not (isinstance(post, float) or isinstance(pre, float)):
        return post - pre  # type: ignore[no-any-return]
    floats = isinstance(post, float) and isinstance(pre, float)
    if floats or all(
        isinstance(n, float) or (type(n) is int and abs(n) <= _EXACT_FLOAT) for n in (post, pre)
    ):
        return float(post) - float(pre)
    for number, sign in ((post, 1), (pre, -1)):
        if isinstance(number, float) and not isfinite(number):
            return sign * number
    return _round(Fraction(post) - Fraction(pre))


def _round(exact: Fraction) -> Number:
    try:
        rounded = float(exact)
    except OverflowError:
        return exact
    # A difference that is too small for a float is still a difference.
    return rounded if bool(rounded) == bool(exact) else exact


def _subtract_decimals(post: Any, pre: Any) -> Number | None:
    if is_nan(post) or is_nan(pre):
        return Decimal("NaN")
    if isinstance(post, Fraction) or isinstance(pre, Fraction):
        return _subtract_fractions(post, pre)
    post, pre = _to_decimal(post), _to_decimal(pre)
    return _EXACT.subtract(post, pre) if _digits(post, pre) <= _MAX_DIGITS else None


def _subtract_fractions(post: Any, pre: Any) -> Number | None:
    for number, sign in ((post, 1), (pre, -1)):
        if isinstance(number, Decimal):
            if not number.is_finite():
                return sign * number
            if _digits(number, Decimal(0)) > _MAX_DIGITS:
                return None
    return Fraction(post) - Fraction(pre)


def _to_decimal(number: Any) -> Decimal:
    return number if isinstance(number, Decimal) else Decimal(number)


def _digits(*numbers: Decimal) -> int:
    """Return the number of digits that both numbers and their difference need.

    The numbers are written below one another.
    """
    finite = [number for number in numbers if number.is_finite()]
    exponents = [int(number.as_tuple().exponent) for number in finite]
    return max((number.adjusted() for number in finite if number), default=0) + 2 - min([0, *exponents])


def instant(moment: datetime) -> timedelta | None:
    """Return an aware datetime as the time since the epoch, else None.

    The zone, and the side of a repeated hour, make no difference.
    """
    return None if moment.utcoffset() is None else moment - _EPOCH


def _subtract_times(post: Any, pre: Any) -> timedelta | None:
    try:
        amount: timedelta = post - pre
        if isinstance(post, datetime) and not amount:
            # Within one zone Python subtracts wall times, which an hour that the clock repeats shows twice.
            after, before = instant(post), instant(pre)
            return amount if after is None or before is None else after - before
    except (TypeError, OverflowError):
        # Naive and aware, a date and a datetime, or a difference beyond the range of a timedelta.
        return None
    return amount
