"""`exclusively` in async actions: blocking locks are waited for off the event loop, async ones awaited."""

import asyncio
import gc
import threading
import time

import pytest
from filelock import FileLock

from deltaspan import change, collect_reports, expects, window
from support.process import held_locks, lock_threads


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


async def test_the_event_loop_goes_on_while_a_blocking_lock_is_waited_for():
    lock, ticks, rows = threading.Lock(), [], []
    lock.acquire()

    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.005)

    ticking = asyncio.ensure_future(tick())
    threading.Timer(0.06, lock.release).start()
    with collect_reports() as reports:
        await adding(lock, rows)()
    ticking.cancel()

    assert len(ticks) >= 5
    assert reports[0]["rows"].timing.lock_seconds >= 0.04
    assert not lock.locked()


async def test_a_thousand_windows_on_one_blocking_lock_take_a_thread_each_in_turn():
    lock, rows, most = threading.Lock(), [], [0]

    @expects(change("rows", lambda: len(rows)).by(1).exclusively(lock))
    async def act():
        most[0] = max(most[0], sum(thread.name == "deltaspan-lock" for thread in threading.enumerate()))
        rows.append(1)

    outcomes = await run_together(act, 1000)

    assert outcomes == ["pass"] * 1000
    assert most[0] <= 3


async def test_windows_that_compute_a_lock_anew_wait_without_a_thread_each(tmp_path):
    rows, most = [], [0]

    @expects(change("rows", lambda: len(rows)).by(1).exclusively(lambda: FileLock(tmp_path / "rows.lock")))
    async def act():
        most[0] = max(most[0], sum(thread.name == "deltaspan-lock" for thread in threading.enumerate()))
        rows.append(1)

    assert await run_together(act, 50) == ["pass"] * 50
    assert most[0] <= 3


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


async def test_nothing_is_kept_of_a_lock_that_nobody_waits_for(tmp_path):
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

    began = time.perf_counter()
    await asyncio.gather(asyncio.to_thread(elsewhere), asyncio.to_thread(elsewhere), run_together(act, 3))

    assert time.perf_counter() - began < 5
    assert [report.outcome for report in reports] == ["pass"] * 6
    assert len(rows) == 9
