"""What an expectation is, and the one way in which its sentences are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar

from deltaspan._deltas import Delta
from deltaspan._freeze import freeze
from deltaspan._records import Verdict
from deltaspan._render import show
from deltaspan.exceptions import DefinitionTypeError

__all__ = ["Expectation", "Explained", "Movement", "computed_operands", "sentence", "with_operands"]

D = TypeVar("D")


class Explained(Protocol):
    """What a report needs of an expectation once its verdict is known."""

    @property
    def expected(self) -> object:
        """What a report shows as `expected_delta`: the value for `by`, else words."""
        ...

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        """Return the sentence: what was expected, what happened, both states."""
        ...


class Expectation(Explained, Protocol):
    """A named comparison that a delta must satisfy."""

    def judge(self, delta: Delta, pre_state: object, post_state: object) -> Verdict:
        """Return the verdict on one delta; never raises for any state."""
        ...


class Movement(Protocol):
    """How a state must have moved between its start and its end."""

    @property
    def verb(self) -> str:
        """`change`, `increase` or `decrease`."""
        ...

    @property
    def extent(self) -> str:
        """How far, in words that follow the verb: `by at least 1`, or nothing."""
        ...

    @property
    def expected(self) -> object:
        """As for Expectation, or None when the movement adds nothing to a start and an end."""
        ...

    def holds(self, delta: Delta) -> bool:
        """Return whether the delta is such a movement.

        Raises:
            Incomparable: the delta is of a kind that this movement cannot judge.
        """
        ...

    def happened(self, delta: Delta) -> str:
        """Say what happened instead, to follow "but it"."""
        ...


class Incomparable(Exception):
    """The two states cannot be compared in the way that the expectation asks."""


def sentence(metric: str, demand: str, happened: str, states: tuple[object, object], *, holds: bool) -> str:
    """Put one sentence together, the same way for each family.

    Args:
        metric: the name of what was measured.
        demand: what follows "expected … to".
        happened: what follows "but it".
        states: baseline and post-state.
        holds: whether the demand was met.
    """
    both = f"({show(states[0])} → {show(states[1])})"
    if holds:
        return f"{metric} {happened}, as expected {both}"
    return f"expected {metric} to {demand}, but it {happened} {both}"


def computed_operands(expectation: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield path and callable of each operand that is computed from the run, nested parts included."""
    for field in fields(expectation):
        operand = getattr(expectation, field.name)
        if _is_part(operand):
            yield from ((f"{field.name}.{path}", call) for path, call in computed_operands(operand))
        elif callable(operand):
            yield field.name, operand


def with_operands(expectation: D, values: dict[str, object]) -> D:
    """Return the expectation with computed operands replaced by their values, validated as at construction.

    Args:
        expectation: one with computed operands.
        values: what was computed, by the paths that `computed_operands` gave.

    Raises:
        DefinitionError: a value is not what the expectation takes.
        Unfreezable: a value is not a state that could be compared.
    """
    own = {path: _settled(value) for path, value in values.items() if "." not in path}
    for field in fields(expectation):  # type: ignore[arg-type]  # every expectation is a dataclass
        inner = {p.partition(".")[2]: v for p, v in values.items() if p.startswith(field.name + ".")}
        if inner:
            own[field.name] = with_operands(getattr(expectation, field.name), inner)
    return replace(expectation, **own)  # type: ignore[type-var]


def _settled(value: object) -> object:
    if callable(value):
        raise DefinitionTypeError(f"it computed {show(value)}, which is to be called again; return the value")
    return freeze(value)


def _is_part(operand: object) -> bool:
    return hasattr(type(operand), "__dataclass_fields__")
