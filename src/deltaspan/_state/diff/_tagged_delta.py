"""The delta of rows with causal tags, split by the run that wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from deltaspan._state.diff._deltas import MappingDelta
from deltaspan._state.render import join_phrases

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deltaspan._state.diff._deltas import Delta
    from deltaspan._state.snapshot import Path

V = TypeVar("V")

_WITH_ROOT: Final = 2
_WITH_CONTENT: Final = 3
"""The number of items in the value of a row: tag and root, or tag, root and fingerprint."""


class Ownership(Protocol):
    """Decides which rows a run is credited with."""

    def is_ours(self, tag: str | None, root: str | None) -> bool | None:
        """Return whether a row with this tag and root is this run's.

        Rows of descendants are the run's too.

        The result is None if this process cannot tell.
        """
        ...


@dataclass(frozen=True, slots=True)
class TaggedDelta(MappingDelta):
    """The difference of two tagged states.

    As a mapping's delta it contains the run's own entries alone.

    Attributes:
        others: the entries with the tag of another run.
        untagged: the entries without a tag, the removed entries that were not this run's, and the entries
            with the tag of a process of this run whose own run is not known.
        counted: whether rows are counted, rather than named.
    """

    others: MappingDelta
    untagged: MappingDelta
    counted: bool

    @property
    def mine(self) -> MappingDelta:
        """The entries with the tag of this run, or of a descendant."""
        return MappingDelta(self.added, self.removed, self.modified)

    @property
    def amount(self) -> int:
        """The number of this run's rows by which the state grew."""
        return _amount(self)

    @property
    def value(self) -> object:
        return self._valued(self)

    @property
    def others_and_untagged(self) -> tuple[object, object]:
        return self._valued(self.others), self._valued(self.untagged)

    @property
    def shares(self) -> str:
        """The changes by writer: "1 added by this run, 39 by others"."""
        others, untagged = _changes(self.others), _changes(self.untagged)
        text = f"{_count_by_kind(self) or 'none'} by this run"
        text += f", {others} by others" if others else ""
        return f"{text}, {untagged} untagged" if untagged else text

    @property
    def tally(self) -> str:
        """The shares, with a hint about unsigned rows."""
        shares, unattributable = self.shares, self.unattributable
        mine, untagged = _changes(self), _changes(self.untagged)
        unknown = len(unattributable.added) + len(unattributable.modified)
        hints = []
        if unattributable.removed:
            hints.append("what was removed does not say by whom")
        if unknown:
            hints.append(f"{unknown} of this run, by a process that this one does not know")
        if untagged > _changes(unattributable) and not mine:
            hints.append("did the stamp run? What this run writes must carry its causal tag")
        return f"{shares}: {', and '.join(hints)}" if hints else shares

    @property
    def unattributable(self) -> MappingDelta:
        """The untagged changes that no stamp could have attributed.

        A row that is gone has no tag, and the run of an unknown process is not known.
        """
        untagged = self.untagged
        return MappingDelta(
            _select(untagged.added, lambda _, after: _stamp(after)[0] is not None),
            untagged.removed,
            _select(untagged.modified, lambda _, both: _stamp(both[1])[0] is not None and not _is_kept(both)),
        )

    @property
    def unsigned(self) -> MappingDelta:
        """The untagged changes of rows that no run signed.

        Such a row is gone, has no tag, or kept an older one.
        """
        untagged = self.untagged
        return MappingDelta(
            _select(untagged.added, lambda _, after: _stamp(after)[0] is None),
            untagged.removed,
            _select(untagged.modified, lambda _, both: _stamp(both[1])[0] is None or _is_kept(both)),
        )

    @property
    def overwritten(self) -> Mapping[Path, tuple[object, object]]:
        """The entries that had another tag, or none, and are this run's now."""
        return _select(self.modified, lambda _, both: _stamp(both[0])[0] != _stamp(both[1])[0])

    def credited(self, part: MappingDelta) -> TaggedDelta:
        """Return the delta with a part of the untagged changes credited to this run."""
        rest = MappingDelta(
            _select(self.untagged.added, lambda path, _: path not in part.added),
            _select(self.untagged.removed, lambda path, _: path not in part.removed),
            _select(self.untagged.modified, lambda path, _: path not in part.modified),
        )
        mine = merged(self.mine, part)
        return TaggedDelta(mine.added, mine.removed, mine.modified, self.others, rest, self.counted)

    def words(self, noun: str = "row") -> str:
        return f"changed by {self.amount}" if self.counted else MappingDelta.words(self, noun)

    def _valued(self, part: MappingDelta) -> object:
        if self.counted:
            return _amount(part)
        return MappingDelta(part.added, part.removed, part.modified).value


