"""The movements of one number, or of one point in time, by an amount."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

from deltaspan._state.diff import Delta, NumberDelta
from deltaspan._state.render import show
from deltaspan.exceptions import DefinitionValueError
from deltaspan.expectations._base import States
from deltaspan.expectations._comparison import (
    amount_of,
    compare,
    negate,
    validate_amount,
    validate_order,
    validate_tolerance,
    zero_like,
)
from deltaspan.expectations._computed import any_computed
from deltaspan.expectations._movements import NoMovement
from deltaspan.expectations._numbers_by_key import ByKey

__all__ = ["AtLeast", "AtMost", "Between", "By", "Decrease", "Increase", "is_of_numbers"]


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


class _ByAmount(ABC):
    """A movement of one number, by an amount within bounds.

    Attributes:
        word: the word that demands it.
        tolerance: the largest deviation from a bound that still holds.
    """

    __slots__ = ()
    verb: ClassVar[str] = "change"
    word: ClassVar[str]
    tolerance: Any

    @property
    @abstractmethod
    def _bounds(self) -> _Bounds:
        """The bounds, as they were given."""

    def __post_init__(self) -> None:
        for field_ in fields(self):  # type: ignore[arg-type]  # each kind is a dataclass
            if field_.name != "tolerance":
                validate_amount(self.word, getattr(self, field_.name))
        validate_tolerance(self.tolerance)

    @property
    def _amounts(self) -> list[Any]:
        return [bound for bound in self._bounds if bound is not None]

    @property
    def extent(self) -> str:
        return f"by {self.expected}"

    @property
    def expected(self) -> object:
        return self._bounds.words(self.tolerance)

    @property
    def admits_none(self) -> bool:
        amounts = self._amounts
        if any_computed(amounts):
            return True
        zero = zero_like(amounts[0]) if amounts else 0
        return self.holds(NumberDelta(zero, changed=False), (zero, zero))

    def holds(self, delta: Delta, states: States) -> bool:
        return self._bounds.contain(amount_of(delta, self.word, states), self.tolerance)

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

    word: ClassVar[str] = "by"

    def resolved(self, **values: Any) -> By | ByKey | NoMovement:
        """Return a copy with computed operands.

        An amount for each key makes a ByKey, and no key at all a NoMovement.
        """
        operands = {"amount": self.amount, "tolerance": self.tolerance, **values}
        if isinstance(operands["amount"], Mapping):
            return ByKey(operands["amount"], operands["tolerance"]) if operands["amount"] else NoMovement()
        return By(**operands)

    @property
    def _bounds(self) -> _Bounds:
        return _Bounds(self.amount, self.amount)

    @property
    def extent(self) -> str:
        amount = "a computed amount" if callable(self.amount) else show(self.amount)
        return f"by {amount}{_within(self.tolerance)}"

    @property
    def expected(self) -> object:
        return self.amount

    def holds(self, delta: Delta, states: States) -> bool:
        # The most usual check of all: one comparison is enough.
        return compare(amount_of(delta, "by", states), self.amount, self.tolerance) == 0


@dataclass(frozen=True, slots=True)
class AtLeast(_ByAmount):
    """A delta of `amount` or more."""

    amount: Any
    tolerance: Any = None

    word: ClassVar[str] = "by_at_least"

    @property
    def _bounds(self) -> _Bounds:
        return _Bounds(self.amount, None)


@dataclass(frozen=True, slots=True)
class AtMost(_ByAmount):
    """A delta of `amount` or less, such as a negative one."""

    amount: Any
    tolerance: Any = None

    word: ClassVar[str] = "by_at_most"

    @property
    def _bounds(self) -> _Bounds:
        return _Bounds(None, self.amount)


@dataclass(frozen=True, slots=True)
class Between(_ByAmount):
    """A delta from `low` to `high`, both included."""

    low: Any
    high: Any
    tolerance: Any = None

    word: ClassVar[str] = "by_between"

    def __post_init__(self) -> None:
        _ByAmount.__post_init__(self)
        validate_order(f"by_between({self.low!r}, {self.high!r})", self.low, self.high)

    @property
    def _bounds(self) -> _Bounds:
        return _Bounds(self.low, self.high)


@dataclass(frozen=True, slots=True)
class _Directed(_ByAmount):
    """A movement in one direction, by any amount or within positive amounts.

    A computed amount may be 0. Then no movement at all is one of this kind.

    Attributes:
        by: the exact amount, or None.
        at_least: the lowest amount, or None.
        at_most: the highest amount, or None.
        tolerance: the largest deviation from an amount that still holds.
        is_computed: whether the amounts were computed in the run.
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
        validate_tolerance(self.tolerance)
        if self.by is not None and (self.at_least is not None or self.at_most is not None):
            other = "at_least" if self.at_least is not None else "at_most"
            raise DefinitionValueError(f"{self.word}() takes by= or {other}=, not both: by= is exact already")
        if self.at_least is not None and self.at_most is not None:
            call = f"{self.word}(at_least={self.at_least!r}, at_most={self.at_most!r})"
            validate_order(call, self.at_least, self.at_most)

    def resolved(self, **values: Any) -> _Directed:
        """Return a copy with computed operands."""
        operands = {field_.name: getattr(self, field_.name) for field_ in fields(self)}
        return type(self)(**{**operands, **values, "is_computed": True})

    def _check_positive(self, name: str, amount: Any) -> None:
        if amount is None:
            return
        validate_amount(f"{self.word}({name}=...)", amount)
        lowest = (0, 1) if self.is_computed else (1,)
        if not callable(amount) and compare(amount, zero_like(amount)) not in lowest:
            raise DefinitionValueError(
                f"{self.word}({name}={amount!r}) needs a positive amount; "
                f"use {self.opposite}({name}=...) for the other direction, or unchanged(...) for none"
            )

    @property
    def _bounds(self) -> _Bounds:
        return _Bounds(self.at_least, self.at_most) if self.by is None else _Bounds(self.by, self.by)

    @property
    def extent(self) -> str:
        if self.by is not None:
            return f"by {show(self.by)}{_within(self.tolerance)}"
        bounds = self._bounds.words(self.tolerance)
        return f"by {bounds}" if bounds else ""

    @property
    def expected(self) -> object:
        if self.by is not None and not callable(self.by):
            return self.by if self.sign > 0 else negate(self.by)
        return f"{self.verb} {self.extent}".rstrip()

    def holds(self, delta: Delta, states: States) -> bool:
        amount = amount_of(delta, self.word, states)
        sign = compare(amount, zero_like(amount))
        if sign != self.sign and not (sign == 0 and self._has_zero):
            return False
        # The bounds take the sign, not the delta: a delta may be the one number that has no opposite.
        return (self._bounds if self.sign > 0 else self._bounds.negate()).contain(amount, self.tolerance)

    @property
    def _has_zero(self) -> bool:
        return any(compare(amount, zero_like(amount)) == 0 for amount in self._amounts)


@dataclass(frozen=True, slots=True)
class Increase(_Directed):
    """A positive delta."""

    verb: ClassVar[str] = "increase"
    word: ClassVar[str] = "increasing"
    opposite: ClassVar[str] = "decreasing"
    sign: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Decrease(_Directed):
    """A negative delta, whose amounts are given as positive numbers."""

    verb: ClassVar[str] = "decrease"
    word: ClassVar[str] = "decreasing"
    opposite: ClassVar[str] = "increasing"
    sign: ClassVar[int] = -1


def _within(tolerance: Any) -> str:
    return "" if tolerance is None else f" ± {show(tolerance)}"
