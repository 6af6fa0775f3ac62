"""Aligns two sequences: which items became which, which were removed, and which were added."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deltaspan._state.diff._equality import equal, identity

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

MAX_ALIGNED: Final = 400
"""The most items, of both sequences together, whose contents are searched for those that moved."""

_MAX_MATCHES: Final = 20_000
"""The most pairs of equal items that are considered. Runs of equal items have very many."""


class Alignment(NamedTuple):
    """The pairing of the items of two sequences.

    Attributes:
        pairs: the indexes, before and after, of items that may differ and stand for one another.
        removed: the indexes before of items that have no counterpart.
        added: the indexes after of items that have none.
    """

    pairs: list[tuple[int, int]]
    removed: list[int]
    added: list[int]


def align(before: tuple[Any, ...], after: tuple[Any, ...]) -> Alignment:
    """Pair the items of two sequences so that few pairs differ.

    The result is deterministic, and its cost is bounded.

    What both begin and end with is left out. Between the two, up to `MAX_ALIGNED` items are paired by the
    longest common subsequence of equal items. What lies between two equal items, and all of a longer stretch,
    is paired by position.

    Args:
        before: the items of the baseline, frozen.
        after: the items of the post-state, frozen.
    """
    head = common_length(before, after)
    tail = common_length(before[head:][::-1], after[head:][::-1])
    ends = (len(before) - tail, len(after) - tail)
    pairs: list[tuple[int, int]] = []
    removed: list[int] = []
    added: list[int] = []
    mine, theirs = head, head
    for i, j in [*_anchors(before[head : ends[0]], after[head : ends[1]], head), ends]:
        both = min(i - mine, j - theirs)
        pairs += zip(range(mine, mine + both), range(theirs, theirs + both), strict=True)
        removed += range(mine + both, i)
        added += range(theirs + both, j)
        mine, theirs = i + 1, j + 1
    return Alignment(pairs, removed, added)


def common_length(before: Sequence[Any], after: Sequence[Any]) -> int:
    """Count with how many equal items two sequences begin."""
    count = 0
    for mine, theirs in zip(before, after, strict=False):
        if mine is not theirs and not equal(mine, theirs):
            break
        count += 1
    return count


class _Link(NamedTuple):
    """A pair of equal items, linked to the pair before it.

    The links lead through the longest sequence of pairs that ends with this one.
    """

    i: int
    j: int
    previous: Any


def _anchors(before: tuple[Any, ...], after: tuple[Any, ...], offset: int) -> list[tuple[int, int]]:
    """Return the indexes of the longest common subsequence.

    The method is that of Hunt and Szymanski (1977).
    """
    if not before or not after or len(before) + len(after) > MAX_ALIGNED:
        return []
    places: dict[Hashable, list[int]] = {}
    for j in range(len(after) - 1, -1, -1):
        places.setdefault(identity(after[j]), []).append(j)
    matches = [places.get(identity(item), ()) for item in before]
    if sum(map(len, matches)) > _MAX_MATCHES:
        return []
    ends: list[int] = []
    links: list[_Link] = []
    for i, found in enumerate(matches):
        for j in found:  # from the last to the first, so that one item is used once
            length = bisect_left(ends, j)
            link = _Link(i, j, links[length - 1] if length else None)
            ends[length : length + 1] = [j]
            links[length : length + 1] = [link]
    anchors = []
    last = links[-1] if links else None
    while last is not None:
        anchors.append((last.i + offset, last.j + offset))
        last = last.previous
    return anchors[::-1]
