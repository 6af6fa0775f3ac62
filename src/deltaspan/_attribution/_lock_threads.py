"""A thread that enters and leaves a lock for an action on another thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Hashable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Final
from weakref import WeakValueDictionary

from deltaspan._process import on_fork, on_reset

_MAX_LEAVING_SECONDS: Final = 5.0
"""How long a thread that cannot await waits until a lock is released."""

_gates: Final[WeakValueDictionary[Hashable, asyncio.Lock]] = WeakValueDictionary()
"""For each lock and event loop, the gate that lets one run at a time have a thread."""
on_reset(_gates.clear)
on_fork(_gates.clear)  # a thread of the parent, which would open its gate, does not exist in the child


class LockThread:
    """A thread that holds one lock.

    Args:
        lock: the lock. The thread begins to wait for it at once.
    """

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._entered: Future[None] = Future()
        self._left: Future[None] = Future()
        # Running from the start: a task that is cancelled while it waits for the release does not cancel it.
        self._left.set_running_or_notify_cancel()
        self._should_leave = threading.Event()
        run = copy_context().run
        threading.Thread(target=run, args=(self._hold,), name="deltaspan-lock", daemon=True).start()

    @classmethod
    def enter(cls, lock: Any) -> LockThread:
        """Return a thread that holds the lock, or raise the error of entering it."""
        thread = cls(lock)
        try:
            thread._entered.result()
        except BaseException:
            thread._abandon()
            raise
        return thread

    @classmethod
    async def enter_async(cls, key: Hashable, lock: Any) -> LockThread:
        """Return a thread that holds the lock, and do not block the event loop.

        Args:
            key: the key of the lock, the same for all who take it on this loop.
            lock: the lock.
        """
        loop = asyncio.get_running_loop()
        gate = _gates.setdefault((id(loop), key), asyncio.Lock())
        await gate.acquire()
        try:
            thread = cls(lock)
        except BaseException:
            gate.release()
            raise

        def open_gate(_: Future[None]) -> None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                loop.call_soon_threadsafe(gate.release)

        # The thread opens the gate at its end. If a run gives up, its thread still waits for the lock, and a
        # second thread would only wait as well.
        thread._left.add_done_callback(open_gate)
        try:
            await asyncio.wrap_future(thread._entered)
        except BaseException:
            thread._abandon()
            raise
        return thread

    def leave(self) -> None:
        """Release the lock and wait for it, or raise the error of leaving it."""
        self._should_leave.set()
        self._left.result(_MAX_LEAVING_SECONDS)

    async def leave_async(self) -> None:
        """Do the same without stopping the event loop."""
        self._should_leave.set()
        await asyncio.wrap_future(self._left)

    def _abandon(self) -> None:
        """Let the thread release the lock at once if it still gets it."""
        self._entered.cancel()
        self._should_leave.set()

    def _hold(self) -> None:
        try:
            self._lock.__enter__()
        except BaseException as error:
            if self._entered.set_running_or_notify_cancel():
                self._entered.set_exception(error)
            self._left.set_result(None)
            return
        if self._entered.set_running_or_notify_cancel():
            self._entered.set_result(None)
        self._should_leave.wait()
        try:
            self._lock.__exit__(None, None, None)
        except BaseException as error:
            self._left.set_exception(error)
        else:
            self._left.set_result(None)
