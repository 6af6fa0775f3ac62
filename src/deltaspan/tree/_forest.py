"""Ancestors of runs, by tag, and of spans, by id. Iterative, for any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from deltaspan.tree._merge import MergedRun

K = TypeVar("K")


class Lineage:
    """The forest that runs form by their tags and their parents' tags.

    Args:
        runs: by tag.

    Attributes:
        parent: the run above each. None if there is none, if it is unknown, or if a cycle is cut there.
        children: the runs below each, in order of their starts.
        order: the runs, each followed by its descendants.
        depth: the number of runs above each.
        cycles: runs that cause each other. Each cycle begins with the run that started first.
    """

    def __init__(self, runs: Mapping[str, MergedRun]) -> None:
        in_order = sorted(runs, key=lambda tag: runs[tag].key)
        self.parent = {tag: runs[tag].parent if runs[tag].parent in runs else None for tag in in_order}
        self.cycles: list[tuple[str, ...]] = _cycles(self.parent)
        for first, *_ in self.cycles:
            self.parent[first] = None
        self.children: dict[str, list[str]] = {tag: [] for tag in in_order}
        for tag, parent in self.parent.items():
            if parent is not None:
                self.children[parent].append(tag)
        self.order: list[str] = []
        self.depth: dict[str, int] = {}
        self._place = {}  # type: dict[str, int]
        self._behind: dict[str, int] = {}  # the place after a run's last descendant
        self._walk([tag for tag, parent in self.parent.items() if parent is None])

    def _walk(self, tops: Sequence[str]) -> None:
        waiting: list[tuple[str, int] | str] = [(tag, 0) for tag in reversed(tops)]
        while waiting:
            step = waiting.pop()
            if isinstance(step, str):
                self._behind[step] = len(self.order)
                continue
            tag, self.depth[tag] = step[0], step[1]
            self._place[tag] = len(self.order)
            self.order.append(tag)
            waiting.append(tag)
            waiting += [(child, step[1] + 1) for child in reversed(self.children[tag])]

    def is_within(self, tag: str, above: str) -> bool:
        """Return whether a run is `above` or a descendant of it."""
        return self._place[above] <= self._place[tag] < self._behind[above]


def _cycles(parents: Mapping[str, str | None]) -> list[tuple[str, ...]]:
    cycles = []
    seen: dict[str, str] = {}  # by tag, the start from which it was reached first
    place = {tag: number for number, tag in enumerate(parents)}
    for start in parents:
        at: str | None = start
        while at is not None and at not in seen:
            seen[at] = start
            at = parents[at]
        if at is not None and seen[at] == start:
            upwards, above = [at], parents[at]
            while above is not None and above != at:
                upwards.append(above)
                above = parents[above]
            downwards = upwards[::-1]
            first = downwards.index(min(downwards, key=place.__getitem__))
            cycles.append((*downwards[first:], *downwards[:first]))
    return cycles


def nearest_above(
    keys: Iterable[K], above: Callable[[K], K | None], stops: Callable[[K, K], bool]
) -> dict[K, K | None]:
    """Find the nearest ancestor of each key that satisfies a condition.

    Args:
        keys: the keys to begin with.
        above: returns the parent of a key, or None at the top.
        stops: the condition, given a key and its parent.
    """
    nearest: dict[K, K | None] = {}
    for key in keys:
        path: list[K] = []
        at: K = key
        answer: K | None = None
        while at not in nearest:
            nearest[at] = None  # so that a cycle ends here
            path.append(at)
            upper = above(at)
            if upper is None or stops(at, upper):
                answer = upper
                break
            at = upper
        else:
            answer = nearest[at]
        nearest.update(dict.fromkeys(path, answer))
    return nearest
