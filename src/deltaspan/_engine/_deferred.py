"""Verdicts in the background, after the action has returned.

One thread waits for the next read that is due, however many runs are open. A few other threads perform the
reads. At exit the process waits until every verdict is there.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import heapq
import itertools
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final

from deltaspan._concurrency import Once
from deltaspan._engine._polling import PollSteps
from deltaspan._guard import guarded
from deltaspan._interrupts import let_through
from deltaspan._process import on_fork
from deltaspan._workers import Pool

_MAX_READERS: Final = 8
_EXIT_SECONDS: Final = 60.0
"""How long a process waits at its end for verdicts that are still open."""


class _Job:
    """One run whose verdict is reached in the background."""

    __slots__ = ("_context", "_finish", "steps")

    def __init__(self, steps: PollSteps, finish: Callable[[], object]) -> None:
        self.steps = steps
        self._finish = finish
        self._context = contextvars.copy_context()

    def advance(self) -> float | None:
        """Read until the next pause, and return its seconds, or None at the end."""
        return self._context.run(self._advance)

    def _advance(self) -> float | None:
        try:
            for step in self.steps:
                if isinstance(step, float):
                    return step
                for read in step:
                    read.perform()
        except BaseException:
            self._finish()  # checks that were still to be polled are abandoned
            raise
        self._finish()
        return None


class _Scheduler:
    """Waits for the next job that is due, and gives it to a reader.

    Jobs reach its thread through a queue, which a signal handler or a finalizer may add to at any time. The
    heap of due jobs belongs to the thread alone.
    """

    def __init__(self) -> None:
        self._inbox: SimpleQueue[tuple[float, int, _Job]] = SimpleQueue()
        self._numbers = itertools.count()
        self._open: dict[_Job, None] = {}
        self._waiting: dict[SimpleQueue[None], None] = {}  # wakes each drain when a job has ended
        self._started = Once()
        self._registered = Once()
        self._readers = Pool(_MAX_READERS, "deltaspan-polling")

    def drain_at_exit(self) -> None:
        """Let the process wait at its exit until every verdict is there.

        Call it at the first use, so that this runs before an SDK that was set up earlier shuts down.
        """
        if self._registered.take():
            atexit.register(drain)

    def add(self, job: _Job) -> None:
        if self._start():
            self._open[job] = None
            self._push(job, 0.0)
            return
        # No thread can be started, so the caller waits after all. Nothing is lost.
        while (pause := guarded("polling", job.advance)) is not None:
            time.sleep(pause)

    def _start(self) -> bool:
        if self._started.take():
            try:
                threading.Thread(target=self._wait, name="deltaspan-deferred", daemon=True).start()
            except BaseException as error:
                self._started.give_back()
                let_through(error)
                return False
        return True

    def drain(self, seconds: float) -> bool:
        ends_at = time.perf_counter() + seconds
        ended: SimpleQueue[None] = SimpleQueue()
        self._waiting[ended] = None
        try:
            while self._open:
                ended.get(timeout=max(ends_at - time.perf_counter(), 0.0))
        except Empty:
            return not self._open
        finally:
            del self._waiting[ended]
        return True

    def _push(self, job: _Job, pause: float) -> None:
        self._inbox.put((time.perf_counter() + pause, next(self._numbers), job))

    def _wait(self) -> None:
        due: list[tuple[float, int, _Job]] = []
        while True:
            pause = due[0][0] - time.perf_counter() if due else None
            if pause is None or pause > 0:
                with suppress(Empty):
                    heapq.heappush(due, self._inbox.get(timeout=pause))
                continue
            job = heapq.heappop(due)[2]
            try:
                self._readers.submit(partial(self._advance, job))
            except RuntimeError:
                self._advance(job)  # no thread can be started
            del job

    def _advance(self, job: _Job) -> None:
        pause = guarded("polling in the background", job.advance)
        if pause is not None:
            self._push(job, pause)
            return
        self._open.pop(job, None)
        for ended in list(self._waiting):
            ended.put(None)


_tasks: Final[dict[asyncio.Task[None], Coroutine[Any, Any, None]]] = {}
"""The tasks of deferred runs. An event loop holds tasks weakly, and may be closed before they are done."""

_scheduler = _Scheduler()


def defer(steps: PollSteps, finish: Callable[[], object]) -> None:
    """Perform steps in the background, in a copy of this context, and then finish.

    Args:
        steps: the reads and pauses of a run.
        finish: judges and records it; called once, when the steps have ended.
    """
    _scheduler.drain_at_exit()
    _scheduler.add(_Job(steps, finish))


def defer_async(ending: Coroutine[Any, Any, None]) -> None:
    """End a run with async probes in a task of the running event loop.

    If the loop ends first, it cancels the task or leaves it behind. Checks that were still to be polled are
    then abandoned.

    Args:
        ending: reads, polls, and records the run.
    """
    _scheduler.drain_at_exit()
    _end_runs_of_closed_loops()
    task = asyncio.get_running_loop().create_task(ending)
    _tasks[task] = ending
    task.add_done_callback(lambda done: _tasks.pop(done, None))


def _end_runs_of_closed_loops() -> None:
    """End the runs whose event loop was closed before their verdict."""
    for task, ending in list(_tasks.items()):
        if task.get_loop().is_closed():
            _tasks.pop(task, None)
            guarded("ending a run whose event loop was closed", ending.close)


def drain(seconds: float = _EXIT_SECONDS) -> bool:
    """Wait until every deferred verdict is there.

    Args:
        seconds: how long to wait at most.

    Returns:
        Whether all were there in time.
    """
    _end_runs_of_closed_loops()
    return _scheduler.drain(seconds)


@on_fork
def _forget() -> None:
    # A forked child has no threads, and its parent reaches the verdicts that are open.
    global _scheduler  # noqa: PLW0603
    _scheduler = _Scheduler()
    _tasks.clear()
