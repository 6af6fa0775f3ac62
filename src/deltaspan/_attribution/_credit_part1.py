"""Whether a movement may have taken place, where some of what changed cannot say who changed it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from deltaspan._state.diff._init_part1 import Delta, MappingDelta, NumberDelta, Path, TaggedDelta
from deltaspan.expectations._numbers import is_of_numbers
from deltaspan.expectations._base import Incomparable, Movement, NothingClaimed, States
from deltaspan.expectations._members import Members, Named
from deltaspan.expectations._only import Only
from deltaspan.expectations._predicates import PredicateRaised
from deltaspan.expectations._members_part1 import Resizing

__all__ = ["could_hold", "holds"]


def holds(movement: Movement, delta: Delta, states: States) -> bool:
    """Return whether a delta that might have been is such a movement; what cannot be judged is not."""
    try:
        return movement.holds(delta, states)
    except (Incomparable, NothingClaimed, PredicateRaised):
        return False


def could_hold(movement: Movement, delta: TaggedDelta, states: States) -> bool:
    """Return whether the movement holds if none, some or all of what is mute were mine.

    Where words name or count rows, the part of it that would serve them is looked for: others may have done
    the rest. A predicate is asked about none of it and all of it.
    """
    mute = delta.mute
    fewest, most = delta.amount - len(mute.removed), delta.amount + len(mute.added)
    if isinstance(movement, Resizing):
        return bool(fewest <= movement.amount <= most)
    if is_of_numbers(movement):
        amounts = range(fewest, most + 1)
        return any(holds(movement, NumberDelta(amount, amount != 0), states) for amount in amounts)
    if isinstance(movement, Members):
        serving = MappingDelta(
            _fitting(movement.adding, delta.added, mute.added),
            _fitting(movement.removing, delta.removed, mute.removed),
            _fitting(movement.modifying, delta.modified, mute.modified),
        )
        return holds(movement, delta.credited(serving), states)
    if isinstance(movement, Only):
        within = (_of(each, movement.within(each)) for each in (mute.added, mute.removed, mute.modified))
        return holds(movement, delta.credited(MappingDelta(*within)), states)
    return holds(movement, delta, states) or (mute.changed and holds(movement, delta.credited(mute), states))


def _fitting(
    named: Named | None, entries: Mapping[Path, Any], more: Mapping[Path, Any]
) -> Mapping[Path, Any]:
    return _of(more, [] if named is None else named.fitting(entries, more))


def _of(entries: Mapping[Path, Any], paths: Collection[Path]) -> Mapping[Path, Any]:
    return MappingProxyType({path: entries[path] for path in paths})
