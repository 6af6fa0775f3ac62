"""Polling of post-states, with as few reads as `eventually` and `holding_for` allow.

The schedule is written once, as steps that are a pause or a batch of reads. A sync, an async and a deferred
run differ only in how they pause. The action itself is never run again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Sequence
from math import ceil
from typing import Final

from deltaspan._batches import ReadBatch
from deltaspan._concurrency import Once
from deltaspan._engine._check_run import CheckRun
from deltaspan._engine._reads import Read, perform_together
from deltaspan._guard import log
from deltaspan._process import on_reset
from deltaspan._workers import is_loop_running
from deltaspan.checks import Polling

_TOO_CLOSE: Final = 0.01
"""The share of a pause by which two reads must be apart. If they are closer, the first is left out."""


PollSteps = Generator["float | list[Read]", None, None]
"""Pauses in seconds, and the reads that are due after each."""


class Poll:
    """One check whose post-state is read again until its verdict is settled.

    Reads are due at each tick of a clock that starts at the end of the action, and once at the deadline.

    Args:
        check: the check, which was read once.
        polling: for how long to read, and how often.
        passes: returns whether the check passes on its last read.
        action_ended_at: when the action ended, by `time.perf_counter`.

    Attributes:
        due_at: when the next read is due.
    """

    __slots__ = (
        "_action_ended_at",
        "_check",
        "_deadline_at",
        "_passes",
        "_polling",
        "_read_at",
        "_tick",
        "due_at",
    )

    def __init__(
        self, check: CheckRun, polling: Polling, passes: Callable[[], bool], action_ended_at: float
    ) -> None:
        check.is_polled = True
        self._check = check
        self._polling = polling
        self._passes = passes
        self._action_ended_at = self._read_at = self.due_at = action_ended_at
        self._deadline_at = action_ended_at + polling.seconds
        self._tick = 0

    def advance(self) -> bool:
        """Return whether a further read is needed, and set when it is due."""
        if self._read_at < self.due_at:
            return True  # another check was read, not this one
        now, polling = time.perf_counter(), self._polling
        # The first read with the result that the poll waits for ends it.
        if self._read_at >= self._deadline_at or self._passes() is (polling.until == "pass"):
            self._check.settle_seconds = now - self._action_ended_at
            return False
        # A read that takes longer than the pause skips ticks, so that reads do not follow back to back.
        self._tick = max(self._tick + 1, ceil((now - self._action_ended_at) / polling.every))
        self.due_at = min(self._action_ended_at + self._tick * polling.every, self._deadline_at)
        if self._deadline_at - self.due_at < polling.every * _TOO_CLOSE:
            self.due_at = self._deadline_at
        return True

    def next_read(self, now: float, batch: ReadBatch) -> Read:
        """Return the read that is due."""
        self._read_at = now
        return self._check.read_again(batch)


def poll(polls: Sequence[Poll]) -> None:
    """Read the states of a sync action again, until every check is settled."""
    for step in poll_steps(polls):
        if isinstance(step, float):
            _pause(step)
        else:
            for read in step:
                read.perform()


async def poll_async(polls: Sequence[Poll]) -> None:
    """Read the states of an async action again, until every check is settled."""
    if len(polls) > 1 and is_loop_running():
        # Each by itself, so that a slow probe does not hold up the others.
        await asyncio.gather(*[_poll_async([each]) for each in polls])
    else:
        await _poll_async(polls)


async def _poll_async(polls: Sequence[Poll]) -> None:
    for step in poll_steps(polls):
        if not isinstance(step, float):
            await perform_together(step)
        elif is_loop_running():
            await asyncio.sleep(step)
        else:
            _pause(step)


def poll_steps(polls: Sequence[Poll]) -> PollSteps:
    """Yield the pauses and the reads that settle every check."""
    while polls := [each for each in polls if each.advance()]:
        pause = min(each.due_at for each in polls) - time.perf_counter()
        if pause > 0:
            yield pause
        now = time.perf_counter()
        due = [each for each in polls if each.due_at <= now]
        if due:
            batch: ReadBatch = {}
            yield [each.next_read(now, batch) for each in due]


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
