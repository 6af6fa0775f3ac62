"""Work that must not be done where it is found: one daemon thread for the process, drained at exit.

A window that is garbage collected is noticed wherever the collector happens to run, perhaps while that very
thread holds a lock of the SDK; ending the window there could wait for itself for ever.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from deltaspan._concurrency_part1 import Once
from deltaspan._guard import guarded

__all__ = ["drain", "later", "prepare"]

_EXIT_SECONDS: Final = 5.0

_queue: SimpleQueue[Callable[[], object]] = SimpleQueue()
_started = Once()


def prepare() -> None:
    """Start the thread before it is needed: it cannot be started while an interpreter ends."""
    if not _started.is_taken and _started.take():
        try:
            threading.Thread(target=_work, args=(_queue,), name="deltaspan", daemon=True).start()
        except BaseException:
            _started.give_back()
            raise
        atexit.register(drain)


def later(work: Callable[[], object]) -> None:
    """Hand work to the thread; safe in a finalizer, since a SimpleQueue may be entered again."""
    _queue.put(work)


def drain(seconds: float = _EXIT_SECONDS) -> bool:
    """Wait until what was handed over so far is done.

    Args:
        seconds: how long to wait at most.

    Returns:
        Whether it was done in time; True also when there never was anything.
    """
    if not _started.is_taken:
        return True
    done = threading.Event()
    _queue.put(done.set)
    return done.wait(seconds)


def _work(queue: SimpleQueue[Callable[[], object]]) -> None:
    while True:
        guarded("work in the background", queue.get())


def _forget() -> None:
    # A forked child has the queue's content but not the thread; what its parent left is its parent's to do.
    global _queue, _started
    _queue, _started = SimpleQueue(), Once()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
