"""Which windows overlapped: a delta of a shared scope proves a change, not who made it.

A scope is a metric and the argument values bound to its probe. Each scope keeps counts, never lists, so
that a window costs the same among ten and among ten thousand.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from deltaspan.causal_tag import CausalTag

__all__ = ["Entry", "Rival", "enter", "leave"]


@dataclass(frozen=True, slots=True)
class Rival:
    """A window that overlapped another of equal scope.

    Attributes:
        action: the action's name.
        tag: its causal tag, canonical UUID text.
        seconds: for how long both were open, in seconds.
    """

    action: str
    tag: str
    seconds: float


class Entry:
    """One open window in one scope; lives as long as the window.

    Args:
        key: the scope; equal keys contend.
        action: the action's name, for the explanation of others.
        tag: the run's tag; its ancestors and descendants do not contend.
        writes: whether the action claims to change the scope.
    """

    __slots__ = ("action", "ended", "key", "kin", "rival", "scope", "seen", "started", "tag", "writes")

    def __init__(self, key: Hashable, action: str, tag: CausalTag, *, writes: bool) -> None:
        self.key = key
        self.action = action
        self.tag = tag
        self.writes = writes
        self.started = time.perf_counter()
        self.ended: float | None = None
        self.scope: _Scope | None = None  # None while it is alone
        self.seen = 0  # writers that had entered the scope when this window did
        self.kin = 0  # writers that entered since and are descendants
        self.rival: Entry | None = None


class _Scope:
    """The windows now open on one scope, by causal tag; made when a second one opens."""

    __slots__ = ("entered", "last", "open", "writing")

    def __init__(self) -> None:
        self.open: dict[str, Entry] = {}
        self.writing: dict[str, Entry] = {}
        self.entered = 0  # writers so far
        self.last: Entry | None = None  # the writer that entered last

    def add(self, entry: Entry) -> None:
        self.open[entry.tag.id] = entry
        if entry.writes:
            self.writing[entry.tag.id] = entry
            self.entered += 1
            self.last = entry
        entry.seen = self.entered
        entry.scope = self

    def remove(self, entry: Entry) -> None:
        for known in (self.open, self.writing):
            # A window that was handed over may be open twice, under the one tag of its run.
            if known.get(entry.tag.id) is entry:
                del known[entry.tag.id]


_lock = threading.Lock()
_scopes: Final[dict[Hashable, Entry | _Scope]] = {}
"""By key: the only window that is open, as nearly always, or all of them."""


def enter(entry: Entry) -> None:
    """Open a window on its scope; whoever made the entry can close it, however far this came."""
    with _lock:
        there = _scopes.setdefault(entry.key, entry)
        if there is entry:
            return
        if isinstance(there, Entry):
            only, there = there, _Scope()
            there.add(only)
            _scopes[entry.key] = there
        _meet(there, entry)
        there.add(entry)


def leave(entry: Entry) -> Rival | None:
    """Close a window and return a window that wrote to the same scope meanwhile, if any did."""
    with _lock:
        scope = entry.scope
        if scope is None:
            # It was alone all the time; in a forked child the parent's windows are not known at all.
            if _scopes.get(entry.key) is entry:
                del _scopes[entry.key]
            return None
        scope.remove(entry)
        entry.ended = now = time.perf_counter()
        came_later = scope.entered - entry.seen - entry.kin
        # The link is cut here, or windows that overlap in an endless chain would keep each other alive.
        rival, entry.rival = entry.rival or (scope.last if came_later > 0 else None), None
        if not scope.open and _scopes.get(entry.key) is scope:
            del _scopes[entry.key]
    if rival is None or rival is entry:
        return None
    overlap = (rival.ended or now) - max(entry.started, rival.started)
    return Rival(rival.action, rival.tag.id, max(overlap, 0.0))


def _meet(scope: _Scope, entry: Entry) -> None:
    """Note who is open already: ancestors as kin, anyone else who writes as a rival."""
    # Its own tag too: a window that was handed over may be open twice. Parent and root are known by name even
    # where the run between is another process's.
    ancestors: set[str | None] = {entry.tag.root_id}
    ancestor: CausalTag | None = entry.tag
    while ancestor is not None:
        ancestors.update((ancestor.id, ancestor.parent_id))
        ancestor = ancestor.parent
    for tag in ancestors:
        if tag in scope.open:
            scope.open[tag].kin += entry.writes
    # The newest first: only a nest of ancestors makes this look further than one window.
    entry.rival = next((scope.writing[tag] for tag in reversed(scope.writing) if tag not in ancestors), None)
    if entry.writes and entry.rival is not None and entry.rival.rival is None:
        entry.rival.rival = entry


def _forget() -> None:
    global _lock  # noqa: PLW0603  # a lock held by another thread at the fork would stay held for ever
    _lock = threading.Lock()
    _scopes.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
