"""The descendants of a run, whose changes an open window may credit to it.

Each change of the registry is a step of `_steps`. During a step, a signal handler or a finalizer may call an
action on the same thread. Its runs are added at once, because the action may be judged before the step ends.
They are added again after the step, which may have overwritten them. To add twice has the effect of once.

Runs are registered only while a window with a tracker is open. Otherwise a run costs one look-up in an empty
mapping. The entries of a tracker are removed when its window closes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from deltaspan._concurrency import Serial
from deltaspan._process import on_fork, on_reset


class DescendantTracker:
    """One run and its descendants, as far as this process knows them.

    Args:
        tag: the causal tag of the run, canonical UUID text.
        descendants: the tags of runs below it that are known already.
        root: the tag of the outermost run. If that is the run itself, every run with this root descends
            from it.
        above: the tags of the runs that it was called by, as far as they are known, the nearest first.

    Attributes:
        tag: as given.
        root: as given.
        tags: its own tag and those of its descendants.
        line: its own tag and those above, the nearest first.
        is_tracking: whether new descendants are added.
    """

    __slots__ = ("_above", "_parents", "is_tracking", "line", "root", "tag", "tags")

    def __init__(
        self, tag: str, descendants: Iterable[str] = (), *, root: str, above: Sequence[str] = ()
    ) -> None:
        self.tag = tag
        self.root = root
        self.tags = {tag, *descendants}
        self.line = (tag, *above)
        self.is_tracking = True
        self._above = {root, *above} - {tag}
        self._parents: Mapping[str, str] = {}

    def is_ours(self, tag: str | None, root: str | None) -> bool | None:
        """Return whether a stamp is of this run or a descendant, or None.

        It is unknown without a tag. It is unknown too for a tag of the same outermost run from another
        process, which may be below this run or beside it.

        Args:
            tag: the causal tag in it; None if it has none. Some databases write it in upper case.
            root: the tag of the outermost run in it, or None.
        """
        tag_id = None if tag is None else tag.lower()
        if tag_id in self.tags:
            return True
        if root is not None and root.lower() == self.root:
            if self.root == self.tag:
                return True
            return None if tag_id is None else self._is_descendant(tag_id)
        return None if tag_id is None else False

    def use_parents(self, parents: Mapping[str, str]) -> None:
        """Use the parents of runs with the same root, by tag.

        The mapping may grow later.
        """
        self._parents = parents

    def _is_descendant(self, tag: str) -> bool | None:
        parents = self._parents
        for _ in range(len(parents) + 1):  # tags from another process could form a cycle
            if tag in self._above:
                return False
            if tag in self.tags:
                return True
            if tag not in parents:
                return None
            tag = parents[tag]
        return None


trackers_by_run: Final[dict[str, tuple[DescendantTracker, ...]]] = {}
"""The trackers of each tracked run, by its causal tag."""


class _RootIndex:
    """The known runs of one outermost run: the parent of each, by tag.

    It distinguishes a run beside a nested run from one that may be below it.
    """

    __slots__ = ("parents", "trackers")

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        self.trackers: set[DescendantTracker] = set()


root_indexes: Final[dict[str, _RootIndex]] = {}
"""The index of each outermost run above a tracked nested run, by its tag."""

_steps: Final = Serial()


def start_tracking(tracker: DescendantTracker) -> None:
    """Track descendants from now on, until `stop_tracking`."""
    if not _steps.run(_start_tracking, tracker):
        _start_tracking(tracker)


def register_run(tag: str, parent: str | None, root: str) -> None:
    """Add a new run to all trackers of its parent and of its root.

    Args:
        tag: its causal tag.
        parent: that of the run that it was called by, in this process or another.
        root: that of the outermost run.
    """
    if not _steps.run(_register_run, tag, parent, root):
        _register_run(tag, parent, root)


def stop_tracking(tracker: DescendantTracker) -> None:
    """Stop tracking descendants. The tracker keeps those that it knows."""
    _steps.run(_stop_tracking, tracker)


# Steps, which run one at a time ---------------------------------------------------------------------------


def _start_tracking(tracker: DescendantTracker) -> None:
    for tag in tuple(tracker.tags):
        _add_trackers(tag, (tracker,))
    if tracker.root != tracker.tag:
        index = root_indexes.setdefault(tracker.root, _RootIndex())
        index.trackers.add(tracker)
        index.parents.update(zip(tracker.line, tracker.line[1:], strict=False))
        tracker.use_parents(index.parents)


def _register_run(tag: str, parent: str | None, root: str) -> None:
    trackers_of_parent = () if parent is None else trackers_by_run.get(parent, ())
    # A run that another process called is found by its root, because its parent is not known here.
    trackers = [
        tracker for tracker in (*trackers_of_parent, *trackers_by_run.get(root, ())) if tracker.is_tracking
    ]
    if trackers:
        _add_trackers(tag, trackers)
    for tracker in trackers:
        tracker.tags.add(tag)
    index = root_indexes.get(root)
    if parent is not None and index is not None:
        index.parents[tag] = parent


def _add_trackers(tag: str, trackers: Iterable[DescendantTracker]) -> None:
    trackers_by_run[tag] = tuple(dict.fromkeys((*trackers_by_run.get(tag, ()), *trackers)))


def _stop_tracking(tracker: DescendantTracker) -> None:
    tracker.is_tracking = False  # first, because a run that starts during this step would never be removed
    for tag in tuple(tracker.tags):
        rest = tuple(other for other in trackers_by_run.get(tag, ()) if other is not tracker)
        if rest:
            trackers_by_run[tag] = rest
        else:
            trackers_by_run.pop(tag, None)
    index = root_indexes.get(tracker.root)
    if index is not None and tracker in index.trackers:
        index.trackers.discard(tracker)
        if not index.trackers:
            root_indexes.pop(tracker.root, None)


@on_reset
@on_fork
def _reset() -> None:
    trackers_by_run.clear()
    root_indexes.clear()
