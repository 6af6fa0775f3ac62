"""The deltas that predicates receive: plain values under plain keys.

`deltaspan.typing` declares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from deltaspan._state.diff._deltas import Delta, MappingDelta, NumberDelta
from deltaspan._state.diff._tagged_delta import TaggedDelta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltaspan._state.snapshot import Path


@dataclass(frozen=True, slots=True)
class _Entries:
    """The changes in a mapping, as `deltaspan.typing.EntriesDelta` declares them."""

    added: Mapping[Any, Any]
    removed: Mapping[Any, Any]
    modified: Mapping[Any, tuple[Any, Any]]

    @property
    def changed(self) -> bool:
        return bool(self.added or self.removed or self.modified)


@dataclass(frozen=True, slots=True)
class _Rows(_Entries):
    """The changes in tagged rows, as `deltaspan.typing.RowsDelta` declares them."""

    amount: int
    others: _Entries
    untagged: _Entries


def for_predicate(delta: Delta) -> Any:
    """Return a delta as a predicate receives it.

    That is the amount of a number, and a record of the changes of anything else.
    """
    match delta:
        case NumberDelta():
            return delta.amount
        case TaggedDelta():
            mine, others, untagged = map(_entries, (delta.mine, delta.others, delta.untagged))
            return _Rows(mine.added, mine.removed, mine.modified, delta.amount, others, untagged)
        case MappingDelta():
            return _entries(delta)
        case _:
            return delta


def _entries(delta: MappingDelta) -> _Entries:
    return _Entries(_by_name(delta.added), _by_name(delta.removed), _by_name(delta.modified))


def _by_name(entries: Mapping[Path, Any]) -> Mapping[Any, Any]:
    """Key each entry by its key, or below the top level by its path."""
    named = {path.member: item for path, item in entries.items()}
    if len(named) < len(entries):
        # A key "a/b" beside the entry b of a: in the text of a path the `/` of a key is `~1`.
        named = {path.text if isinstance(path[0], str) else path.member: entries[path] for path in entries}
    return MappingProxyType(named)
