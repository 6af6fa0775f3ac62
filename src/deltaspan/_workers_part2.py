"""Where a run may not end: in a forked child, and in the midst of the garbage collector's work.

A forked child inherits open windows that are its parent's to report. The cyclic collector may run inside any
allocation, perhaps in one that is made under a lock which closing the window would need: a generator that it
finds is closed by Python there and then, its window later, by the thread in the background.
"""

from __future__ import annotations

import os
import weakref
from typing import TypeVar

from deltaspan._workers_part1 import prepare

__all__ = ["current_process", "is_collected", "watch"]

T = TypeVar("T")


class Process:
    """One process; told by identity, which costs less than asking the system for a number."""


_current = Process()


def current_process() -> Process:
    """Return this process; a forked child has another."""
    return _current


def watch(thing: T) -> weakref.ref[T]:
    """Return what tells, by `is_collected`, whether the cyclic collector has found a thing."""
    prepare()
    # The collector clears weak references to all it has found before it ends any of it, so that even the
    # thing itself sees its own cleared. With a callback it does so in every version of Python.
    return weakref.ref(thing, _ignore)


def is_collected(watching: weakref.ref[T]) -> bool:
    """Return whether the cyclic collector is about to end the thing that is watched."""
    return watching() is None


def _ignore(_: object) -> None:
    """Do nothing: the reference is only asked whether it is cleared."""


def _forget() -> None:
    global _current  # noqa: PLW0603  # one a process
    _current = Process()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
