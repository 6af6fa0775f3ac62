"""Whether the members that a sequence kept are still in their order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from typing import Final

from deltaspan._state.diff._init_part1 import SequenceDelta
from deltaspan._state.diff import identity
from deltaspan.expectations._base import Incomparable

__all__ = ["kept_order"]

_MAX_PAIRS: Final = 1_000_000
"""How many pairs of equal members are followed, beyond ten for each member; more would take minutes."""


def kept_order(delta: SequenceDelta) -> bool:
    """Return whether what was added and removed is all: the members that stayed follow one another as before.

    They do if the longest sequence that both states have in common holds all of them. Which of several equal
    members was removed is left open. It is found by patience sorting (Hunt and Szymanski, 1977).

    Raises:
        Incomparable: members repeat so often that the answer would take minutes.
    """
    kept = len(delta.before) - len(delta.removed)
    if not delta.before or not delta.after or kept == 0:
        return True
    places: dict[Hashable, list[int]] = {}
    for place, member in enumerate(delta.after):
        places.setdefault(identity(member), []).append(place)
    keys = [identity(member) for member in delta.before]
    pairs = sum(len(places.get(key, ())) for key in keys)
    if pairs > _MAX_PAIRS + 10 * (len(delta.before) + len(delta.after)):
        raise Incomparable(
            "members repeat too often to tell whether the rest kept its order",
            "say .allowing_others(), or let the probe return a set or a count",
        )
    ends: list[int] = []  # ends[n]: the first place at which a common sequence of n + 1 members can end
    for key in keys:
        for place in reversed(places.get(key, ())):
            at = bisect_left(ends, place)
            ends[at : at + 1] = [place]
    return len(ends) == kept
