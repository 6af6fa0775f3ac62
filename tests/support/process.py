"""State of the process for tests: open windows, held locks, tracked runs.

This is the one place in which tests look at it. `deltaspan._process.reset` runs after each test.
"""

from deltaspan._attribution import Entry, _contention, _lock_threads, _locks
from deltaspan.causal_tag import _descendants

__all__ = ["held_locks", "lock_threads", "open_windows", "tracked_roots", "tracked_runs"]


def open_windows():
    """Return the causal tags of the open windows, by metric."""
    return {
        metric: {known.tag.id} if isinstance(known, Entry) else set(known.runs)
        for metric, known in _contention._metrics.items()
    }


def held_locks():
    """Return the keys of the locks that a window holds, each with its holders."""
    return dict(_locks._holders)


def lock_threads():
    """Return the gates of the threads that hold locks."""
    return dict(_lock_threads._gates)


def tracked_runs():
    """Return the causal tags of the runs that open windows track."""
    return set(_descendants.trackers_by_run)


def tracked_roots():
    """Return the tags of the outermost runs above tracked nested runs."""
    return set(_descendants.root_indexes)
