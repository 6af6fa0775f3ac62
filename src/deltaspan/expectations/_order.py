"""The order of the members of a sequence that stayed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from typing import Final

from deltaspan._state.diff import Delta, SequenceDelta, identity
from deltaspan.expectations._base import Incomparable

_MAX_PAIRS: Final = 1_000_000
"""The most pairs of equal members, beyond ten for each member. More would take minutes."""


def kept_order(delta: Delta) -> bool:
    """Return whether the members that stayed are in the same order.

    The members of a set and the keys of a mapping have no order. Those of a sequence are in order if the
    longest common subsequence of both states contains all of them. Any of several equal members may be the
    one that was removed. The method is patience sorting (Hunt and Szymanski, 1977).

    Raises:
        Incomparable: members repeat so often that the answer would take minutes.
    """
    if not isinstance(delta, SequenceDelta):
        return True
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
