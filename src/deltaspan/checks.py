"""Checks: the sentence that a user writes about one piece of state.

    change("active_flows", count_flows).by(1)
    unchanged("users", count_users)
    observe("queue_depth", depth)

A check is a metric, a probe and an expectation. It is immutable: each word returns a new check, so one can
be kept in a constant and refined in several places. `repr()` reads as source.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final, Generic, TypeVar, overload

from deltaspan._freeze import Unfreezable, freeze
from deltaspan._records import UNREAD
from deltaspan._render import show
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import (
    AtLeast,
    AtMost,
    Between,
    By,
    ChangeExpectation,
    Decrease,
    Expectation,
    Increase,
    Movement,
    NoChange,
    NoClaim,
    SomeChange,
)
from deltaspan.typing import Number

__all__ = ["Change", "Check", "change", "observe", "unchanged"]

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
_METRIC: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NumericState = Number | date  # a datetime is a date; the delta of two of them is a timedelta
_Amount = Number | Callable[..., Number]


@dataclass(frozen=True, slots=True, repr=False)
class Check(Generic[S_co]):
    """A metric, the probe that reads it, and what its delta must satisfy.

    Attributes:
        metric: `[A-Za-z0-9_.-]{1,64}`; names the state in reports and telemetry.
        probe: reads the state; its parameters name what it needs.
        expectation: judges the delta.
        words: the source text of the words said so far, for `repr`.
    """

    metric: str
    probe: Callable[..., Any]
    expectation: Expectation
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.metric, str):
            raise DefinitionTypeError(f"a metric is a name such as 'active_flows', not {show(self.metric)}")
        if not _METRIC.fullmatch(self.metric):
            raise DefinitionValueError(
                f"the metric {show(self.metric)} must be 1 to 64 letters, digits, '_', '.' or '-'"
            )
        if not callable(self.probe):
            raise DefinitionTypeError(
                f"the probe of check {self.metric!r} must be callable, not {show(self.probe)}; "
                f"pass the function, not its result"
            )

    @property
    def name(self) -> str:
        """The check's name: `{metric}_delta`."""
        return f"{self.metric}_delta"

    def __repr__(self) -> str:
        return ".".join(self.words)


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
        return self._moving(By(amount, tolerance), _said("by", amount, tolerance=tolerance))

    def by_at_least(
        self: Change[_NumericState], amount: _Amount, *, tolerance: Number | None = None
    ) -> Change[S_co]:
        """Demand a delta of `amount` or more; arguments and errors as for `by`."""
        return self._moving(AtLeast(amount, tolerance), _said("by_at_least", amount, tolerance=tolerance))

    def by_at_most(
        self: Change[_NumericState], amount: _Amount, *, tolerance: Number | None = None
    ) -> Change[S_co]:
        """Demand a delta of `amount` or less (a negative delta is less); otherwise as for `by`."""
        return self._moving(AtMost(amount, tolerance), _said("by_at_most", amount, tolerance=tolerance))

    def by_between(
        self: Change[_NumericState], low: _Amount, high: _Amount, *, tolerance: Number | None = None
    ) -> Change[S_co]:
        """Demand a delta from `low` to `high`, both included; otherwise as for `by`."""
        return self._moving(
            Between(low, high, tolerance), _said("by_between", low, high, tolerance=tolerance)
        )

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
        words = _said("increasing", by=by, at_least=at_least, at_most=at_most, tolerance=tolerance)
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
        words = _said("decreasing", by=by, at_least=at_least, at_most=at_most, tolerance=tolerance)
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
        return self._with(replace(expectation, start=self._frozen(state, "from_")), _said("from_", state))

    def to(self, state: object) -> Change[S_co]:
        """Demand that the post-state equals `state`, by value; otherwise as for `from_`.

        The state must still have changed: one that was there before proves nothing about the action.
        """
        expectation = self._expectation
        if expectation.end is not UNREAD:
            raise DefinitionValueError(f"check {self.metric!r} has an end already: {self!r}")
        return self._with(replace(expectation, end=self._frozen(state, "to")), _said("to", state))

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


@overload
def change(metric: str, probe: Callable[..., Awaitable[S]]) -> Change[S]: ...
@overload
def change(metric: str, probe: Callable[..., S]) -> Change[S]: ...
def change(metric: str, probe: Callable[..., Any]) -> Change[Any]:
    """Claim that an action changes what `probe` reads.

    Alone it demands some change, by value; see the methods of `Change` for saying which.

    Args:
        metric: the name of what is read, `[A-Za-z0-9_.-]{1,64}`.
        probe: a callable that reads it; its parameters name what it needs of the action's parameters, or
            `causal_tag`. A coroutine function fits async actions.

    Raises:
        DefinitionTypeError: the probe is not callable, or the metric is not text.
        DefinitionValueError: the metric is not a valid name.

    Example:
        >>> from deltaspan import change, window
        >>> flows = ["a", "b"]
        >>> with window("create", change("flows", lambda: len(flows)).by(1)) as w:
        ...     flows.append("c")
        >>> w.report["flows"].passed
        True
    """
    return Change(metric, probe, ChangeExpectation(), (f"change({metric!r}, {_source(probe)})",))


def unchanged(metric: str, probe: Callable[..., Any]) -> Check[Any]:
    """Claim that an action leaves what `probe` reads as it was; arguments and errors as for `change`."""
    return Check(metric, probe, NoChange(), (f"unchanged({metric!r}, {_source(probe)})",))


def observe(metric: str, probe: Callable[..., Any]) -> Check[Any]:
    """Record what `probe` reads, before, after and the delta, and claim nothing; otherwise as `change`."""
    return Check(metric, probe, NoClaim(), (f"observe({metric!r}, {_source(probe)})",))


def _source(value: Any) -> str:
    if callable(value):
        name = getattr(value, "__qualname__", None)
        if isinstance(name, str) and name.isidentifier():
            return name
    return repr(value)


def _said(word: str, *operands: object, **options: object) -> str:
    said = [_source(operand) for operand in operands]
    said += [f"{name}={_source(option)}" for name, option in options.items() if option is not None]
    return f"{word}({', '.join(said)})"
