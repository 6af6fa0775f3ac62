"""The entries of a delta: what was added, removed and modified, and its description."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal, TypeAlias

from deltaspan._state.diff import Delta, MappingDelta, SequenceDelta, SetDelta, TaggedDelta
from deltaspan._state.render import list_members, show_member, transition, with_noun

Kind: TypeAlias = Literal["adding", "removing", "modifying"]

KINDS: Final[tuple[Kind, ...]] = ("adding", "removing", "modifying")
PAST_TENSE: Final[dict[Kind, str]] = {"adding": "added", "removing": "removed", "modifying": "modified"}


def entries_of(delta: Delta) -> list[tuple[Kind, Collection[Any]]] | None:
    """Return the added, removed and modified entries of a delta by kind.

    They are paths of a mapping, or else members. The result is None if the states have no members.
    """
    match delta:
        case MappingDelta():
            return [("adding", delta.added), ("removing", delta.removed), ("modifying", delta.modified)]
        case SetDelta() | SequenceDelta():
            return [("adding", delta.added), ("removing", delta.removed)]
        case _:
            return None


def entry_words(kind: Kind, entries: Collection[Any], delta: Delta) -> str:
    """Describe the change of some entries of a delta: "added 'a', 'b'"."""
    noun = "row" if isinstance(delta, TaggedDelta) else "key" if isinstance(delta, MappingDelta) else "member"
    return f"{PAST_TENSE[kind]} {with_noun(noun, entry_names(kind, entries, delta), len(entries))}"


def entry_names(kind: Kind, entries: Collection[Any], delta: Delta) -> str:
    """List some entries of a delta. A modified entry is shown with both values."""
    if not isinstance(delta, MappingDelta):
        # The remaining members of a set have no order.
        return list_members(frozenset(entries) if isinstance(delta, SetDelta) else entries)
    if kind != "modifying":
        return list_members(entries, lambda path: show_member(path.member))
    modified = delta.modified

    def both(path: Any) -> str:
        before, after = modified[path]
        return f"{show_member(path.member)}{transition(before, after)}"

    return list_members(entries, both)
