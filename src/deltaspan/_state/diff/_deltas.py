"""The protocol of a delta, and the two deltas of states that have no members."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from heapq import nsmallest
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Protocol

from deltaspan._interrupts import let_through
from deltaspan._state.diff._numbers import subtract
from deltaspan._state.render import show, transition, with_noun

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltaspan.typing import Number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deltaspan._state.snapshot import Path
    from deltaspan.typing import Number

__all__ = [
    "Delta",
    "MappingDelta",
    "NumberDelta",
    "SequenceDelta",
    "SetDelta",
    "ValueDelta",
]


class Delta(Protocol):
    """The computed difference of a baseline and a post-state."""

    @property
    def changed(self) -> bool:
        """Whether the two states differ, by value."""
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
        """Say what happened, to follow "but it": `changed by 0`, `did not change`."""
        ...


@dataclass(frozen=True, slots=True, init=False)
class NumberDelta:
    """The difference of two numbers, or of two points in time.

    Attributes:
        amount: post-state minus baseline, exact for all but floats.
        changed: whether the states differ; the amount is zero if and only if they do not.
    """

    amount: Number
    changed: bool
    others_and_untagged: ClassVar[None] = None

    def __init__(self, amount: Number, changed: bool) -> None:  # noqa: FBT001 - the fields, in their order
        # One is made for every number that is checked: this takes a third of what a generated __init__ takes.
        _set_amount(self, amount)
        _set_changed(self, changed)

    @property
    def value(self) -> object:
        return self.amount

    def words(self) -> str:
        return f"changed by {show(self.amount)}"


_set_amount: Callable[[NumberDelta, Number], None] = NumberDelta.__dict__["amount"].__set__
_set_changed: Callable[[NumberDelta, bool], None] = NumberDelta.__dict__["changed"].__set__


@dataclass(frozen=True, slots=True)
class ValueDelta:
    """The difference of two states that can only be compared as wholes.

    Attributes:
        changed: whether the states differ.
        how: what happened, in words, where more can be said.
    """

    changed: bool
    how: str = ""
    others_and_untagged: ClassVar[None] = None

    @property
    def value(self) -> object:
        return "changed" if self.changed else "no change"

    def words(self) -> str:
        return self.how or ("changed" if self.changed else "did not change")


_MAX_NAMED = 5
"""How many members of a kind are named in words; the rest are counted."""

_MAX_MEMBER_CHARS = 60

_UNCHANGED = "did not change"


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
            ("added", _named("member", _smallest(self.added), len(self.added))),
            ("removed", _named("member", _smallest(self.removed), len(self.removed))),
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
        """Whether any entry lies below the top level; if not, original keys name all of them."""
        return any(len(path) > 1 for kind in (self.added, self.removed, self.modified) for path in kind)

    @property
    def amounts(self) -> Mapping[object, Number] | None:
        """By how much each changed number changed, by `path.member`; an absent one counts as 0.

        None when any entry that changed is not a number, or points in time appeared or vanished.
        """
        amounts: dict[object, Number] = {}
        changes: list[tuple[Path, object, object]] = [
            *((path, _zero(after), after) for path, after in self.added.items()),
            *((path, before, _zero(before)) for path, before in self.removed.items()),
            *((path, before, after) for path, (before, after) in self.modified.items()),
        ]
        for path, before, after in changes:
            amount = subtract(after, before)
            if amount is None:
                return None
            amounts[path.member] = amount
        return MappingProxyType(amounts)

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
            ("added", _named(noun, (_shown(path.member) for path in self.added), len(self.added))),
            ("removed", _named(noun, (_shown(path.member) for path in self.removed), len(self.removed))),
            (
                "modified",
                _named(
                    noun,
                    (
                        f"{_shown(path.member)}{transition(before, after)}"
                        for path, (before, after) in self.modified.items()
                    ),
                    len(self.modified),
                ),
            ),
        )


@dataclass(frozen=True, slots=True)
class SequenceDelta:
    """The difference of two sequences, which have an order and may have duplicates.

    Between what both begin with and what both end with there is one stretch that differs. The same stretches
    give the members that were added and removed, each as often as the two states differ in it, in order.

    Attributes:
        added: members that the post-state has more often, in its order.
        removed: members that the baseline had more often, in its order.
        before: the stretch of the baseline that differs.
        after: the stretch of the post-state that is there instead.
        tail: how many members follow the stretch in both.
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
        """What follows the baseline when the post-state begins with all of it, else nothing."""
        return () if self.before or self.tail else self.after

    @property
    def reordered(self) -> bool:
        """Whether the same members, each as often, are in another order."""
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
                _named("member", map(_shown, self.added), len(self.added)),
            ),
            ("removed", _named("member", map(_shown, self.removed), len(self.removed))),
        )


def _zero(number: object) -> Number:
    return timedelta() if isinstance(number, timedelta) else 0


def _shown(value: object) -> str:
    return show(value, _MAX_MEMBER_CHARS)


def _smallest(members: frozenset[object]) -> Iterable[str]:
    """The first few members in order: a set has none of its own, and the same delta must read the same."""
    try:
        return map(_shown, nsmallest(_MAX_NAMED, members))  # type: ignore[type-var]
    except Exception as error:
        let_through(error)
        return nsmallest(_MAX_NAMED, map(_shown, members))


def _named(noun: str, shown: Iterable[str], count: int) -> str:
    text = with_noun(noun, ", ".join(islice(shown, _MAX_NAMED)), count)
    more = count - _MAX_NAMED
    return f"{text} and {more} more" if more > 0 else text


def _sentence(*kinds: tuple[str, str]) -> str:
    """Join what was done to members: "added 'a', removed 'b' and modified 'c'"."""
    said = [f"{verb} {members}" for verb, members in kinds if members]
    if not said:
        return _UNCHANGED
    return " and ".join([", ".join(said[:-1]), said[-1]]) if said[1:] else said[0]
