"""The operands that a run fills in: computed values, and predicates of the user."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Final, Protocol, TypeAlias

from deltaspan._callables import discard
from deltaspan._state.diff import Delta, for_predicate, identity
from deltaspan.expectations._base import States

DELTA: Final = "delta"
PRE_STATE: Final = "pre_state"
POST_STATE: Final = "post_state"

MEMBER: Final = "member"
KEY: Final = "key"
VALUE: Final = "value"
BEFORE: Final = "before"
"""The names that a predicate may use for one member of a collection, or one entry of a mapping."""


@dataclass(frozen=True, slots=True)
class Computed:
    """An operand that a callable computes in each run.

    Attributes:
        function: the callable. Its parameters name what it needs.
        word: the word of the check that takes it, for errors.
    """

    function: Callable[..., object]
    word: str = field(default="", compare=False)

    def __repr__(self) -> str:
        return "a computed value"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate of the user, which each run binds to its own values.

    Attributes:
        function: the callable. Its parameters name what it needs.
        word: `adding`, `removing` or `modifying` if it is asked about one entry of that kind. Empty if it is
            asked about a whole delta.
    """

    function: Callable[..., object]
    word: str = field(default="", compare=False)

    @property
    def is_of_entry(self) -> bool:
        """True if it is asked about one entry, not about a whole delta."""
        return bool(self.word)

    @property
    def name(self) -> str:
        """Its name in sentences: its own, if it has one."""
        name = getattr(self.function, "__name__", None)
        return name if isinstance(name, str) and name.isidentifier() else "the predicate"


Operand: TypeAlias = Computed | Predicate


class BoundPredicate:
    """A predicate bound to the values that its run has for it.

    It gets the values of the change when it is asked.

    Args:
        ask: calls the predicate with values by name.
        known: the values of the run for its parameters.
        names: the names of all its parameters.
        name: its name in sentences.
    """

    __slots__ = ("_answers", "_ask", "_known", "name", "names")

    def __init__(
        self,
        ask: Callable[[Mapping[str, Any]], object],
        known: Mapping[str, Any],
        names: Iterable[str] = (),
        name: str = "the predicate",
    ) -> None:
        self._ask = ask
        self._known = known
        self._answers: dict[Hashable, bool] = {}
        self.names = frozenset(names)
        self.name = name

    def holds(self, delta: Delta, states: States) -> bool:
        """Return the answer of the predicate.

        Errors of the predicate go on to the caller.
        """
        return self._answer({DELTA: for_predicate(delta), PRE_STATE: states[0], POST_STATE: states[1]})

    def holds_of(self, kind: str, entry: Any, given: Mapping[str, object]) -> bool:
        """Return the cached answer of the predicate about one entry.

        Args:
            kind: adding, removing or modifying.
            entry: a member, or the path of an entry.
            given: the values of the entry, by name.
        """
        key = (kind, identity(entry))
        if key not in self._answers:
            self._answers[key] = self._answer(given)
        return self._answers[key]

    def _answer(self, given: Mapping[str, object]) -> bool:
        answer = self._ask({**self._known, **given})
        if isawaitable(answer) or isinstance(answer, Generator | AsyncGenerator):
            discard(answer)
            raise TypeError("the predicate returned an awaitable or a generator; return the answer itself")
        return bool(answer)


class OperandValues(Protocol):
    """The values that one run has for the operands of an expectation."""

    def compute(self, operand: Computed) -> object:
        """Return the value of a computed operand, not yet frozen."""
        ...

    def bind(self, predicate: Predicate) -> BoundPredicate:
        """Return a predicate with the values of the run."""
        ...


def computed_if_callable(operand: Any, word: str) -> Any:
    """Return an operand of a word, as a Computed one if it is callable."""
    return Computed(operand, word) if callable(operand) else operand


def operands_in(*fields: object) -> tuple[Operand, ...]:
    """Return those of the fields that a run fills in."""
    return tuple(field for field in fields if isinstance(field, Computed | Predicate))
