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

__all__ = ["Keeper"]

_MOST_LEAVING_SECONDS: Final = 5.0
"""How long a thread that cannot await waits until a lock is released."""

_gates: Final[WeakValueDictionary[Hashable, asyncio.Lock]] = WeakValueDictionary()
"""Of the runs on one event loop one at a time has a keeper for a lock; the others, however many, wait for it
without a thread."""


class Keeper:
    """A thread that holds one lock.

    Args:
        lock: the lock; the thread begins to wait for it at once.
    """

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._entered: Future[None] = Future()
        self._left: Future[None] = Future()
        # Running from the start: a task that is cancelled while it waits for the release does not cancel it.
        self._left.set_running_or_notify_cancel()
        self._ends = threading.Event()
        run = copy_context().run
        threading.Thread(target=run, args=(self._keep,), name="deltaspan-lock", daemon=True).start()

    @classmethod
    def enter(cls, lock: Any) -> Keeper:
        """Return a thread that holds the lock, or raise the error of entering it."""
        keeper = cls(lock)
        try:
            keeper._entered.result()
        except BaseException:
            keeper._give_up()
            raise
        return keeper

    @classmethod
    async def enter_async(cls, key: Hashable, lock: Any) -> Keeper:
        """Return a thread that holds the lock, and do not block the event loop.

        Args:
            key: what the lock is known by to all who take it on this loop.
            lock: the lock.
        """
        loop = asyncio.get_running_loop()
        gate = _gates.setdefault((id(loop), key), asyncio.Lock())
        await gate.acquire()
        try:
            keeper = cls(lock)
        except BaseException:
            gate.release()
            raise

        def open_gate(_: Future[None]) -> None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                loop.call_soon_threadsafe(gate.release)

        # Opened by the thread at its very end: a run that gives up leaves it waiting for the lock, where a
        # second thread would only wait beside it.
        keeper._left.add_done_callback(open_gate)
        try:
            await asyncio.wrap_future(keeper._entered)
        except BaseException:
            keeper._give_up()
            raise
        return keeper

    def leave(self) -> None:
        """Release the lock and wait for it, or raise the error of leaving it."""
        self._ends.set()
        self._left.result(_MOST_LEAVING_SECONDS)

    async def leave_async(self) -> None:
        """Do the same without stopping the event loop."""
        self._ends.set()
        await asyncio.wrap_future(self._left)

    def _give_up(self) -> None:
        """Let the thread release the lock at once if it still gets it."""
        self._entered.cancel()
        self._ends.set()

    def _keep(self) -> None:
        try:
            self._lock.__enter__()
        except BaseException as error:
            if self._entered.set_running_or_notify_cancel():
                self._entered.set_exception(error)
            self._left.set_result(None)
            return
        if self._entered.set_running_or_notify_cancel():
            self._entered.set_result(None)
        self._ends.wait()
        try:
            self._lock.__exit__(None, None, None)
        except BaseException as error:
            self._left.set_exception(error)
        else:
            self._left.set_result(None)
