"""The deltas: one for each kind of state that can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from deltaspan._state.render import join_phrases, list_members, show, show_member, transition, with_noun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltaspan._state.snapshot import Path
    from deltaspan.typing import Number


class Delta(Protocol):
    """The computed difference of a baseline and a post-state."""

    @property
    def changed(self) -> bool:
        """True if the two states differ, by value."""
        ...

    @property
    def value(self) -> object:
        """The frozen value that a report shows as `actual_delta`."""
        ...

    @property
    def others_and_untagged(self) -> tuple[object, object] | None:
        """The frozen values that a report shows as `others` and `untagged`, or None.

        None if the states are not of tagged rows.
        """
        ...

    def words(self) -> str:
        """Describe the change, to follow "but it": `changed by 0`, `did not change`."""
        ...


class NumberDelta(NamedTuple):
    """The difference of two numbers, or of two points in time.

    Attributes:
        amount: post-state minus baseline, exact for all but floats.
        changed: whether the states differ. The amount is zero if and only if they do not.
    """

    amount: Number
    changed: bool

    @property
    def others_and_untagged(self) -> None:
        return None

    @property
    def value(self) -> object:
        return self.amount

    def words(self) -> str:
        return f"changed by {show(self.amount)}"


@dataclass(frozen=True, slots=True)
class ValueDelta:
    """The difference of two states that can only be compared as wholes.

    Attributes:
        changed: whether the states differ.
        how: a description of the change, or nothing.
    """

    changed: bool
    how: str = ""
    others_and_untagged: ClassVar[None] = None

    @property
    def value(self) -> object:
        return "changed" if self.changed else "no change"

    def words(self) -> str:
        return self.how or ("changed" if self.changed else "did not change")


@dataclass(frozen=True, slots=True)
class SetDelta:
    """The difference of two sets.

    Attributes:
        added: the members that only the post-state has.
        removed: the members that only the baseline has.
    """

    added: frozenset[object]
    removed: frozenset[object]
    others_and_untagged: ClassVar[None] = None

    @property
    def changed(self) -> bool:
        return bool(self.added or self.removed)

    @property
    def value(self) -> Mapping[str, frozenset[object]]:
        return MappingProxyType({"added": self.added, "removed": self.removed})

    def words(self) -> str:
        return _sentence(
            ("added", with_noun("member", list_members(self.added), len(self.added))),
            ("removed", with_noun("member", list_members(self.removed), len(self.removed))),
        )


@dataclass(frozen=True, slots=True)
class MappingDelta:
    """The difference of two mappings, and of the mappings and sequences within them.

    Entries are keyed by their Path, the tuple of original keys. Where both states hold a mapping at a key,
    the entries within are compared instead. Where both hold a sequence, its items are: a removed item is
    named by its index in the baseline, all else by the index in the post-state. Anything else is one entry
    with its whole value: an added document is one added entry.

    Attributes:
        added: path → value, of entries that only the post-state has.
        removed: path → value, of entries that only the baseline has.
        modified: path → (value in the baseline, value in the post-state), of entries that both have.
    """

    added: Mapping[Path, object]
    removed: Mapping[Path, object]
    modified: Mapping[Path, tuple[object, object]]

    @property
    def others_and_untagged(self) -> tuple[object, object] | None:
        return None

    @property
    def changed(self) -> bool:
        return bool(self.added or self.removed or self.modified)

    @property
    def nested(self) -> bool:
        """True if an entry lies below the top level.

        If it is False, original keys name all entries.
        """
        return any(len(path) > 1 for kind in (self.added, self.removed, self.modified) for path in kind)

    @property
    def value(self) -> object:
        # Within one delta keys are all original or all text, so that a key "a/b" is not taken for a path.
        flat = not self.nested
        return MappingProxyType(
            {
                name: MappingProxyType(
                    {(path[0] if flat else path.text): item for path, item in entries.items()}
                )
                for name, entries in (
                    ("added", self.added),
                    ("removed", self.removed),
                    ("modified", self.modified),
                )
            }
        )

    def words(self, noun: str = "key") -> str:
        return _sentence(
            ("added", with_noun(noun, list_members(self.added, _member), len(self.added))),
            ("removed", with_noun(noun, list_members(self.removed, _member), len(self.removed))),
            ("modified", with_noun(noun, list_members(self.modified.items(), _modified), len(self.modified))),
        )


def _member(path: Path) -> str:
    return show_member(path.member)


def _modified(entry: tuple[Path, tuple[object, object]]) -> str:
    path, (before, after) = entry
    return f"{show_member(path.member)}{transition(before, after)}"


@dataclass(frozen=True, slots=True)
class SequenceDelta:
    """The difference of two sequences, which have an order and may have duplicates.

    Between their common beginning and their common end, one stretch differs. The members of that stretch give
    the added and the removed members, each as often as the two states differ in it, in order.

    Attributes:
        added: members that the post-state has more often, in its order.
        removed: members that the baseline had more often, in its order.
        before: the stretch of the baseline that differs.
        after: the stretch of the post-state in its place.
        tail: the number of members that follow the stretch in both.
    """

    added: tuple[object, ...]
    removed: tuple[object, ...]
    before: tuple[object, ...]
    after: tuple[object, ...]
    tail: int
    others_and_untagged: ClassVar[None] = None

    @property
    def changed(self) -> bool:
        return bool(self.before or self.after)

    @property
    def appended(self) -> tuple[object, ...]:
        """The members that follow the baseline.

        It is empty unless the post-state begins with all of the baseline.
        """
        return () if self.before or self.tail else self.after

    @property
    def reordered(self) -> bool:
        """True if the same members, each as often, are in another order."""
        return self.changed and not self.added and not self.removed

    @property
    def value(self) -> Mapping[str, object]:
        return MappingProxyType({"added": self.added, "removed": self.removed, "reordered": self.reordered})

    def words(self) -> str:
        if self.reordered:
            return "reordered its members"
        return _sentence(
            (
                "appended" if self.appended else "added",
                with_noun("member", list_members(self.added), len(self.added)),
            ),
            ("removed", with_noun("member", list_members(self.removed), len(self.removed))),
        )


def _sentence(*kinds: tuple[str, str]) -> str:
    """Join the changes of members: "added 'a', removed 'b' and modified 'c'"."""
    return join_phrases(f"{verb} {members}" for verb, members in kinds if members) or "did not change"
