"""Locks of async actions: waited for off the event loop, released on every path."""

import asyncio
import gc
import threading

import pytest
from filelock import FileLock

from deltaspan import change, collect_reports, expects, window
from support.process import held_locks, lock_threads
from support.waiting import AsyncHang, cancel, reached


@pytest.fixture(autouse=True)
def _nothing_stays_held():
    yield
    assert held_locks() == {}


def lock_threads_alive():
    return {thread for thread in threading.enumerate() if thread.name == "deltaspan-lock"}


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


@pytest.mark.parametrize(
    "make",
    [asyncio.Lock, lambda: asyncio.Semaphore(1), threading.Lock, threading.RLock],
    ids=["asyncio.Lock", "asyncio.Semaphore", "threading.Lock", "threading.RLock"],
)
async def test_writers_that_take_one_lock_do_not_contend(make):
    rows = []

    assert await run_together(adding(make(), rows), 8) == ["pass"] * 8
    assert len(rows) == 8


async def test_a_file_lock_keeps_writers_apart(tmp_path):
    rows = []
    outcomes = await run_together(
        adding(lambda: FileLock(tmp_path / "rows.lock", poll_interval=0.001), rows), 8
    )

    assert outcomes == ["pass"] * 8


async def test_a_computed_async_lock_is_awaited():
    lock, rows = asyncio.Lock(), []

    assert await run_together(adding(lambda: lock, rows), 4) == ["pass"] * 4


async def test_the_event_loop_runs_while_an_action_waits_for_a_blocking_lock():
    lock, rows = threading.Lock(), []
    lock.acquire()
    released_anyway = threading.Timer(60, lock.release)
    released_anyway.start()

    async def tick():
        for _ in range(5):
            await asyncio.sleep(0.005)
        released_anyway.cancel()
        lock.release()

    ticking = asyncio.ensure_future(tick())
    with collect_reports() as reports:
        await adding(lock, rows)()
    await ticking

    assert 0 < reports[0]["rows"].timing.lock_seconds < 60
    assert not lock.locked()


async def test_a_thousand_windows_on_one_blocking_lock_take_a_thread_each_in_turn():
    lock, rows, most, before = threading.Lock(), [], [0], lock_threads_alive()

    @expects(change("rows", lambda: len(rows)).by(1).exclusively(lock))
    async def act():
        most[0] = max(most[0], len(lock_threads_alive() - before))
        rows.append(1)

    outcomes = await run_together(act, 1000)

    assert outcomes == ["pass"] * 1000
    assert most[0] <= 10  # some have done their work, and are about to end


async def test_windows_that_recompute_a_lock_do_not_each_need_a_thread(tmp_path):
    rows, most, before = [], [0], lock_threads_alive()

    @expects(change("rows", lambda: len(rows)).by(1).exclusively(lambda: FileLock(tmp_path / "rows.lock")))
    async def act():
        most[0] = max(most[0], len(lock_threads_alive() - before))
        rows.append(1)

    assert await run_together(act, 50) == ["pass"] * 50
    assert most[0] <= 10  # some have done their work, and are about to end


async def test_a_nested_window_does_not_take_the_lock_again():
    lock, rows = threading.Lock(), []
    inner = adding(lock, rows, name="inner")

    @expects(change("rows", lambda: len(rows)).by(2).exclusively(lock), name="outer")
    async def outer():
        await inner()
        await inner()

    with collect_reports() as reports:
        await outer()

    assert [(report.action, report.outcome) for report in reports] == [
        ("inner", "pass"),
        ("inner", "pass"),
        ("outer", "pass"),
    ]


async def test_a_block_window_takes_an_async_lock():
    lock = asyncio.Lock()
    async with window("load", change("rows", lambda: 0).by(0).exclusively(lock)) as opened:
        held = lock.locked()

    assert (held, lock.locked(), opened.report.outcome) == (True, False, "pass")


async def test_no_thread_is_kept_for_a_lock_without_waiters(tmp_path):
    await run_together(adding(lambda: FileLock(tmp_path / "rows.lock"), []), 3)
    gc.collect()

    assert lock_threads() == {}


async def test_locks_of_two_event_loops_do_not_meet():
    lock, rows = threading.Lock(), []
    act = adding(lock, rows)
    reports = []

    def elsewhere():
        async def some():
            with collect_reports() as collected:
                await asyncio.gather(act(), act(), act())
            reports.extend(collected)

        asyncio.run(some())

    threads = [asyncio.to_thread(elsewhere) for _ in range(2)]
    await asyncio.wait_for(asyncio.gather(*threads, run_together(act, 3)), 60)

    assert [report.outcome for report in reports] == ["pass"] * 6
    assert len(rows) == 9


# Release ------------------------------------------------------------------------------------------------


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
async def test_a_task_cancelled_while_it_waits_for_a_lock_ends_without_taking_it(make):
    lock, rows = make(), []
    if make is asyncio.Lock:
        await lock.acquire()
    else:
        lock.acquire()
    with collect_reports() as reports:
        task = asyncio.ensure_future(adding(lock, rows)())
        await asyncio.sleep(0.02)
        await cancel(task)
    lock.release()
    outcomes = await asyncio.wait_for(run_together(adding(lock, rows), 2), 60)

    assert reports[0]["rows"].reason == "abandoned"
    assert outcomes == ["pass", "pass"]
    assert not lock.locked()


async def test_abandoned_waits_leave_one_thread_in_total():
    lock, rows = threading.Lock(), []
    lock.acquire()
    act = adding(lock, rows)
    before = lock_threads_alive()
    for _ in range(10):
        task = asyncio.ensure_future(act())
        await reached(lambda: lock_threads_alive() - before)
        await asyncio.sleep(0.005)
        await cancel(task)
    waiting = len(lock_threads_alive() - before)
    lock.release()
    outcomes = await asyncio.wait_for(run_together(act, 2), 60)

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

    lock, hang, held = OverTheNetwork(), AsyncHang(), []

    @expects(change("rows", lambda: 0).exclusively(lock))
    async def act():
        held.append(lock.held)
        await hang()

    await hang.cancel(act())

    assert (held, lock.held) == ([True], False)


async def test_a_task_that_is_cancelled_in_its_probe_releases_the_lock():
    lock, hang, held = asyncio.Lock(), AsyncHang(), []

    async def read():
        held.append(lock.locked())
        await hang()

    @expects(change("rows", read).exclusively(lock))
    async def act():
        pass

    await hang.cancel(act())

    assert (held, lock.locked()) == ([True], False)


async def test_a_lock_that_raises_makes_the_check_inconclusive_and_the_action_runs():
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


async def test_a_lock_that_cannot_be_released_is_logged_and_breaks_nothing(caplog):
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


def test_a_blocking_lock_without_asyncio_is_taken_on_the_thread_of_the_action():
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
