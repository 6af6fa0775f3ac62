"""From two frozen states to their delta."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from deltaspan._guard import EXHAUSTED
from deltaspan._interrupts import let_through
from deltaspan._state.diff._alignment import MAX_ALIGNED, align, common_length
from deltaspan._state.diff._deltas import (
    Delta,
    MappingDelta,
    NumberDelta,
    SequenceDelta,
    SetDelta,
    ValueDelta,
)
from deltaspan._state.diff._equality import (
    Unpaired,
    cancel_equal,
    equal,
    identity,
    pair_members,
    same_class,
    same_structure,
)
from deltaspan._state.diff._numbers import subtract
from deltaspan._state.snapshot import (
    MAPPINGS,
    ORDER,
    STRUCTURE,
    Array,
    Path,
    Record,
    class_of,
    fields_in,
    has_foreign_keys,
    is_plain_set,
    structure_of,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

_PLAIN: Final = frozenset({str, int, float, bool, bytes, date, timedelta, UUID})
"""Types whose values are equal if Python says so. Only other types need a closer look."""


_NESTING: Final = frozenset({*MAPPINGS, tuple, Array})
"""Types whose values are compared by their members, so that entries lie below them."""

MAX_ITEMS: Final = 10_000
"""The most items of one nested sequence that are named one by one.

