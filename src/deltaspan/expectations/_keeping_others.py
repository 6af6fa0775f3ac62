"""Judgement of rows of others in a table that several runs write to.

The action may change its own rows, and none of theirs.

Rows that carry the tag of another run are credited to that run. Changes that no run signed are held against
the action: a row that is gone, a row without a tag, a changed row that kept its tag.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from deltaspan._state.diff import MappingDelta, TaggedDelta, merged
from deltaspan._state.render import join_phrases, list_members, show_member
from deltaspan.expectations._base import Movement
from deltaspan.expectations._members import Members
from deltaspan.expectations._only import Only

_NONE: Final[Mapping[Any, Any]] = MappingProxyType({})

NO_ROWS: Final = MappingDelta(_NONE, _NONE, _NONE)


def removals_of_others(movement: Movement, delta: TaggedDelta) -> MappingDelta:
    """Return the missing rows of others that the action claims to have removed."""
    gone = delta.unsigned.removed
    claimed: Any = ()
    if isinstance(movement, Members) and movement.removing is not None:
        claimed = movement.removing.matching(delta.removed, gone)
    elif isinstance(movement, Only):
        claimed = movement.within(gone)
    return MappingDelta(_NONE, MappingProxyType({path: gone[path] for path in claimed}), _NONE)


def changes_of_kept_rows(movement: Movement, delta: TaggedDelta) -> MappingDelta:
    """Return the changes of kept rows, and new rows without a tag.

    Args:
        movement: the claim about the action's own rows. Words that name rows decide which rows of others the
            action may take over.
        delta: the delta without ignored rows, with claimed removals credited.
    """
    if isinstance(movement, Members | Only):
        return delta.unsigned
    return merged(delta.unsigned, MappingDelta(_NONE, _NONE, delta.overwritten))


def without_unsigned(delta: TaggedDelta) -> TaggedDelta:
    """Return the delta without the changes that no run signed."""
    credited = delta.credited(delta.unsigned)
    return TaggedDelta(
        delta.added, delta.removed, delta.modified, delta.others, credited.untagged, delta.counted
    )


def kept_sentence(
    metric: str, demand: str, happened: str, delta: TaggedDelta, collateral: MappingDelta, *, holds: bool
) -> str:
    """Build the sentence of a check that keeps other rows.

    It says what was expected, what happened to whose rows, and what helps.

    Args:
        metric: the name of the state.
        demand: the words that follow "expected … to".
        happened: the words that follow the metric, or "but it".
        delta: the delta.
        collateral: the part of the delta that is held against the action beside its claim.
        holds: whether the whole delta is as expected.
    """
    if holds:
        return f"{metric} {happened} and kept other rows, as expected; {delta.shares}"
    text = f"expected {metric} to {demand}, keeping other rows, but it {happened}; {delta.shares}"
    unsigned = delta.unsigned
    if not delta.mine.changed and (unsigned.added or unsigned.modified):
        return f"{text}; did the stamp run? What this run writes must carry its causal tag"
    if unsigned.changed and collateral.changed:
        return (
            f"{text}; no other run is known to have written there meanwhile: if another writer did, let "
            f"it stamp what it writes, narrow what the probe reads, or leave such rows out with "
            f".ignoring(...)"
        )
    return text


def collateral_words(delta: MappingDelta) -> str:
    """Describe the changes of other rows.

    An example is "removed row 7, overwrote row 8 and added row 9 without a tag".
    """
    phrases = []
    if delta.removed:
        phrases.append(f"removed {_rows(delta.removed)}")
    if delta.modified:
        phrases.append(f"overwrote {_rows(delta.modified)}")
    if delta.added:
        phrases.append(f"added {_rows(delta.added)} without a tag")
    return join_phrases(phrases)


def _rows(paths: Mapping[Any, Any]) -> str:
    named = list_members(list(paths), lambda path: show_member(path.member))
    return f"{'row' if len(paths) == 1 else 'rows'} {named}"