def split(delta: Delta, ownership: Ownership, *, counted: bool) -> Delta:
    """Split the delta of two tagged states by the writers of the rows.

    A delta of other states is returned unchanged.

    Args:
        delta: the difference of two mappings of key → tag, key → (tag, root), or key → (tag, root,
            fingerprint).
        ownership: says which rows are the run's.
        counted: whether rows are counted, rather than named.
    """
    if not isinstance(delta, MappingDelta):
        return delta
    mine, others, untagged = _Entries(), _Entries(), _Entries()

    def part_of(value: object) -> _Entries:
        is_ours = ownership.is_ours(*_stamp(value))
        if is_ours is None:
            return untagged
        return mine if is_ours else others

    for path, after in delta.added.items():
        part_of(after).added[path] = _without_content(after)
    for path, before in delta.removed.items():
        # The tag of a removed row does not say who removed it.
        (mine if part_of(before) is mine else untagged).removed[path] = _without_content(before)
    for path, both in delta.modified.items():
        part = part_of(both[1])
        # If a row kept the tag of another run, its content changed without a new tag.
        stamps = (_without_content(both[0]), _without_content(both[1]))
        (untagged if part is others and _is_kept(stamps) else part).modified[path] = stamps
    return TaggedDelta(*mine.views, MappingDelta(*others.views), MappingDelta(*untagged.views), counted)


def merged(one: MappingDelta, other: MappingDelta) -> MappingDelta:
    """Return the entries of two parts of one delta."""
    return MappingDelta(
        MappingProxyType({**one.added, **other.added}),
        MappingProxyType({**one.removed, **other.removed}),
        MappingProxyType({**one.modified, **other.modified}),
    )


class _Entries:
    """The entries of one part of the delta, while it is being split."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: dict[Path, object] = {}
        self.removed: dict[Path, object] = {}
        self.modified: dict[Path, tuple[object, object]] = {}

    @property
    def views(self) -> tuple[Mapping[Path, Any], Mapping[Path, Any], Mapping[Path, Any]]:
        return (
            MappingProxyType(self.added),
            MappingProxyType(self.removed),
            MappingProxyType(self.modified),
        )


def _stamp(value: Any) -> tuple[str | None, str | None]:
    if isinstance(value, tuple) and len(value) in (_WITH_ROOT, _WITH_CONTENT):
        return _text(value[0]), _text(value[1])
    return _text(value), None


def without_contents(state: Any) -> Any:
    """Return the state without the fingerprints of rows.

    A fingerprint of few possible contents would reveal them.
    """
    if not isinstance(state, MappingProxyType):
        return state
    return MappingProxyType({key: _without_content(value) for key, value in state.items()})


def _without_content(value: object) -> object:
    """Return tag, or tag and root, of a row without its fingerprint."""
    if isinstance(value, tuple) and len(value) == _WITH_CONTENT:
        return value[0] if value[1] is None else value[:_WITH_ROOT]
    return value


def _is_kept(both: tuple[object, object]) -> bool:
    """Return whether a changed row kept its stamp.

    Then only its content changed.
    """
    return both[0] == both[1]


def _text(tag: Any) -> str | None:
    return tag if tag is None or isinstance(tag, str) else str(tag)


def _select(entries: Mapping[Path, V], keep: Callable[[Path, V], bool]) -> Mapping[Path, V]:
    return MappingProxyType({path: item for path, item in entries.items() if keep(path, item)})


def _amount(part: MappingDelta) -> int:
    return len(part.added) - len(part.removed)


def _count_by_kind(part: MappingDelta) -> str:
    """Count the changes of rows, kind by kind.

    One added and one overwritten row are two changes, though the size grows by one.
    """
    counts = (("added", part.added), ("removed", part.removed), ("modified", part.modified))
    return join_phrases(f"{len(entries)} {kind}" for kind, entries in counts if entries)


def _changes(part: MappingDelta) -> int:
    return len(part.added) + len(part.removed) + len(part.modified)
