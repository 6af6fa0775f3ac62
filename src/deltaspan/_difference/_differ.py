"""From two frozen states to their delta."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from deltaspan._deltas import Delta, MappingDelta, NumberDelta, Path, SequenceDelta, SetDelta, ValueDelta
from deltaspan._deltas._numbers import subtract
from deltaspan._difference._equality import equal, identity, same_class, unpaired
from deltaspan._freeze import class_of
from deltaspan._interrupts import let_through

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

__all__ = ["difference"]

_PLAIN: Final = frozenset({str, int, float, bool, bytes, date, timedelta, UUID})
"""Types of which two values that Python finds equal are equal; only the others need a closer look."""


def difference(pre: object, post: object) -> Delta:
    """Compute what changed between two frozen states; total, whatever the two are.

    Two numbers, or two points in time, give a NumberDelta; two sets a SetDelta; two mappings a MappingDelta,
    by path where they nest; two sequences a SequenceDelta. Everything else, and two states of different
    kinds, give a ValueDelta, and so do two Decimals too far apart to be subtracted exactly.

    A delta is `changed` if and only if the two states are not `equal`.

    Args:
        pre: the baseline, as `freeze` returned it.
        post: the post-state, as `freeze` returned it.

    Example:
        >>> difference(3, 5)
        NumberDelta(amount=2, changed=True)
        >>> difference(frozenset({"a"}), frozenset({"a", "b"})).words()
        "added 'b'"
    """
    if type(pre) is int and type(post) is int:
        return NumberDelta(post - pre, pre != post)
    try:
        return _difference(pre, post)
    except Exception as error:
        let_through(error)
        # Some member's own comparison or hash raises: no members can be told, but equality always can.
        return ValueDelta(changed=not equal(pre, post))


def _difference(pre: Any, post: Any) -> Delta:
    kind = type(pre)
    if kind is type(post):
        if kind is frozenset:
            return _differ_sets(pre, post)
        if kind is MappingProxyType:
            return _differ_mappings(pre, post)
        if kind is tuple:
            return _differ_sequences(pre, post)
    changed = not equal(pre, post)
    amount = subtract(post, pre)
    if amount is None:
        return ValueDelta(changed)
    if changed:
        return NumberDelta(amount, changed=True)
    # NaN - NaN and inf - inf are no numbers, yet nothing changed.
    return NumberDelta(_zero(amount), changed=False)


def _zero(amount: Any) -> Any:
    return timedelta() if isinstance(amount, timedelta) else type(amount)(0)


def _differ_sets(pre: frozenset[Any], post: frozenset[Any]) -> SetDelta:
    removed, added = pre - post, post - pre
    if removed and added:
        rest = unpaired(removed, added)
        if rest.pairs:
            removed, added = frozenset(rest.removed), frozenset(rest.added)
    return SetDelta(added, removed)


# Mappings, and what they nest ----------------------------------------------------------------------------


def _became(before: str | None, after: str | None) -> str:
    names = (str(before).rpartition(".")[2], str(after).rpartition(".")[2])
    was, now = names if names[0] != names[1] else (before, after)
    return f"became a {now} and was a {was}"


class _Found:
    """The entries found so far, by path."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: dict[Path, object] = {}
        self.removed: dict[Path, object] = {}
        self.modified: dict[Path, tuple[object, object]] = {}


def _differ_mappings(pre: Any, post: Any) -> MappingDelta | ValueDelta:
    if not same_class(pre, post):
        return ValueDelta(changed=True, how=_became(class_of(pre), class_of(post)))
    found = _Found()
    _descend(pre, post, (), found)
    return MappingDelta(
        MappingProxyType(found.added), MappingProxyType(found.removed), MappingProxyType(found.modified)
    )


def _descend(
    pre: Mapping[Any, Any], post: Mapping[Any, Any], above: tuple[object, ...], found: _Found
) -> None:
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
        _compare(before, after, (*above, key), found)
    if not removed and len(pre) == len(post):
        return
    added = [key for key in post if key not in pre]
    rest = unpaired(removed, added)
    for key in rest.removed:
        found.removed[Path((*above, key))] = pre[key]
    for key in rest.added:
        found.added[Path((*above, key))] = post[key]
    for key, other in rest.pairs:
        _compare(pre[key], post[other], (*above, key), found)


def _compare(before: Any, after: Any, keys: tuple[object, ...], found: _Found) -> None:
    """Compare what two mappings hold at the same key."""
    kind = type(before)
    if kind is type(after):
        if kind is MappingProxyType and same_class(before, after):
            _descend(before, after, keys, found)
            return
        if kind is tuple and len(before) == len(after) and _documents(before) and _documents(after):
            for index, (mine, theirs) in enumerate(zip(before, after, strict=True)):
                _compare(mine, theirs, (*keys, index), found)
            return
    if not equal(before, after):
        found.modified[Path(keys)] = (before, after)


def _documents(members: tuple[object, ...]) -> bool:
    return set(map(type, members)) == {MappingProxyType}


# Sequences -----------------------------------------------------------------------------------------------


def _differ_sequences(pre: tuple[Any, ...], post: tuple[Any, ...]) -> SequenceDelta:
    head = _common(pre, post)
    before, after = pre[head:], post[head:]
    tail = _common(before[::-1], after[::-1]) if before and after else 0
    if tail:
        before, after = before[:-tail], after[:-tail]
    if before and after:
        return SequenceDelta(_surplus(after, before), _surplus(before, after), before, after, tail)
    return SequenceDelta(after, before, before, after, tail)


def _common(pre: Sequence[Any], post: Sequence[Any]) -> int:
    """Count with how many equal members two sequences begin."""
    count = 0
    for mine, theirs in zip(pre, post, strict=False):
        if mine is not theirs and not equal(mine, theirs):
            break
        count += 1
    return count


def _surplus(members: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return, in order, the members that occur more often here than among the others: the last of each."""
    spare: Counter[Hashable] = Counter(map(identity, others))
    surplus = []
    for member in members:
        key = identity(member)
        if spare[key] > 0:
            spare[key] -= 1
        else:
            surplus.append(member)
    return tuple(surplus)
