"""`eventually`: the post-state is looked at again until the change is there; the action is run once."""

import asyncio
import threading
import time

from deltaspan import (
    change,
    expects,
    unchanged,
    window,
)
from support.queues import Queue, run, run_async


def test_a_change_that_comes_later_passes():
    queue = Queue(0, 0, 0, 1)
    found, report = run(expects(change("done", queue.read).by(1).eventually(5, every=0.001))(queue.act))

    assert found == "queued"
    assert report["done"].explanation == "done changed by 1, as expected (0 → 1)"


async def test_a_change_that_comes_later_passes_in_an_async_action_too():
    queue = Queue(0, 0, 0, 1)
    check = change("done", queue.read_later).by(1).eventually(5, every=0.001)
    _, report = await run_async(expects(check)(queue.act_later))

    assert (report.outcome, queue.reads) == ("pass", 4)


def test_the_action_is_run_once():
    queue = Queue(0, 0, 0, 1)
    run(expects(change("done", queue.read).by(1).eventually(5, every=0.001))(queue.act))

    assert queue.runs == 1


def test_a_change_that_never_comes_fails_when_time_is_up():
    queue = Queue(0)
    began = time.perf_counter()
    _, report = run(expects(change("done", queue.read).by(1).eventually(0.03, every=0.01))(queue.act))

    assert report["done"].explanation == "expected done to change by 1, but it changed by 0 (0 → 0)"
    assert time.perf_counter() - began >= 0.03


def test_attempts_and_settle_time_are_reported():
    queue = Queue(0, 0, 0, 1)
    _, report = run(expects(change("done", queue.read).by(1).eventually(5, every=0.005))(queue.act))
    timing = report["done"].timing

    assert timing.attempts == 3
    assert 0.01 <= timing.settle_seconds < 4


def test_a_change_that_is_there_at_once_took_one_attempt():
    queue = Queue(0, 1)
    _, report = run(expects(change("done", queue.read).by(1).eventually(5))(queue.act))

    assert report["done"].timing.attempts == 1


def test_attempts_and_settle_time_are_on_the_event(recorded):
    queue = Queue(0, 0, 1)
    expects(change("done", queue.read).by(1).eventually(5, every=0.005))(queue.act)()
    attributes = recorded.event.attributes

    assert attributes["delta.check.attempts"] == 2
    assert attributes["delta.check.settle_ms"] >= 5


def test_the_cost_of_every_read_is_counted():
    def slow():
        time.sleep(0.005)
        return 0

    _, report = run(expects(change("done", slow).by(1).eventually(0.03, every=0.001))(lambda: None))

    assert report["done"].probe_seconds >= 0.005 * report["done"].timing.attempts


def test_a_probe_that_fails_meanwhile_is_read_again():
    queue = Queue(0, OSError("gone"), OSError("gone"), 1)
    _, report = run(expects(change("done", queue.read).by(1).eventually(5, every=0.001))(queue.act))

    assert report.outcome == "pass"


def test_the_last_read_decides_though_it_failed():
    queue = Queue(0, 0, OSError("gone"))
    _, report = run(expects(change("done", queue.read).by(1).eventually(0.01, every=0.004))(queue.act))

    assert (report["done"].outcome, report["done"].reason) == ("inconclusive", "probe_failed")


def test_a_baseline_that_failed_is_not_waited_for():
    queue = Queue(OSError("gone"))
    _, report = run(expects(change("done", queue.read).by(1).eventually(60))(queue.act))

    assert (report["done"].reason, queue.reads) == ("baseline_failed", 1)


def test_other_checks_are_read_once():
    queue, other = Queue(0, 0, 0, 1), Queue(7)
    checks = [change("done", queue.read).by(1).eventually(5, every=0.001), unchanged("other", other.read)]
    run(expects(*checks)(queue.act))

    assert other.reads == 2


async def test_a_slow_probe_does_not_hold_up_the_polling_of_others():
    state = {"quick": 0}

    async def hangs():
        await asyncio.sleep(0.2)
        return 0

    async def act():
        asyncio.get_running_loop().call_later(0.21, state.update, {"quick": 1})

    checks = [
        change("slow", hangs).by(1).eventually(0.3, every=0.01),
        change("quick", lambda: state["quick"]).by(1).eventually(5, every=0.005),
    ]
    _, report = await run_async(expects(*checks)(act))

    assert report["quick"].outcome == "pass"
    assert report["quick"].timing.settle_seconds < report["slow"].timing.settle_seconds


async def test_windows_poll_at_once():
    async def one():
        queue = Queue(0, 0, 0, 0, 1)
        check = change("done", queue.read).by(1).eventually(5, every=0.02)
        async with window("one", check, on_contention="ignore") as opened:
            pass
        return opened.report.outcome

    began = time.perf_counter()
    outcomes = await asyncio.gather(*[one() for _ in range(50)])

    assert outcomes == ["pass"] * 50
    assert time.perf_counter() - began < 50 * 0.06


def test_polling_in_threads_keeps_to_itself():
    outcomes = []

    def one(tenant):
        queue = Queue(0, 0, 0, 1)
        with window(
            "one",
            change("done", lambda tenant: queue.read()).by(1).eventually(5, every=0.001),
            args={"tenant": tenant},
        ) as opened:
            pass
        outcomes.append((opened.report.outcome, queue.reads))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outcomes == [("pass", 4)] * 8
