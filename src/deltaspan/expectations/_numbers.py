"""Numeric movements: by how much a number, or a point in time, must have moved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final

from deltaspan._state.diff import Delta, NumberDelta
from deltaspan._state.render import show
from deltaspan.exceptions import DefinitionValueError
from deltaspan.expectations._base import States
from deltaspan.expectations._comparison import (
    amount_of,
    checked_amount,
    checked_order,
    checked_tolerance,
    compare,
    negated,
    zero_like,
)
from deltaspan.expectations._computed import any_computed
from deltaspan.expectations._movements import NoMovement
from deltaspan.expectations._numbers_by_key import ByKey

__all__ = ["AtLeast", "AtMost", "Between", "By", "Decrease", "Increase", "is_of_numbers"]

_AMOUNTS: Final = ("amount", "low", "high", "by", "at_least", "at_most")
"""The fields of numeric movements that hold amounts."""


class _ByAmount(ABC):
    """What every numeric movement shares."""

    __slots__ = ()
    verb: ClassVar[str] = "change"

    @abstractmethod
    def holds(self, delta: Delta, states: States) -> bool:
        """Return whether the delta is such a movement; as for `Movement`."""

    @property
    def admits_none(self) -> bool:
        amounts = [getattr(self, name) for name in _AMOUNTS if getattr(self, name, None) is not None]
        if any_computed(amounts):
            return True
        zero = zero_like(amounts[0]) if amounts else 0
        return self.holds(NumberDelta(zero, changed=False), (zero, zero))

    def happened(self, delta: Delta) -> str:
        return delta.words()

    def fault(self, delta: Delta, states: States) -> str | None:
        return None if self.holds(delta, states) else delta.words()


def is_of_numbers(movement: object) -> bool:
    """Return whether a movement is that of one number."""
    return isinstance(movement, _ByAmount)


@dataclass(frozen=True, slots=True)
class By(_ByAmount):
    """A delta of exactly `amount`, within `tolerance`."""

    amount: Any
    tolerance: Any = None

    def __post_init__(self) -> None:
        checked_amount("by", self.amount)
        checked_tolerance(self.tolerance)

    def remade(self, **values: Any) -> By | ByKey | NoMovement:
        """Return it with computed operands filled in: one amount, amounts by key, or no key at all."""
        made = {"amount": self.amount, "tolerance": self.tolerance, **values}
        if isinstance(made["amount"], Mapping):
            return ByKey(made["amount"], made["tolerance"]) if made["amount"] else NoMovement()
        return By(**made)

    @property
    def extent(self) -> str:
        amount = "a computed amount" if callable(self.amount) else show(self.amount)
        return f"by {amount}{_within(self.tolerance)}"

    @property
    def expected(self) -> object:
        return self.amount

    def holds(self, delta: Delta, states: States) -> bool:
        return compare(amount_of(delta, "by", states), self.amount, self.tolerance) == 0


@dataclass(frozen=True, slots=True)
class _OneSided(_ByAmount):
    """A delta on one side of `amount`, the amount itself included."""

    amount: Any
    tolerance: Any = None

    word: ClassVar[str]
    bound: ClassVar[str]
    signs: ClassVar[tuple[int, int]]

    def __post_init__(self) -> None:
        checked_amount(self.word, self.amount)
        checked_tolerance(self.tolerance)

    @property
    def extent(self) -> str:
        return f"by {self.expected}"

    @property
    def expected(self) -> str:
        return f"{self.bound} {show(self.amount)}{_within(self.tolerance)}"

    def holds(self, delta: Delta, states: States) -> bool:
        return compare(amount_of(delta, self.word, states), self.amount, self.tolerance) in self.signs


@dataclass(frozen=True, slots=True)
class AtLeast(_OneSided):
    """A delta of `amount` or more."""

    word: ClassVar[str] = "by_at_least"
    bound: ClassVar[str] = "at least"
    signs: ClassVar[tuple[int, int]] = (0, 1)


@dataclass(frozen=True, slots=True)
class AtMost(_OneSided):
    """A delta of `amount` or less; a negative delta is less."""

    word: ClassVar[str] = "by_at_most"
    bound: ClassVar[str] = "at most"
    signs: ClassVar[tuple[int, int]] = (-1, 0)


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
        checked_order(f"by_between({self.low!r}, {self.high!r})", self.low, self.high)

    @property
    def extent(self) -> str:
        return f"by {self.expected}"

    @property
    def expected(self) -> str:
        return f"between {show(self.low)} and {show(self.high)}{_within(self.tolerance)}"

    def holds(self, delta: Delta, states: States) -> bool:
        amount = amount_of(delta, "by_between", states)
        return compare(amount, self.low, self.tolerance) in (0, 1) and (
            compare(amount, self.high, self.tolerance) in (-1, 0)
        )


@dataclass(frozen=True, slots=True)
class _Directed(_ByAmount):
    """A movement in one direction, by any amount or by `by`, `at_least`, `at_most`; amounts are positive.

    An amount that was computed may be 0: then no movement at all is one of this kind.
    """

    by: Any = None
    at_least: Any = None
    at_most: Any = None
    tolerance: Any = None
    is_computed: bool = field(default=False, repr=False, compare=False)

    word: ClassVar[str]
    opposite: ClassVar[str]
    sign: ClassVar[int]

    def __post_init__(self) -> None:
        for name in ("by", "at_least", "at_most"):
            self._check_positive(name, getattr(self, name))
        checked_tolerance(self.tolerance)
        if self.by is not None and (self.at_least is not None or self.at_most is not None):
            other = "at_least" if self.at_least is not None else "at_most"
            raise DefinitionValueError(f"{self.word}() takes by= or {other}=, not both: by= is exact already")
        if self.at_least is not None and self.at_most is not None:
            said = f"{self.word}(at_least={self.at_least!r}, at_most={self.at_most!r})"
            checked_order(said, self.at_least, self.at_most)

    def remade(self, **values: Any) -> _Directed:
        """Return it with computed operands filled in."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return type(self)(**{**own, **values, "is_computed": True})

    def _check_positive(self, name: str, amount: Any) -> None:
        if amount is None:
            return
        checked_amount(f"{self.word}({name}=...)", amount)
        lowest = (0, 1) if self.is_computed else (1,)
        if not callable(amount) and compare(amount, zero_like(amount)) not in lowest:
            raise DefinitionValueError(
                f"{self.word}({name}={amount!r}) needs a positive amount; "
                f"use {self.opposite}({name}=...) for the other direction, or unchanged(...) for none"
            )

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
            return self._signed(self.by)
        return f"{self.verb} {self.extent}".rstrip()

    def holds(self, delta: Delta, states: States) -> bool:
        amount = amount_of(delta, self.word, states)
        sign = compare(amount, zero_like(amount))
        if sign != self.sign and not (sign == 0 and self._admits_none):
            return False
        # The bounds take the sign, not the delta: a delta may be the one number that has no opposite.
        exact, near, far = self._signed(self.by), self._signed(self.at_least), self._signed(self.at_most)
        return (
            (exact is None or compare(amount, exact, self.tolerance) == 0)
            and (near is None or compare(amount, near, self.tolerance) in (0, self.sign))
            and (far is None or compare(amount, far, self.tolerance) in (0, -self.sign))
        )

    @property
    def _admits_none(self) -> bool:
        amounts = [amount for amount in (self.by, self.at_least, self.at_most) if amount is not None]
        return any(compare(amount, zero_like(amount)) == 0 for amount in amounts)

    def _signed(self, amount: Any) -> Any:
        return amount if amount is None or self.sign > 0 else negated(amount)


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


def _within(tolerance: Any) -> str:
    return "" if tolerance is None else f" ± {show(tolerance)}"
