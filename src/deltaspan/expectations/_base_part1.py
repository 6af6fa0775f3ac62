"""When a word does not fit what it is said of: the sentence that names the word that does."""

from __future__ import annotations

from datetime import date, timedelta
from types import MappingProxyType
from typing import Final, Literal

from deltaspan._state.diff._init_part1 import Delta, MappingDelta, NumberDelta, SequenceDelta, SetDelta
from deltaspan._state.diff._numbers import is_number
from deltaspan.expectations._base import Incomparable, States

__all__ = ["unfit"]

_Need = Literal["a number", "a collection", "a mapping"]

_COLLECTIONS: Final = (frozenset, tuple, MappingProxyType)


def unfit(word: str, need: _Need, delta: Delta, states: States) -> Incomparable:
    """Return the refusal to judge a delta of the wrong kind, with what to say or to return instead.

    Args:
        word: the word that was said, as it is written.
        need: what it needs before and after the action.
        delta: what it was said of.
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
        return ""  # of kinds, or too far apart, to subtract from one another
    if all(state is None or _subtracts(state) for state in states):
        return "let the probe return 0 where there is nothing to count"
    return "use .from_(...) or .to(...) for a state that is no number"


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
