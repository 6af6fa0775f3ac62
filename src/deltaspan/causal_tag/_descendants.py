"""Who descends from a run: the runs of this process that an open window may credit to its own.

What changes that knowledge is a step of `_steps`. In the midst of one, a signal handler or a finalizer may
call an action on the same thread. What that adds is added at once, as the action may be judged before the
step ends, and once more after the step, which may have overwritten it: to add twice is to add once.

Nothing is known of a run unless a window that asks is open: a run that nobody asks about costs one look at an
empty mapping, and what is known is forgotten when the window that asked for it closes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from deltaspan._concurrency import Serial

__all__ = ["DescendantTracker", "families", "register_run", "start_tracking", "stop_tracking", "watched"]


class DescendantTracker:
    """One run and its descendants, as far as this process knows them.

    Args:
        tag: the causal tag of the run, canonical UUID text.
        descendants: the tags of runs below it that are known already.
        root: the tag of the outermost run. Where that is the run itself, whatever has this root descends
            from it.
        above: the tags of the runs that it was called by, as far as they are known, the nearest first.

    Attributes:
        tag: as given.
        root: as given.
        tags: its own tag and those of its descendants.
        line: its own tag and those above, the nearest first.
        is_watching: whether it takes note of descendants.
    """

    __slots__ = ("_above", "_parents", "is_watching", "line", "root", "tag", "tags")

    def __init__(
        self, tag: str, descendants: Iterable[str] = (), *, root: str, above: Sequence[str] = ()
    ) -> None:
        self.tag = tag
        self.root = root
        self.tags = {tag, *descendants}
        self.line = (tag, *above)
        self.is_watching = True
        self._above = {root, *above} - {tag}
        self._parents: Mapping[str, str] = {}

    def is_ours(self, tag: str | None, root: str | None) -> bool | None:
        """Return whether what is stamped so was made by the run or a descendant; None when nobody can tell.

        That is so without a tag, and for a tag of the same outermost run that another process made: the run
        below this one, or beside it.

        Args:
            tag: the causal tag in it; None when it has none. Some databases write it in upper case.
            root: the tag of the outermost run in it, or None.
        """
        own = None if tag is None else tag.lower()
        if own in self.tags:
            return True
        if root is not None and root.lower() == self.root:
            if self.root == self.tag:
                return True
            return None if own is None else self._descends(own)
        return None if own is None else False

    def learn(self, parents: Mapping[str, str]) -> None:
        """Take note of where runs of the same outermost run descend from, by tag; it may grow later."""
        self._parents = parents

    def _descends(self, tag: str) -> bool | None:
        parents = self._parents
        for _ in range(len(parents) + 1):  # what was handed over could name a circle
            if tag in self._above:
                return False
            if tag in self.tags:
                return True
            if tag not in parents:
                return None
            tag = parents[tag]
        return None


watched: Final[dict[str, tuple[DescendantTracker, ...]]] = {}
"""By causal tag of every run that is known to be in some Kin: all that it is in."""


class _Family:
    """The runs of one outermost run that this process knows: the parent of each, by tag.

    It is what tells a run beside a nested one from one that may be below it.
    """

    __slots__ = ("parents", "watchers")

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        self.watchers: set[DescendantTracker] = set()


families: Final[dict[str, _Family]] = {}
"""By the tag of the outermost run, where a Kin of a nested one asks."""

_steps: Final = Serial()


def start_tracking(kin: DescendantTracker) -> None:
    """Note descendants from now on, until `stop_tracking`."""
    if not _steps.run(_watch, kin):
        _watch(kin)


def register_run(tag: str, parent: str | None, root: str) -> None:
    """Note a new run with all that its parent or its root is in.

    Args:
        tag: its causal tag.
        parent: that of the run that it was called by, in this process or another.
        root: that of the outermost run.
    """
    if not _steps.run(_born, tag, parent, root):
        _born(tag, parent, root)


def stop_tracking(kin: DescendantTracker) -> None:
    """Note no more descendants; those that are known stay known to `kin` alone."""
    _steps.run(_forget, kin)


# Steps, which run one at a time ---------------------------------------------------------------------------


def _watch(kin: DescendantTracker) -> None:
    for tag in tuple(kin.tags):
        _note(tag, (kin,))
    if kin.root != kin.tag:
        family = families.setdefault(kin.root, _Family())
        family.watchers.add(kin)
        family.parents.update(zip(kin.line, kin.line[1:], strict=False))
        kin.learn(family.parents)


def _born(tag: str, parent: str | None, root: str) -> None:
    of_parent = () if parent is None else watched.get(parent, ())
    # A run that another process called is known by its root, though what called it is not known here.
    all_kin = [kin for kin in (*of_parent, *watched.get(root, ())) if kin.is_watching]
    if all_kin:
        _note(tag, all_kin)
    for kin in all_kin:
        kin.tags.add(tag)
    family = families.get(root)
    if parent is not None and family is not None:
        family.parents[tag] = parent


def _note(tag: str, all_kin: Iterable[DescendantTracker]) -> None:
    watched[tag] = tuple(dict.fromkeys((*watched.get(tag, ()), *all_kin)))


def _forget(kin: DescendantTracker) -> None:
    kin.is_watching = False  # first, as a run that is born in the midst of this would not be forgotten
    for tag in tuple(kin.tags):
        rest = tuple(other for other in watched.get(tag, ()) if other is not kin)
        if rest:
            watched[tag] = rest
        else:
            watched.pop(tag, None)
    family = families.get(kin.root)
    if family is not None and kin in family.watchers:
        family.watchers.discard(kin)
        if not family.watchers:
            families.pop(kin.root, None)


def _forget_all() -> None:
    watched.clear()
    families.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
