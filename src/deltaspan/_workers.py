"""Daemon threads: a pool for probes that may hang, and one background thread.

The standard library's pool joins its threads at exit, so a probe that hangs would keep the process alive.
Here a probe that hangs occupies one of a bounded number of threads, and the process ends without it.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from deltaspan._concurrency import Once, take_first
from deltaspan._guard import guarded
from deltaspan._process import on_fork

MAX_THREADS: Final = 32
"""The number of probes that are read in other threads at once. Further ones wait for a free thread."""

THREAD_NAME: Final = "deltaspan-probe"
"""The name of these threads."""


class _Work(Future[Any]):
    """A call that waits for a thread, and its result."""

    def __init__(self, pool: Pool, call: Callable[[], Any]) -> None:
        super().__init__()
        self._pool = pool
        self.call = call

    def cancel(self) -> bool:
        """Cancel the call unless it runs, and release its arguments at once.

        If it stayed in the queue until a thread is free, probes that all hang would fill the memory.
        """
        self._pool.drop(self)
        return super().cancel()


class Pool:
    """A pool of threads that take work from one queue.

    There is no lock, because a signal handler or a finalizer that interrupts any line here may submit work of
    its own and wait for it. A thread registers as idle before it reads the queue. A caller adds to the queue
    before it looks for an idle thread. So one of the two sees the other.

    Args:
        most: the largest number of threads. Further work waits for a free one.
        name: the name of the threads.
    """

    def __init__(self, most: int, name: str) -> None:
        self._name = name
        self._queue: dict[_Work, None] = {}  # ordered, and an entry in the middle can be removed quickly
        self._idle: dict[SimpleQueue[None], None] = {}  # the queue that wakes each idle thread
        self._unstarted = [None] * most  # one entry for each thread that may still be started

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Run a call in the next free thread."""
        work = _Work(self, call)
        self._queue[work] = None
        try:
            self._find_thread()
        except BaseException:
            self.drop(work)
            raise
        return work

    def drop(self, work: _Work) -> None:
        """Remove work that has not begun from the queue."""
        self._queue.pop(work, None)

    def _find_thread(self) -> None:
        """Wake an idle thread for new work, or start one if possible."""
        try:
            wake, _ = self._idle.popitem()
        except KeyError:
            pass
        else:
            wake.put(None)
            return
        try:
            self._unstarted.pop()
        except IndexError:
            return
        try:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        except BaseException:
            self._unstarted.append(None)
            raise

    def _take(self, wake: SimpleQueue[None]) -> _Work:
        """Wait for work, and return the oldest in the queue.

        Args:
            wake: the queue that wakes the calling thread.
        """
        while True:
            self._idle[wake] = None
            work = take_first(self._queue)
            if work is None:
                wake.get()
                continue
            if self._idle.pop(wake, _WOKEN) is _WOKEN:
                # Another caller woke this thread for other work.
                with suppress(RuntimeError):
                    self._find_thread()
            return work

    def _work(self) -> None:
        wake: SimpleQueue[None] = SimpleQueue()
        while True:
            work = self._take(wake)
            if work.set_running_or_notify_cancel():
                try:
                    work.set_result(work.call())
                except BaseException as error:
                    work.set_exception(error)
            del work  # an idle thread would keep the last state alive


_WOKEN: Final = object()

_pool = Pool(MAX_THREADS, THREAD_NAME)


def submit(call: Callable[[], Any]) -> Future[Any]:
    """Run a call in a thread, in a copy of the caller's context.

    Args:
        call: a callable without parameters.

    Returns:
        A future. Cancelling it prevents a call that has not begun.

    Raises:
        RuntimeError: the interpreter is about to end, so no thread can be started.
    """
    context = contextvars.copy_context()
    return _pool.submit(lambda: context.run(call))


def is_loop_running() -> bool:
    """Return whether an asyncio event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@on_fork
def _renew_pool() -> None:
    global _pool  # noqa: PLW0603  # a forked child has none of its parent's threads
    _pool = Pool(MAX_THREADS, THREAD_NAME)


_EXIT_SECONDS: Final = 5.0

_queue: SimpleQueue[Callable[[], object]] = SimpleQueue()
_started = Once()


def start_background_thread() -> None:
    """Start the background thread early: none can be started while an interpreter ends."""
    if not _started.is_taken and _started.take():
        try:
            threading.Thread(target=_work, args=(_queue,), name="deltaspan", daemon=True).start()
        except BaseException:
            _started.give_back()
            raise
        atexit.register(drain)


def run_in_background(work: Callable[[], object]) -> None:
    """Give work to the background thread. Reentrant, so finalizers may call it."""
    _queue.put(work)


def drain(seconds: float = _EXIT_SECONDS) -> bool:
    """Wait until the work that was given so far is done.

    Args:
        seconds: the longest wait, in seconds.

    Returns:
        Whether it was done in time. True also if there was no work.
    """
    if not _started.is_taken:
        return True
    done = threading.Event()
    _queue.put(done.set)
    return done.wait(seconds)


def _work(queue: SimpleQueue[Callable[[], object]]) -> None:
    while True:
        guarded("work in the background", queue.get())


@on_fork
def _renew_background() -> None:
    # A forked child has the queue's content but not the thread. The parent does the work that it queued.
    global _queue, _started
    _queue, _started = SimpleQueue(), Once()


T = TypeVar("T")


def watch(watched: T) -> weakref.ref[T]:
    """Return a reference by which `is_collected` detects that an object is being collected."""
    start_background_thread()
    # The cyclic collector clears all weak references to its garbage before it finalizes any of it, so that
    # even the object itself sees its own cleared. With a callback every version of Python does so.
    return weakref.ref(watched, _ignore)


def is_collected(reference: weakref.ref[T]) -> bool:
    """Return whether the cyclic collector is about to finalize the watched object."""
    return reference() is None


def _ignore(_: object) -> None:
    """Do nothing. Only the state of the reference matters."""
