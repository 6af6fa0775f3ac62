"""Threads for probes that may hang: few, daemonic, and started only when one is needed.

The standard library's pool joins its threads at exit, so a probe that hangs would keep the process alive.
Here a hung probe costs one of a bounded number of threads, and the process ends without it.
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

__all__ = [
    "MOST_THREADS",
    "THREAD_NAME",
    "Pool",
    "drain",
    "is_collected",
    "later",
    "on_asyncio",
    "prepare",
    "submit",
    "watch",
]

MOST_THREADS: Final = 32
"""The most probes that are read off their own thread at once; further ones wait for a free thread."""

THREAD_NAME: Final = "deltaspan-probe"
"""What these threads are called."""


class _Work(Future[Any]):
    """A call that waits for a thread, and its result."""

    def __init__(self, pool: Pool, call: Callable[[], Any]) -> None:
        super().__init__()
        self._pool = pool
        self.call = call

    def cancel(self) -> bool:
        """Cancel it unless it runs; one that has not begun is forgotten at once, arguments and all.

        Were it left in the queue until a thread comes by, probes that all hang would fill the memory.
        """
        self._pool.drop(self)
        return super().cancel()


class Pool:
    """Threads that take work from one queue.

    There is no lock: a signal handler or a finalizer that interrupts any line here may submit work of its own
    and wait for it. A thread says that it is idle before it looks at the queue, and whoever submits adds to
    the queue before looking for an idle thread. So one of the two sees the other.

    Args:
        most: how many there are at most; further work waits for a free one.
        name: what they are called.
    """

    def __init__(self, most: int, name: str) -> None:
        self._name = name
        self._queue: dict[_Work, None] = {}  # in order, and quick to take one out of the middle
        self._idle: dict[SimpleQueue[None], None] = {}  # what wakes each idle thread
        self._unstarted = [None] * most  # one for each thread that may still be started

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Have a call run by the next free thread."""
        work = _Work(self, call)
        self._queue[work] = None
        try:
            self._find_thread()
        except BaseException:
            self.drop(work)
            raise
        return work

    def drop(self, work: _Work) -> None:
        """Take work that has not begun out of the queue."""
        self._queue.pop(work, None)

    def _find_thread(self) -> None:
        """Wake an idle thread for what was added to the queue, or start one if there may be more."""
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
        """Return the oldest work of the queue; wait for some.

        Args:
            wake: what wakes the thread that calls.
        """
        while True:
            self._idle[wake] = None
            work = take_first(self._queue)
            if work is None:
                wake.get()
                continue
            if self._idle.pop(wake, _WOKEN) is _WOKEN:
                # Somebody woke this thread for other work.
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
            del work  # or an idle thread would keep the last state alive


_WOKEN: Final = object()

_pool = Pool(MOST_THREADS, THREAD_NAME)


def submit(call: Callable[[], Any]) -> Future[Any]:
    """Run a call in one of the threads, in a copy of the caller's context.

    Args:
        call: what to run, without arguments.

    Returns:
        A future; cancelling it keeps a call that has not begun from beginning.

    Raises:
        RuntimeError: no thread can be started any more, as the interpreter is about to end.
    """
    context = contextvars.copy_context()
    return _pool.submit(lambda: context.run(call))


def on_asyncio() -> bool:
    """Return whether an event loop of asyncio runs on this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@on_fork
def _forget() -> None:
    global _pool  # noqa: PLW0603  # a forked child has none of its parent's threads
    _pool = Pool(MOST_THREADS, THREAD_NAME)


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


@on_fork
def _forget_background() -> None:
    # A forked child has the queue's content but not the thread; what its parent left is its parent's to do.
    global _queue, _started
    _queue, _started = SimpleQueue(), Once()


T = TypeVar("T")


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
