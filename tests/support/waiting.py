"""Waits for a state of the test, in place of sleeps that hope for it."""

import asyncio
import time

import pytest

_MAX_SECONDS = 60


def wait_until(is_reached):
    """Return the first true answer of a function; fail after a minute."""
    ends_at = time.monotonic() + _MAX_SECONDS
    while time.monotonic() < ends_at:
        if found := is_reached():
            return found
        time.sleep(0.002)
    pytest.fail("the state that the test waits for was not reached")


async def reached(is_reached):
    """Return the first true answer of a function while the event loop goes on; fail after a minute."""
    ends_at = time.monotonic() + _MAX_SECONDS
    while time.monotonic() < ends_at:
        if found := is_reached():
            return found
        await asyncio.sleep(0.001)
    pytest.fail("the state that the test waits for was not reached")


class AsyncHang:
    """An await that never ends, and the cancellation of a coroutine that has come to it."""

    def __init__(self):
        self.reached = asyncio.Event()

    async def __call__(self):
        self.reached.set()
        await asyncio.Event().wait()

    async def cancel(self, coroutine):
        """Run a coroutine as a task, cancel it when it hangs, and return the task."""
        task = asyncio.ensure_future(coroutine)
        await asyncio.wait_for(self.reached.wait(), _MAX_SECONDS)
        await cancel(task)
        return task


async def cancel(task):
    """Cancel a task, and wait for its end."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
