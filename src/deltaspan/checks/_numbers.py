"""The words for numbers: the amount of one, or of each in a mapping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Literal, TypeAlias, TypeVar, overload

from deltaspan.checks._change_words import ChangeWords, validate_key
from deltaspan.checks._check import S_co
from deltaspan.checks._probe import call_text
from deltaspan.exceptions import DefinitionValueError
from deltaspan.expectations import ByAmount, ByKey, computed_if_callable, validate_amount
from deltaspan.typing import Number

Numeric: TypeAlias = Number | date
"""A state whose delta is a number. A datetime is a date, and the delta of two dates is a timedelta."""

_Numbers: TypeAlias = Mapping[Any, "Numeric | _Numbers"]
_Amount: TypeAlias = Number | Callable[..., Number]
_Amounts: TypeAlias = Mapping[Any, _Amount] | Callable[..., Mapping[Any, Number]]

A = TypeVar("A", bound="AmountWords[Any]")
N = TypeVar("N", bound="AmountWords[Numeric]")
M = TypeVar("M", bound="AmountWords[_Numbers]")


class AmountWords(ChangeWords[S_co]):
    """The words for amounts."""

    __slots__ = ()

    @overload
    def by(self: N, amount: _Amount, *, tolerance: Number | None = None) -> N: ...
    @overload
    def by(self: M, amount: _Amounts, *, tolerance: Number | None = None) -> M: ...
    def by(self, amount: Any, *, tolerance: Number | None = None) -> Any:
        """Demand a delta of exactly `amount`.

        For a mapping of numbers it takes an amount for each key. No other key may change, come or go, not
        even as 0. A declared key that is absent before or after counts as 0. In nested documents a key is a
        path, with its keys joined by `/`. A top-level key that is not text names itself, not its text.

        Args:
            amount: post-state minus baseline, in the unit of the state, or a timedelta for datetimes. A
                callable computes it from the parameters that it names: the action's parameters, `result`,
                `pre_state`, `causal_tag`. For a mapping it is key → amount, or a callable that computes the
                whole mapping. If that is empty, nothing may change. `{name}` in a written key stands for that
                argument, and a literal brace is doubled.
            tolerance: the largest absolute deviation that still holds, for floats. It applies to each
                declared key.

        Raises:
            DefinitionTypeError: the amount is not a number.
            DefinitionValueError: another word already says how the state changes, no key is given, or a field
                in a key is not a plain name.

        Example:
            >>> from deltaspan import change, window
            >>> stock = {"bolts": 5, "nuts": 2}
            >>> with window("pick", change("stock", lambda: stock).by({"bolts": -1})) as w:
            ...     stock.update(bolts=4, nuts=1)
            >>> print(w.report["stock"].explanation)  # doctest: +NORMALIZE_WHITESPACE
            expected stock to change by {'bolts': -1}, but it also changed 'nuts' by -1,
            which was not declared
        """
        call = call_text("by", amount, tolerance=tolerance)
        if not isinstance(amount, Mapping):
            return self._with_amounts("by", call, by=amount, tolerance=tolerance)
        if not amount:
            raise DefinitionValueError(
                "by({}) names no key: use unchanged(...) to claim that nothing changes"
            )
        amounts = {
            validate_key(self.metric, "by", key): computed_if_callable(each, "by")
            for key, each in amount.items()
        }
        return self._with_movement(ByKey(amounts, computed_if_callable(tolerance, "by")), call)

    def by_at_least(self: N, amount: _Amount, *, tolerance: Number | None = None) -> N:
        """Demand a delta of `amount` or more.

        The arguments and errors are those of `by`.
        """
        call = call_text("by_at_least", amount, tolerance=tolerance)
        return self._with_amounts("by_at_least", call, at_least=amount, tolerance=tolerance)

    def by_at_most(self: N, amount: _Amount, *, tolerance: Number | None = None) -> N:
        """Demand a delta of `amount` or less.

        A negative delta is less than a positive one. The arguments and errors are those of `by`.
        """
        call = call_text("by_at_most", amount, tolerance=tolerance)
        return self._with_amounts("by_at_most", call, at_most=amount, tolerance=tolerance)

    def by_between(self: N, low: _Amount, high: _Amount, *, tolerance: Number | None = None) -> N:
        """Demand a delta from `low` to `high`, both included.

        The arguments and errors are those of `by`.
        """
        call = call_text("by_between", low, high, tolerance=tolerance)
        return self._with_amounts("by_between", call, at_least=low, at_most=high, tolerance=tolerance)

    def increasing(
        self: N,
        *,
        by: _Amount | None = None,
        at_least: _Amount | None = None,
        at_most: _Amount | None = None,
        tolerance: Number | None = None,
    ) -> N:
        """Demand a positive delta.

        Args:
            by: the exact amount.
            at_least: the lowest amount. It may be combined with `at_most`.
            at_most: the highest amount. The delta must still be positive.
            tolerance: as for the word `by`.

        Raises:
            DefinitionTypeError: an amount is not a number.
            DefinitionValueError: an amount is not positive, or two contradict each other.
        """
        amounts = {"by": by, "at_least": at_least, "at_most": at_most, "tolerance": tolerance}
        return self._with_amounts("increasing", call_text("increasing", **amounts), 1, **amounts)

    def decreasing(
        self: N,
        *,
        by: _Amount | None = None,
        at_least: _Amount | None = None,
        at_most: _Amount | None = None,
        tolerance: Number | None = None,
    ) -> N:
        """Demand a negative delta.

        Its amounts are positive numbers. The arguments and errors are those of `increasing`.
        """
        amounts = {"by": by, "at_least": at_least, "at_most": at_most, "tolerance": tolerance}
        return self._with_amounts("decreasing", call_text("decreasing", **amounts), -1, **amounts)

    def _with_amounts(self: A, word: str, call: str, direction: Literal[-1, 0, 1] = 0, **amounts: Any) -> A:
        if not direction and None in (amounts[name] for name in amounts if name != "tolerance"):
            validate_amount(word, None)
        operands = {name: computed_if_callable(amount, word) for name, amount in amounts.items()}
        return self._with_movement(ByAmount(word, **operands, direction=direction), call)
