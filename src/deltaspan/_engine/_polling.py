"""Looking again: the fewest further reads of post-states that honour `eventually` and `holding_for`.

The schedule is written once, as steps that say how long to pause and what to read; a sync, an async and a
deferred run differ only in how they pause. The action itself is never run again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Sequence
from math import ceil
from typing import Final, Protocol

from deltaspan._batches import Moment
from deltaspan._concurrency import Once
from deltaspan._engine._reads import Read, perform_together
from deltaspan._guard import log
from deltaspan._process import on_reset
from deltaspan._workers import is_loop_running
from deltaspan.checks import Patience

__all__ = ["Settling", "Steps", "settle", "settle_async", "steps_of"]


_TOO_CLOSE: Final = 0.01
"""The part of a pause by which two reads must be apart to be worth making both."""


class Settling(Protocol):
    """A check whose post-state may be read again."""

    @property
    def patience(self) -> Patience:
        """How long to look, and how often."""
        ...

    @property
    def holds(self) -> Callable[[], bool]:
        """Tells whether the check passes on the post-state as last read."""
        ...

    def read_again(self, moment: Moment) -> Read:
        """Return a fresh read of the post-state, which replaces the last one."""
        ...

    def settled(self, seconds: float) -> None:
        """Take note of how long it took to know, from the end of the action."""
        ...


Steps = Generator["float | list[Read]", None, None]


def settle(checks: Sequence[Settling], ended: float) -> None:
    """Look again, in an action that is not async.

    Args:
        checks: those that say `eventually` or `holding_for`; each was read once.
        ended: when the action ended, by `time.perf_counter`.
    """
    for step in steps_of(checks, ended):
        if isinstance(step, float):
            _pause(step)
        else:
            for read in step:
                read.perform()


async def settle_async(checks: Sequence[Settling], ended: float) -> None:
    """Look again, in an async action; arguments as for `settle`."""
    if len(checks) > 1 and is_loop_running():
        # Each for itself, so that a probe that is slow to answer does not hold up the others.
        await asyncio.gather(*[_settle_async([check], ended) for check in checks])
    else:
        await _settle_async(checks, ended)


async def _settle_async(checks: Sequence[Settling], ended: float) -> None:
    for step in steps_of(checks, ended):
        if not isinstance(step, float):
            await perform_together(step)
        elif is_loop_running():
            await asyncio.sleep(step)
        else:
            _pause(step)


def steps_of(checks: Sequence[Settling], ended: float) -> Steps:
    """Yield a pause in seconds, or the reads that are due, until every check is settled.

    Args:
        checks: as for `settle`.
        ended: as for `settle`.
    """
    watches = [_Watch(check, ended) for check in checks]
    while watches := [watch for watch in watches if not watch.is_settled()]:
        pause = min(watch.due for watch in watches) - time.perf_counter()
        if pause > 0:
            yield pause
        now = time.perf_counter()
        again = [watch for watch in watches if watch.due <= now]
        if again:
            moment = Moment()
            yield [watch.look(now, moment) for watch in again]


class _Watch:
    """One check that is being looked at: at each tick of its own clock, and a last time when time is up."""

    __slots__ = ("_check", "_ended", "_ends", "_looked", "_tick", "due")

    def __init__(self, check: Settling, ended: float) -> None:
        self._check = check
        self._ended = self._looked = ended
        self._ends = ended + check.patience.seconds
        self._tick = 0
        self.due = ended

    def is_settled(self) -> bool:
        """Return whether looking again could change nothing; otherwise see when to."""
        if self._looked < self.due:
            return False  # another check was looked at, not this one
        now, patience = time.perf_counter(), self._check.patience
        # It must come to hold, or hold throughout: the first look that says so, or otherwise, ends the wait.
        if self._looked >= self._ends or self._check.holds() is not patience.holding:
            self._check.settled(now - self._ended)
            return True
        # A read that takes longer than the pause skips ticks, rather than to have reads back to back.
        self._tick = max(self._tick + 1, ceil((now - self._ended) / patience.every))
        self.due = min(self._ended + self._tick * patience.every, self._ends)
        if self._ends - self.due < patience.every * _TOO_CLOSE:
            self.due = self._ends
        return False

    def look(self, now: float, moment: Moment) -> Read:
        """Return the read that is due."""
        self._looked = now
        return self._check.read_again(moment)


_warned: Final = Once()
on_reset(_warned.give_back)


def _pause(seconds: float) -> None:
    if not _warned.is_taken and is_loop_running() and _warned.take():
        log(
            logging.WARNING,
            "a sync action looks at its post-state again on the thread of a running event loop, which "
            "waits meanwhile; make the action async, or run it in a thread",
        )
    time.sleep(seconds)
