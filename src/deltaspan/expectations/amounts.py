"""Numeric movements: by how much a number, or a point in time, must have moved."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from deltaspan._deltas import Delta, NumberDelta
from deltaspan._render import show
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations.base import Incomparable

__all__ = ["AtLeast", "AtMost", "Between", "By", "Decrease", "Increase", "amount_of", "checked_amount"]

_AMOUNTS = (int, float, Decimal, Fraction, timedelta)


class _ByAmount:
    """What every numeric movement shares."""

    __slots__ = ()
    verb: ClassVar[str] = "change"

    def happened(self, delta: Delta) -> str:
        return delta.words()


@dataclass(frozen=True, slots=True)
class By(_ByAmount):
    """A delta of exactly `amount`, within `tolerance`."""

    amount: Any
    tolerance: Any = None

    def __post_init__(self) -> None:
        checked_amount("by", self.amount)
        checked_tolerance(self.tolerance)

    @property
    def extent(self) -> str:
        return f"by {show(self.amount)}{_within(self.tolerance)}"

    @property
    def expected(self) -> object:
        return self.amount

    def holds(self, delta: Delta) -> bool:
        amount = amount_of(delta, "by")
        if self.tolerance is None:
            return bool(amount == self.amount)
        return bool(compared(lambda: abs(amount - self.amount) <= self.tolerance))


@dataclass(frozen=True, slots=True)
class AtLeast(_ByAmount):
    """A delta of `amount` or more."""

    amount: Any
    tolerance: Any = None

    def __post_init__(self) -> None:
        checked_amount("by_at_least", self.amount)
        checked_tolerance(self.tolerance)

    @property
    def extent(self) -> str:
        return f"by {self.expected}"

    @property
    def expected(self) -> str:
        return f"at least {show(self.amount)}{_within(self.tolerance)}"

    def holds(self, delta: Delta) -> bool:
        amount = amount_of(delta, "by_at_least")
        return bool(compared(lambda: amount >= _lowered(self.amount, self.tolerance)))


@dataclass(frozen=True, slots=True)
class AtMost(_ByAmount):
    """A delta of `amount` or less; a negative delta is less."""

    amount: Any
    tolerance: Any = None

    def __post_init__(self) -> None:
        checked_amount("by_at_most", self.amount)
        checked_tolerance(self.tolerance)

    @property
    def extent(self) -> str:
        return f"by {self.expected}"

    @property
    def expected(self) -> str:
        return f"at most {show(self.amount)}{_within(self.tolerance)}"

    def holds(self, delta: Delta) -> bool:
        amount = amount_of(delta, "by_at_most")
        return bool(compared(lambda: amount <= _raised(self.amount, self.tolerance)))


@dataclass(frozen=True, slots=True)
class Between(_ByAmount):
    """A delta from `low` to `high`, both included."""

    low: Any
    high: Any
    tolerance: Any = None

    def __post_init__(self) -> None:
        checked_amount("by_between", self.low)
        checked_amount("by_between", self.high)
        checked_tolerance(self.tolerance)
        if not (callable(self.low) or callable(self.high)) and compared(lambda: self.low > self.high):
            raise DefinitionValueError(
                f"by_between({self.low!r}, {self.high!r}) holds for no delta: the first is larger; swap them"
            )

    @property
    def extent(self) -> str:
        return f"by {self.expected}"

    @property
    def expected(self) -> str:
        return f"between {show(self.low)} and {show(self.high)}{_within(self.tolerance)}"

    def holds(self, delta: Delta) -> bool:
        amount = amount_of(delta, "by_between")
        low, high = _lowered(self.low, self.tolerance), _raised(self.high, self.tolerance)
        return bool(compared(lambda: low <= amount <= high))


@dataclass(frozen=True, slots=True)
class _Directed(_ByAmount):
    """A movement in one direction, by any amount or by `by`, `at_least`, `at_most`; amounts are positive."""

    by: Any = None
    at_least: Any = None
    at_most: Any = None
    tolerance: Any = None

    word: ClassVar[str]
    opposite: ClassVar[str]
    sign: ClassVar[int]

    def __post_init__(self) -> None:
        for name in ("by", "at_least", "at_most"):
            amount = getattr(self, name)
            if amount is None:
                continue
            checked_amount(f"{self.word}({name}=...)", amount)
            if not callable(amount) and not compared(lambda amount=amount: amount > _zero_like(amount)):
                raise DefinitionValueError(
                    f"{self.word}({name}={amount!r}) needs a positive amount; "
                    f"use {self.opposite}({name}=...) for the other direction, or unchanged(...) for none"
                )
        checked_tolerance(self.tolerance)
        if self.by is not None and (self.at_least is not None or self.at_most is not None):
            other = "at_least" if self.at_least is not None else "at_most"
            raise DefinitionValueError(f"{self.word}() takes by= or {other}=, not both: by= is exact already")
        if self._contradictory():
            raise DefinitionValueError(
                f"{self.word}(at_least={self.at_least!r}, at_most={self.at_most!r}) holds for no delta; "
                f"swap them"
            )

    def _contradictory(self) -> bool:
        low, high = self.at_least, self.at_most
        if low is None or high is None or callable(low) or callable(high):
            return False
        return bool(compared(lambda: low > high))

    @property
    def extent(self) -> str:
        within = _within(self.tolerance)
        if self.by is not None:
            return f"by {show(self.by)}{within}"
        if self.at_least is not None and self.at_most is not None:
            return f"by between {show(self.at_least)} and {show(self.at_most)}{within}"
        if self.at_least is not None:
            return f"by at least {show(self.at_least)}{within}"
        if self.at_most is not None:
            return f"by at most {show(self.at_most)}{within}"
        return ""

    @property
    def expected(self) -> object:
        if self.by is not None and not callable(self.by):
            return self.sign * self.by
        return f"{self.verb} {self.extent}".rstrip()

    def holds(self, delta: Delta) -> bool:
        amount = self.sign * amount_of(delta, self.word)
        if self.by is not None:
            return By(self.by, self.tolerance).holds(NumberDelta(amount, delta.changed))
        low = _lowered(self.at_least, self.tolerance) if self.at_least is not None else None
        high = _raised(self.at_most, self.tolerance) if self.at_most is not None else None
        return bool(
            compared(
                lambda: (
                    amount > _zero_like(amount)
                    and (low is None or amount >= low)
                    and (high is None or amount <= high)
                )
            )
        )


@dataclass(frozen=True, slots=True)
class Increase(_Directed):
    """A positive delta."""

    verb: ClassVar[str] = "increase"
    word: ClassVar[str] = "increasing"
    opposite: ClassVar[str] = "decreasing"
    sign: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Decrease(_Directed):
    """A negative delta; its amounts are given as positive numbers."""

    verb: ClassVar[str] = "decrease"
    word: ClassVar[str] = "decreasing"
    opposite: ClassVar[str] = "increasing"
    sign: ClassVar[int] = -1


def amount_of(delta: Delta, word: str) -> Any:
    """Return the amount of a numeric delta.

    Raises:
        Incomparable: the states were not two numbers, or two points in time.
    """
    if isinstance(delta, NumberDelta):
        return delta.amount
    raise Incomparable(f"{word} needs a number before and after the action")


def checked_amount(word: str, amount: object) -> None:
    """Refuse, at construction, an amount that is neither a number nor computed.

    Raises:
        DefinitionTypeError: the amount is of another kind; bool is not a number.
        DefinitionValueError: the amount is NaN, which no delta satisfies.
    """
    if callable(amount):
        return
    if isinstance(amount, bool) or not isinstance(amount, _AMOUNTS):
        raise DefinitionTypeError(
            f"{word} takes a number, a timedelta, or a callable that computes one, not {show(amount)}"
        )
    if amount != amount:  # noqa: PLR0124  # the one value that differs from itself is NaN
        raise DefinitionValueError(f"{word} takes a number, not NaN: no delta could satisfy it")


def checked_tolerance(tolerance: object) -> None:
    """Refuse, at construction, a tolerance that is not a non-negative number.

    Raises:
        DefinitionTypeError: the tolerance is of another kind.
        DefinitionValueError: the tolerance is negative or NaN.
    """
    if tolerance is None:
        return
    checked_amount("tolerance", tolerance)
    if not callable(tolerance) and not compared(lambda: tolerance >= _zero_like(tolerance)):
        raise DefinitionValueError(f"tolerance={tolerance!r} must not be negative")


def compared(comparison: Any) -> Any:
    """Run a comparison of amounts whose kinds may not go together.

    Raises:
        Incomparable: they do not, such as a timedelta against a number, or Decimal arithmetic with a float.
    """
    try:
        return comparison()
    except (TypeError, ArithmeticError) as error:
        raise Incomparable(f"the amounts are of kinds that do not compare: {error}") from error


def _zero_like(amount: Any) -> Any:
    return timedelta() if isinstance(amount, timedelta) else 0


def _lowered(amount: Any, tolerance: Any) -> Any:
    return amount if tolerance is None else compared(lambda: amount - tolerance)


def _raised(amount: Any, tolerance: Any) -> Any:
    return amount if tolerance is None else compared(lambda: amount + tolerance)


def _within(tolerance: Any) -> str:
    return "" if tolerance is None else f" ± {show(tolerance)}"