With more, the sequence is one modified entry: a million names take more room than a million numbers."""


def difference(pre: object, post: object, *, is_flat: bool = False) -> Delta:
    """Compute what changed between two frozen states.

    Any two states have a delta.

    Two numbers, or two points in time, give a NumberDelta; two sets a SetDelta; two mappings a MappingDelta,
    by path where mappings and sequences nest; two sequences a SequenceDelta. Everything else, and two states
    of different kinds, give a ValueDelta, and so do two Decimals too far apart to be subtracted exactly.

    A delta is `changed` if and only if the two states are not `equal`.

    Args:
        pre: the baseline, as `freeze` returned it.
        post: the post-state, as `freeze` returned it.
        is_flat: whether the values of two mappings are compared as wholes, and not by path.

    Raises:
        RecursionError: the stack has no room for the comparison.
        MemoryError: nor has the memory.

    Example:
        >>> difference(3, 5)
        NumberDelta(amount=2, changed=True)
        >>> difference(frozenset({"a"}), frozenset({"a", "b"})).words()
        "added 'b'"
    """
    if type(pre) is int and type(post) is int:
        return NumberDelta(post - pre, pre != post)
    try:
        return _difference(pre, post, is_flat=is_flat)
    except EXHAUSTED:
        raise
    except Exception as error:
        let_through(error)
        # A member's own comparison or hash raises. Members cannot be compared, but equality is still known.
        return ValueDelta(changed=not equal(pre, post))


def _difference(pre: Any, post: Any, *, is_flat: bool) -> Delta:  # noqa: PLR0911 - one line a kind
    kind = type(pre)
    if kind is type(post):
        if kind is frozenset:
            return _set_delta(pre, post)
        if kind is tuple:
            return _sequence_delta(pre, post)
        if kind is Array:
            if same_structure(pre, post):
                return _sequence_delta(pre, post)
            return ValueDelta(changed=True, how=f"became {post.structure} and was {pre.structure}")
    if kind in MAPPINGS and type(post) in MAPPINGS:
        return _mapping_delta(pre, post, is_flat=is_flat)
    changed = not equal(pre, post)
    amount = subtract(post, pre)
    if amount is None:
        return ValueDelta(changed)
    if changed:
        return NumberDelta(amount, changed=True)
    # NaN - NaN and inf - inf are not numbers, yet nothing changed.
    return NumberDelta(_zero(amount), changed=False)


def _zero(amount: Any) -> Any:
    return timedelta() if isinstance(amount, timedelta) else type(amount)(0)


def _set_delta(pre: frozenset[Any], post: frozenset[Any]) -> SetDelta:
    if not (is_plain_set(pre) and is_plain_set(post)):
        paired = pair_members(pre, post)
        return SetDelta(frozenset(paired.added), frozenset(paired.removed))
    removed, added = pre - post, post - pre
    if removed and added:
        rest = cancel_equal(removed, added)
        if rest.pairs:
            removed, added = frozenset(rest.removed), frozenset(rest.added)
    return SetDelta(added, removed)


# Mappings, and what they nest ----------------------------------------------------------------------------


def _class_change(before: str | None, after: str | None) -> str:
    names = (str(before).rpartition(".")[2], str(after).rpartition(".")[2])
    was, now = names if names[0] != names[1] else (before, after)
    return f"became a {now} and was a {was}"


class _Changes:
    """The changed entries by path.

    If `is_flat`, they are those of the top level alone.
    """

    __slots__ = ("added", "is_flat", "modified", "removed")

    def __init__(self, *, is_flat: bool = False) -> None:
        self.is_flat = is_flat
        self.added: dict[Path, object] = {}
        self.removed: dict[Path, object] = {}
        self.modified: dict[Path, tuple[object, object]] = {}

    @property
    def count(self) -> int:
        """The number of entries."""
        return len(self.added) + len(self.removed) + len(self.modified)

    def update(self, changes: _Changes) -> None:
        """Add the entries that were found below."""
        self.added.update(changes.added)
        self.removed.update(changes.removed)
        self.modified.update(changes.modified)


def _mapping_delta(pre: Any, post: Any, *, is_flat: bool) -> MappingDelta | ValueDelta:
    if not same_class(pre, post):
        return ValueDelta(changed=True, how=_class_change(class_of(pre), class_of(post)))
    changes = _Changes(is_flat=is_flat)
    _descend(pre, post, (), changes)
    _compare_structure(pre, post, (), changes)
    return MappingDelta(
        MappingProxyType(changes.added), MappingProxyType(changes.removed), MappingProxyType(changes.modified)
    )


def _descend(
    before_all: Mapping[Any, Any], after_all: Mapping[Any, Any], above: tuple[object, ...], changes: _Changes
) -> None:
    pre, post = fields_in(before_all), fields_in(after_all)
    if has_foreign_keys(before_all) or has_foreign_keys(after_all):
        _compare_paired(pre, post, pair_members(pre, post), above, changes)
        return
    removed: list[object] = []
    for key, before in pre.items():
        # A subscript reaches through the read-only view twice as fast as `get` does.
        try:
            after = post[key]
        except KeyError:
            removed.append(key)
            continue
        if after is before:
            continue
        kind = type(before)
        # Most of a document is plain and the same, so these two lines are what comparing it costs.
        if kind in _PLAIN and kind is type(after) and before == after:
            continue
        _compare(before, after, (*above, key), changes)
    if not removed and len(pre) == len(post):
        return
    added = [key for key in post if key not in pre]
    _compare_paired(pre, post, cancel_equal(removed, added), above, changes)


def _compare_paired(
    pre: Mapping[Any, Any],
    post: Mapping[Any, Any],
    rest: Unpaired,
    above: tuple[object, ...],
    changes: _Changes,
) -> None:
    """Record unpaired keys, and compare the values of paired ones."""
    for key in rest.removed:
        changes.removed[Path((*above, key))] = pre[key]
    for key in rest.added:
        changes.added[Path((*above, key))] = post[key]
    for key, other in rest.pairs:
        _compare(pre[key], post[other], (*above, key), changes)


def _compare(before: Any, after: Any, keys: tuple[object, ...], changes: _Changes) -> None:
    """Compare two values at the same place."""
    kind = type(before)
    if kind in MAPPINGS and type(after) in MAPPINGS and not changes.is_flat and same_class(before, after):
        _descend(before, after, keys, changes)
        if kind is Record:
            _compare_structure(before, after, keys, changes)
        return
    if kind is type(after) and not changes.is_flat:
        if kind is tuple:
            _compare_sequences(before, after, keys, changes)
            return
        if kind is Array:
            _compare_structure(before, after, keys, changes)
            _compare_sequences(before, after, keys, changes)
            return
    if not equal(before, after):
        changes.modified[Path(keys)] = (before, after)


def _compare_structure(before: Any, after: Any, keys: tuple[object, ...], changes: _Changes) -> None:
    """Compare the structure of two frames or two arrays.

    The order of a frame's rows is part of it.
    """
    mine, theirs = structure_of(before), structure_of(after)
    if mine is None or theirs is None:
        return
    if mine != theirs:
        changes.modified[Path((*keys, STRUCTURE))] = (mine, theirs)
    if type(before) is Record:
        order, now = (
            [key for key in state if key in other] for state, other in ((before, after), (after, before))
        )
        if list(map(identity, order)) != list(map(identity, now)):
            changes.modified[Path((*keys, ORDER))] = (tuple(order), tuple(now))


# Sequences within mappings -------------------------------------------------------------------------------


def _compare_sequences(
    before: tuple[Any, ...], after: tuple[Any, ...], keys: tuple[object, ...], changes: _Changes
) -> None:
    """Find the items that were added, removed and modified.

    A removed item is named by its index in the baseline, any other by its index in the post-state.
    """
    try:
        below = _Changes()
        if len(before) != len(after) or not _compare_in_place(before, after, keys, below):
            below = _Changes()
            _compare_aligned(before, after, keys, below)
        changes.update(below)
    except _TooManyItems:
        changes.modified[Path(keys)] = (before, after)


class _TooManyItems(Exception):
    """More items of one sequence changed than are named one by one."""


def _compare_aligned(
    before: tuple[Any, ...], after: tuple[Any, ...], keys: tuple[object, ...], changes: _Changes
) -> None:
    pairs, removed, added = align(before, after)
    if len(removed) + len(added) > MAX_ITEMS:
        raise _TooManyItems
    for index in removed:
        changes.removed[Path((*keys, index))] = before[index]
    for index in added:
        changes.added[Path((*keys, index))] = after[index]
    changed = 0
    for i, j in pairs:
        entries = changes.count
        _compare(before[i], after[j], (*keys, j), changes)
        changed += changes.count != entries and type(before[i]) not in _NESTING
        if changed > MAX_ITEMS:
            raise _TooManyItems


def _compare_in_place(
    before: tuple[Any, ...], after: tuple[Any, ...], keys: tuple[object, ...], changes: _Changes
) -> bool:
    """Compare two sequences item by item.

    The result says whether no alignment could be expected to find fewer changes.

    In nearly all documents nothing or one item changed, so that no content need be searched.
    """
    changed: list[int] = []
    scalars = 0
    index = -1
    for mine in before:
        index += 1
        theirs = after[index]
        if mine is theirs:
            continue
        kind = type(mine)
        if kind in _PLAIN and kind is type(theirs) and mine == theirs:
            continue
        entries = changes.count
        _compare(mine, theirs, (*keys, index), changes)
        if changes.count != entries:
            changed.append(index)
            scalars += kind not in _NESTING
            if scalars > MAX_ITEMS:
                raise _TooManyItems
    if len(changed) <= 1:
        return True
    span = changed[-1] - changed[0] + 1
    return 2 * len(changed) <= span or 2 * span > MAX_ALIGNED


# Sequences -----------------------------------------------------------------------------------------------


def _sequence_delta(pre: tuple[Any, ...], post: tuple[Any, ...]) -> SequenceDelta:
    head = common_length(pre, post)
    before, after = pre[head:], post[head:]
    tail = common_length(before[::-1], after[::-1]) if before and after else 0
    if tail:
        before, after = before[:-tail], after[:-tail]
    if before and after:
        return SequenceDelta(_surplus(after, before), _surplus(before, after), before, after, tail)
    return SequenceDelta(after, before, before, after, tail)


def _surplus(members: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the members that occur more often here than among the others.

    They are in order. Of equal members it is the last ones.
    """
    spare: Counter[Hashable] = Counter(map(identity, others))
    surplus = []
    for member in members:
        key = identity(member)
        if spare[key] > 0:
            spare[key] -= 1
        else:
            surplus.append(member)
    return tuple(surplus)
