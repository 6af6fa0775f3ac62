"""The movement that a predicate of the user judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from deltaspan._guard import describe
from deltaspan._interrupts import let_through
from deltaspan._state.diff import Delta
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations._base import States
from deltaspan.expectations._computed import BoundPredicate

__all__ = ["PredicateRaised", "Satisfying"]


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
class Satisfying:
    """A delta for which the predicate is true.

    Attributes:
        predicate: the user's predicate. In a run it is a BoundPredicate.
        description: the demand, in the user's words.
    """

    predicate: Any
    description: str

    def __post_init__(self) -> None:
        if not callable(self.predicate) and not isinstance(self.predicate, BoundPredicate):
            raise DefinitionTypeError(
                f"satisfying takes a predicate to be called, not {self.predicate!r}; "
                f"write .satisfying(lambda delta: ..., 'what it demands')"
            )
        if not isinstance(self.description, str):
            raise DefinitionTypeError(f"satisfying takes a description in words, not {self.description!r}")
        if not self.description.strip():
            raise DefinitionValueError(
                "satisfying needs a description, because a report can say nothing else about a predicate"
            )

    admits_none: ClassVar[bool] = True

    @property
    def verb(self) -> str:
        return f"satisfy {self.description!r}"

    @property
    def extent(self) -> str:
        return ""

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

    def happened(self, delta: Delta) -> str:
        return delta.words() if delta.changed else "did not change"

    def fault(self, delta: Delta, states: States) -> str | None:
        return self.happened(delta)
