"""The interfaces of expectations and movements, and the sentences that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from deltaspan._state.diff import Delta, MappingDelta, NumberDelta, SequenceDelta, SetDelta, is_number
from deltaspan._state.render import describe_kinds, transition
from deltaspan._state.snapshot import MAPPINGS
from deltaspan._verdicts import Explained, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltaspan.expectations._ignoring import Ignored
    from deltaspan.expectations._operands import Operand, OperandValues

States: TypeAlias = tuple[object, object]
"""Baseline and post-state, frozen."""


class Expectation(Explained, Protocol):
    """A named comparison that a delta must satisfy."""

    @property
    def movement(self) -> Movement | None:
        """The movement that is demanded, or None."""
        ...

    @property
    def ignored(self) -> Ignored:
        """The members that are left out before anything is judged. The default is NOTHING_IGNORED."""
        ...

    @property
    def operands(self) -> Iterable[Operand]:
        """The operands that a run fills in."""
        ...

    def resolve(self, values: OperandValues) -> Expectation:
        """Return the expectation with the values of one run for its operands.

        Raises:
            DefinitionError: the expectation does not take a value.
            Unfreezable: a value cannot be compared as a state.
        """
        ...

    def judge(self, delta: Delta, pre_state: object, post_state: object) -> Verdict:
        """Return the verdict on one delta.

        It never raises, whatever the states are.
        """
        ...


class Movement(ABC):
    """A demand on the movement of a state between its start and its end."""

    __slots__ = ()

    @property
    def verb(self) -> str:
        """The verb of the demand: `change`, `increase`, `decrease` or `satisfy`."""
        return "change"

    @property
    def extent(self) -> str:
        """The amount of the movement, in words that follow the verb.

        An example is `by at least 1`. It may be empty.
        """
        return ""

    @property
    def expected(self) -> object:
        """The value that a report shows as `expected_delta`.

        If it is None, the report shows the start and the end that the check demands.
        """
        return self.extent

    @property
    def admits_no_change(self) -> bool:
        """True if an unchanged state may satisfy the movement.

        It is also true while an operand is not computed yet, because its value may allow that.
        """
        return False

    @property
    def allows_others(self) -> bool:
        """True if members that are not declared may change too."""
        return False

    @property
    def operands(self) -> Iterable[Operand]:
        """The operands that a run fills in."""
        return ()

    def resolve(self, values: OperandValues) -> Movement:
        """Return the movement with the values of one run for its operands.

        Raises:
            DefinitionError: the movement does not take a value.
            Unfreezable: a value cannot be compared as a state.
        """
        return self

    @abstractmethod
    def holds(self, delta: Delta, states: States) -> bool:
        """Return whether the delta is such a movement.

        Raises:
            Incomparable: the movement cannot judge a delta of this kind.
            NothingClaimed: the whole demand was computed as nothing.
        """

    def happened(self, delta: Delta) -> str:
        """Describe the change, to follow the name of the state."""
        return delta.words() if delta.changed else "did not change"

    def describe_deviation(self, delta: Delta, states: States) -> str | None:
        """Describe the deviation, to follow "but it", or return None.

        It is called only with a delta that was judged already. It calls no predicate a second time.
        """
        return None if self.holds(delta, states) else self.happened(delta)


class Incomparable(Exception):
    """The two states cannot be compared in the way that the expectation asks.

    Args:
        problem: the reason, to be followed by the states.
        hint: the word to use, or the value to return, instead.
    """

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.hint = hint

    def sentence(self, states: States) -> str:
        """Return the whole sentence."""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self}, but the states were {describe_kinds(*states)}{hint}"


class NothingClaimed(Exception):
    """A change was claimed, but the computed operands name none.

    No delta could tell whether that was meant.

    Args:
        computed: the computed demand, in words.
    """

    def __init__(self, computed: str) -> None:
        super().__init__(
            f"a change was claimed and none was named: what was computed is {computed}; "
            f"use unchanged(...) to claim that nothing changes"
        )


def sentence(metric: str, demand: str, happened: str, states: States, *, holds: bool, held: str = "") -> str:
    """Build the sentence of a check, in the same way for each family.

    Args:
        metric: the name of the state.
        demand: the words that follow "expected … to".
        happened: the words that follow "but it".
        states: baseline and post-state.
        holds: whether the demand was met.
        held: a clause that says that the demand was met before the action, or nothing.
    """
    both = transition(*states)
    if held:
        both = f"{both}; {held}"
    if holds:
        return f"{metric} {happened}, as expected{both}"
    return f"expected {metric} to {demand}, but it {happened}{both}"


_Need = Literal["a number", "a collection", "a mapping"]

_COLLECTIONS: Final = (frozenset, tuple, *MAPPINGS)


def wrong_kind(word: str, need: _Need, delta: Delta, states: States) -> Incomparable:
    """Build the error for a delta of the wrong kind.

    It says what to write or to return instead.

    Args:
        word: the word of the check, as it is written.
        need: the kind of state that the word needs.
        delta: the delta that was to be judged.
        states: baseline and post-state.
    """
    hint = (_instead_of_number if need == "a number" else _instead_of_members)(word, delta, states)
    return Incomparable(f"{word} needs {need} before and after the action", hint)


def _instead_of_number(_word: str, delta: Delta, states: States) -> str:
    if isinstance(delta, MappingDelta):
        return "use .resizing(n) for its size, or .by({key: n}) for the numbers in it"
    if isinstance(delta, SetDelta | SequenceDelta) or all(isinstance(s, _COLLECTIONS) for s in states):
        return "use .resizing(n) for its size"
    if all(_subtracts(state) for state in states):
        return ""  # their kinds do not subtract, or they are too far apart
    if all(state is None or _subtracts(state) for state in states):
        return "let the probe return 0 where there is nothing to count"
    return "use .from_(...) or .to(...) for a state that is not a number"


def _instead_of_members(word: str, delta: Delta, states: States) -> str:
    if isinstance(delta, SetDelta | SequenceDelta):
        if word == "modifying":
            return "its members have no keys: use .adding(...) and .removing(...)"
        return "use .resizing(n) for its size"
    if isinstance(delta, NumberDelta) or all(_subtracts(state) for state in states):
        return "use .by(n) for a number"
    members = [state for state in states if isinstance(state, _COLLECTIONS)]
    if len(members) == len(states):
        kinds = {type(state) for state in states}
        return "let the probe return the same kind of collection both times" if len(kinds) > 1 else ""
    if None in states and members:
        return "let the probe return an empty collection where there is none"
    return "use .from_(...) or .to(...) for a state without members"


def _subtracts(state: object) -> bool:
    return is_number(state) or isinstance(state, date | timedelta)
