"""A lock of an async action is released on every path: exceptions, cancellation, closing."""

import asyncio
import threading

import pytest

from deltaspan import change, collect_reports, expects
from support.process import held_locks


@pytest.fixture(autouse=True)
def _nothing_stays_held():
    yield
    assert held_locks() == {}


def adding(lock, rows, *, name="add"):
    """Return an action that adds one row in a way that only a lock makes safe."""

    @expects(change("rows", lambda: len(rows)).by(1).exclusively(lock), name=name)
    async def act():
        before = len(rows)
        await asyncio.sleep(0.001)
        rows[before:] = [1]

    return act


async def run_together(action, times):
    with collect_reports() as reports:
        await asyncio.gather(*[action() for _ in range(times)])
    return [report.outcome for report in reports]


@pytest.mark.parametrize("make", [asyncio.Lock, threading.Lock])
@pytest.mark.parametrize("error", [ValueError("no"), asyncio.CancelledError("stop")])
async def test_the_lock_is_released_when_the_action_raises(make, error):
    lock = make()

    @expects(change("rows", lambda: 0).exclusively(lock))
    async def act():
        raise error

    with pytest.raises(type(error)) as caught:
        await act()

    assert caught.value is error
    assert not lock.locked()


@pytest.mark.parametrize("make", [asyncio.Lock, threading.Lock])
async def test_a_task_that_is_cancelled_while_it_waits_for_the_lock_ends_and_leaves_the_lock_to_others(make):
    lock, rows = make(), []
    if make is asyncio.Lock:
        await lock.acquire()
    else:
        lock.acquire()
    with collect_reports() as reports:
        task = asyncio.ensure_future(adding(lock, rows)())
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    lock.release()
    outcomes = await asyncio.wait_for(run_together(adding(lock, rows), 2), 5)

    assert reports[0]["rows"].reason == "abandoned"
    assert outcomes == ["pass", "pass"]
    assert not lock.locked()


async def test_waits_that_are_given_up_leave_one_thread_behind_not_one_each():
    lock, rows = threading.Lock(), []
    lock.acquire()
    act = adding(lock, rows)
    before = sum(thread.name == "deltaspan-lock" for thread in threading.enumerate())
    for _ in range(10):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(act(), 0.005)
    waiting = sum(thread.name == "deltaspan-lock" for thread in threading.enumerate()) - before
    lock.release()
    outcomes = await asyncio.wait_for(run_together(act, 2), 5)

    assert waiting == 1
    assert outcomes == ["pass", "pass"]


async def test_a_task_that_is_cancelled_in_its_action_releases_a_lock_that_takes_time_to_release():
    class OverTheNetwork:
        held = False

        async def __aenter__(self):
            await asyncio.sleep(0)
            self.held = True

        async def __aexit__(self, *_):
            await asyncio.sleep(0.01)
            self.held = False

    lock = OverTheNetwork()

    @expects(change("rows", lambda: 0).exclusively(lock))
    async def act():
        await asyncio.sleep(60)

    task = asyncio.ensure_future(act())
    await asyncio.sleep(0.01)
    held = lock.held
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (held, lock.held) == (True, False)


async def test_a_task_that_is_cancelled_in_its_probe_releases_the_lock():
    lock = asyncio.Lock()

    async def read():
        await asyncio.sleep(60)

    @expects(change("rows", read).exclusively(lock))
    async def act():
        pass

    task = asyncio.ensure_future(act())
    await asyncio.sleep(0.01)
    held = lock.locked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (held, lock.locked()) == (True, False)


async def test_a_lock_that_raises_leaves_the_check_without_a_verdict_and_the_action_runs():
    class Broken:
        def __enter__(self):
            raise OSError("gone")

        def __exit__(self, *_):
            raise AssertionError

    rows = []
    with collect_reports() as reports:
        await adding(Broken(), rows)()

    assert rows == [1]
    assert reports[0]["rows"].explanation == "rows: its lock could not be taken: OSError: gone"


async def test_a_lock_that_cannot_be_released_is_told_and_breaks_nothing(caplog):
    class Expired:
        def __enter__(self):
            pass

        def __exit__(self, *_):
            raise LookupError("no longer owned")

    with collect_reports() as reports:
        await adding(Expired(), [])()

    assert reports[0].outcome == "pass"
    assert "the release of a lock raised and was ignored" in caplog.text


@pytest.mark.parametrize("make", [asyncio.Lock, threading.Lock])
async def test_an_async_generator_that_is_left_releases_the_lock(make):
    lock = make()

    @expects(change("rows", lambda: 0).exclusively(lock))
    async def act():
        yield 1
        yield 2

    steps = act()
    async for _ in steps:
        break
    held = lock.locked()
    await steps.aclose()

    assert (held, lock.locked()) == (True, False)


@pytest.mark.parametrize("make", [asyncio.Lock, threading.Lock])
async def test_a_coroutine_that_is_closed_releases_the_lock(make):
    lock = make()
    inside = asyncio.Event()

    @expects(change("rows", lambda: 0).exclusively(lock))
    async def act():
        inside.set()
        await asyncio.Future()

    task = asyncio.ensure_future(act())
    await inside.wait()
    held = lock.locked()
    task.get_coro().close()
    task.cancel()
    with pytest.raises((asyncio.CancelledError, RuntimeError)):
        await task
    await asyncio.sleep(0.01)

    assert (held, lock.locked()) == (True, False)


def test_without_asyncio_a_blocking_lock_is_taken_where_the_action_runs():
    lock = threading.Lock()
    held = []

    @expects(change("rows", lambda: 0).by(0).exclusively(lock))
    async def act():
        held.append(lock.locked())

    with collect_reports() as reports, pytest.raises(StopIteration):
        act().send(None)

    assert (held, lock.locked(), reports[0].outcome) == ([True], False, "pass")


async def test_a_task_that_is_cancelled_while_its_lock_is_released_leaves_the_lock_thread_to_end(monkeypatch):
    raised, leaving, may_leave = [], threading.Event(), threading.Event()
    monkeypatch.setattr(threading, "excepthook", raised.append)

    class Slow:
        def __enter__(self):
            """Take nothing."""

        def __exit__(self, *_):
            leaving.set()
            may_leave.wait(10)

    @expects(change("rows", lambda: 0).by(0).exclusively(Slow()))
    async def act():
        """Do nothing."""

    task = asyncio.ensure_future(act())
    assert await asyncio.to_thread(leaving.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    may_leave.set()
    for thread in threading.enumerate():
        if thread.name == "deltaspan-lock":
            await asyncio.to_thread(thread.join, 10)

    assert raised == []
