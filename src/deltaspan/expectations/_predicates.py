"""A movement that a predicate of the user's own judges."""

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
        fact: the sentence for a person.
        error: what it raised; None when it could not be asked.
    """

    def __init__(self, fact: str, error: BaseException | None = None) -> None:
        super().__init__(fact)
        self.error = error


@dataclass(frozen=True, slots=True)
class Satisfying:
    """A delta that the predicate finds true.

    Attributes:
        predicate: what the user wrote; a BoundPredicate once its run is known.
        description: what it demands, in the user's words.
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
                "satisfying needs a description: it is all that a report can say of a predicate"
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
