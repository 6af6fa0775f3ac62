"""The movement that a predicate of the user judges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from deltaspan._guard import describe
from deltaspan._interrupts import let_through
from deltaspan._state.diff import Delta
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations._base import Movement, States
from deltaspan.expectations._operands import BoundPredicate, Operand, OperandValues, Predicate, operands_in


class PredicateRaised(Exception):
    """A predicate raised instead of answering.

    Args:
        message: the sentence for a person.
        error: the exception of the predicate, or None if it could not be asked.
    """

    def __init__(self, message: str, error: BaseException | None = None) -> None:
        super().__init__(message)
        self.error = error


@dataclass(frozen=True, slots=True)
class Satisfying(Movement):
    """A delta for which the predicate is true.

    Attributes:
        predicate: the user's predicate. In a run it is bound.
        description: the demand, in the user's words.
    """

    predicate: Predicate | BoundPredicate
    description: str

    def __post_init__(self) -> None:
        if isinstance(self.predicate, Predicate) and not callable(self.predicate.function):
            raise DefinitionTypeError(
                f"satisfying takes a predicate to be called, not {self.predicate.function!r}; "
                f"write .satisfying(lambda delta: ..., 'what it demands')"
            )
        if not isinstance(self.description, str):
            raise DefinitionTypeError(f"satisfying takes a description in words, not {self.description!r}")
        if not self.description.strip():
            raise DefinitionValueError(
                "satisfying needs a description, because a report can say nothing else about a predicate"
            )

    @property
    def admits_no_change(self) -> bool:
        return True

    @property
    def operands(self) -> Iterable[Operand]:
        return operands_in(self.predicate)

    def resolve(self, values: OperandValues) -> Satisfying:
        predicate = self.predicate
        return replace(self, predicate=values.bind(predicate)) if isinstance(predicate, Predicate) else self

    @property
    def verb(self) -> str:
        return f"satisfy {self.description!r}"

    @property
    def expected(self) -> str:
        return self.description

    def holds(self, delta: Delta, states: States) -> bool:
        if not isinstance(self.predicate, BoundPredicate):
            raise PredicateRaised(f"the predicate {self.description!r} was asked outside of a run")
        try:
            return self.predicate.holds(delta, states)
        except BaseException as error:
            let_through(error)
            raise PredicateRaised(
                f"the predicate {self.description!r} raised {describe(error)}", error
            ) from None

    def describe_deviation(self, delta: Delta, states: States) -> str | None:
        return self.happened(delta)
