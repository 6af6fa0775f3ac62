"""Who descends from a run: the runs of this process that an open window may credit to its own.

Nothing is known of a run unless a window that asks is open: a run that nobody asks about costs one look at an
empty mapping, and what is known is forgotten when the window that asked for it closes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Final

__all__ = ["Kin", "born", "forget", "watch", "watched"]


class Kin:
    """One run and its descendants, as far as this process knows them.

    Attributes:
        tag: the causal tag of the run, canonical UUID text.
        is_root: whether it is the outermost run, so that whatever has it for a root descends from it.
        tags: its own tag and those of its descendants.
    """

    __slots__ = ("is_root", "tag", "tags")

    def __init__(self, tag: str, descendants: Iterable[str] = (), *, is_root: bool) -> None:
        self.tag = tag
        self.is_root = is_root
        self.tags = {tag, *descendants}

    def includes(self, tag: str | None, root: str | None) -> bool:
        """Return whether what is stamped so was made by the run or a descendant.

        Args:
            tag: the causal tag in it; None when it has none. Some databases write it in upper case.
            root: the tag of the outermost run in it, or None.
        """
        if tag is not None and tag.lower() in self.tags:
            return True
        return self.is_root and root is not None and root.lower() == self.tag


watched: Final[dict[str, tuple[Kin, ...]]] = {}
"""By causal tag of every run that is known to be in some Kin: all that it is in."""

_lock = threading.Lock()


def watch(kin: Kin) -> None:
    """Note descendants from now on, until `forget`."""
    with _lock:
        for tag in kin.tags:
            watched[tag] = (*watched.get(tag, ()), kin)


def born(tag: str, parent: str | None, root: str) -> None:
    """Note a new run with all that its parent or its root is in.

    Args:
        tag: its causal tag.
        parent: that of the run that it was called by, in this process or another.
        root: that of the outermost run.
    """
    with _lock:
        of_parent = () if parent is None else watched.get(parent, ())
        # A run that another process called is known by its root, though what called it is not known here.
        all_kin = {*of_parent, *watched.get(root, ())}
        if all_kin:
            watched[tag] = tuple(all_kin)
        for kin in all_kin:
            kin.tags.add(tag)


def forget(kin: Kin) -> None:
    """Note no more descendants; those that are known stay known to `kin` alone."""
    with _lock:
        for tag in kin.tags:
            rest = tuple(other for other in watched.get(tag, ()) if other is not kin)
            if rest:
                watched[tag] = rest
            else:
                watched.pop(tag, None)


def _forget_all() -> None:
    global _lock  # noqa: PLW0603  # a lock held by another thread at the fork would stay held for ever
    _lock = threading.Lock()
    watched.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
