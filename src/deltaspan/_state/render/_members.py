"""Lists of members in a sentence, with a count of the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from heapq import nsmallest
from itertools import islice
from typing import Any, Final

from deltaspan._interrupts import let_through
from deltaspan._state.render._render import show

_MAX_NAMED: Final = 5
"""The most members that are named. The rest are counted."""

_MAX_MEMBER_CHARS: Final = 60


def show_member(member: object) -> str:
    """Return one member as it reads in a sentence."""
    return show(member, _MAX_MEMBER_CHARS)


def list_members(members: Collection[Any], show_one: Callable[[Any], str] = show_member) -> str:
    """Join the first members and count the rest: "'a', 'b' and 12 more".

    Args:
        members: the members, in order. A set has no order, so its smallest members are named.
        show_one: writes one member.
    """
    text = ", ".join(map(show_one, _first(members)))
    more = len(members) - _MAX_NAMED
    return f"{text} and {more} more" if more > 0 else text


def join_phrases(phrases: Iterable[str]) -> str:
    """Join phrases into one: "a, b and c"."""
    parts = list(phrases)
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if parts[1:] else "".join(parts)


def _first(members: Collection[Any]) -> Iterable[Any]:
    if not isinstance(members, set | frozenset):
        return islice(members, _MAX_NAMED)
    try:
        return nsmallest(_MAX_NAMED, members)
    except Exception as error:
        let_through(error)
        return nsmallest(_MAX_NAMED, members, key=show_member)
