"""Time limits of probes: a probe that hangs makes its check inconclusive and delays nothing else."""

import asyncio
import contextlib
import subprocess
import sys
import threading
import time
from contextvars import ContextVar

import pytest

from deltaspan import _workers as _threads
from deltaspan import change, collect_reports, current_causal_tag, expects, probe, window
from deltaspan._workers import MAX_THREADS, Pool
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from support.hanging import Hanging, run, threads_of
from support.waiting import cancel, reached, wait_until

REQUEST = ContextVar("REQUEST", default="none")


async def act():
    return "acted"


@pytest.fixture
def pool(monkeypatch):
    """Threads of the test's own, few of them."""
    made = Pool(2, f"few-{time.perf_counter_ns()}")
    monkeypatch.setattr(_threads, "_pool", made)
    return made


@pytest.mark.parametrize(("hangs", "when"), [(1, "before"), (2, "after")])
def test_a_probe_that_hangs_makes_its_check_inconclusive(hangs, when):
    hanging = Hanging(hangs)
    try:
        found, report = run(expects(change("rows", hanging.read).timeout(0.5))(lambda: "acted"))
    finally:
        hanging.let_go.set()

    assert found == "acted"
    assert (report["rows"].outcome, report["rows"].reason) == ("inconclusive", "probe_timeout")
    assert report["rows"].explanation == f"rows: {when} the action the probe did not answer within 0.5 s"


@pytest.mark.parametrize(("hangs", "when"), [(1, "before"), (2, "after")])
async def test_an_async_probe_that_hangs_is_cancelled(hangs, when):
    reads, cancelled = [], []

    async def read():
        reads.append(1)
        if len(reads) == hangs:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(1)
                raise
        return 0

    with collect_reports() as reports:
        found = await expects(change("rows", read).timeout(0.5))(act)()
    await asyncio.sleep(0)

    assert found == "acted"
    assert reports[0]["rows"].explanation == f"rows: {when} the action the probe did not answer within 0.5 s"
    assert cancelled == [1]


async def test_an_async_probe_that_will_not_be_cancelled_is_left_behind():
    may_end, ended = asyncio.Event(), asyncio.Event()

    async def read():
        while not may_end.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await may_end.wait()
        ended.set()

    asyncio.get_running_loop().call_later(60, may_end.set)
    with collect_reports() as reports:
        assert await expects(change("rows", read).timeout(0.01))(act)() == "acted"

    assert not may_end.is_set()
    assert reports[0]["rows"].reason == "probe_timeout"
    may_end.set()
    await ended.wait()


def test_a_late_answer_changes_nothing(pool):
    hanging = Hanging(2)
    _, report = run(expects(change("rows", hanging.read).timeout(0.5))(lambda: None))
    before = report.to_dict()
    hanging.let_go.set()
    wait_until(lambda: pool._idle)  # the thread has passed its answer on

    assert report.to_dict() == before
    assert report["rows"].has_post_state is False


def test_a_probe_that_answers_in_time_is_judged():
    rows = []
    _, report = run(expects(change("rows", lambda: len(rows)).by(1).timeout(60))(lambda: rows.append(1)))

    assert report.outcome == "pass"


async def test_a_probe_that_answers_in_time_is_judged_in_an_async_action():
    rows = []

    async def act():
        rows.append(1)

    async def read():
        return len(rows)

    checks = [change("rows", read).by(1).timeout(60), change("same", lambda: len(rows)).by(1).timeout(60)]
    with collect_reports() as reports:
        await expects(*checks)(act)()

    assert reports[0].outcome == "pass"


async def test_an_exception_of_a_probe_in_time_is_the_reason():
    async def read():
        raise OSError("gone")

    def read_now():
        raise OSError("gone")

    checks = [change("rows", read).timeout(60), change("same", read_now).timeout(60)]
    with collect_reports() as reports:
        await expects(*checks)(act)()

    assert [check.explanation for check in reports[0]] == [
        "rows: before the action the probe raised OSError: gone",
        "same: before the action the probe raised OSError: gone",
    ]


async def test_a_plain_probe_that_returns_an_awaitable_is_awaited_within_its_limit():
    async def count():
        return 3

    async def hang():
        await asyncio.sleep(60)

    # Nothing about these lambdas tells beforehand that they are async.
    checks = [change("rows", lambda: count()).timeout(60), change("hung", lambda: hang()).timeout(0.02)]
    with collect_reports() as reports:
        await expects(*checks)(act)()

    assert reports[0]["rows"].post_state == 3
    assert reports[0]["hung"].reason == "probe_timeout"


async def test_a_probe_that_hangs_does_not_stop_the_event_loop():
    hanging = Hanging(1)

    async def tick():
        for _ in range(5):
            await asyncio.sleep(0)
        hanging.let_go.set()

    ticking = asyncio.ensure_future(tick())
    with collect_reports() as reports:
        await expects(change("rows", hanging.read).timeout(20))(act)()
    await ticking

    assert reports[0]["rows"].pre_state == 99


async def test_cancellation_while_a_limited_read_is_awaited_ends_the_window():
    hanging = Hanging(1)

    with collect_reports() as reports:
        task = asyncio.ensure_future(expects(change("rows", hanging.read).timeout(30))(act)())
        await reached(lambda: hanging.reads)
        await cancel(task)
    hanging.let_go.set()

    assert reports[0]["rows"].reason == "abandoned"


def test_a_limit_is_a_positive_number_of_seconds():
    with pytest.raises(DefinitionValueError, match="timeout=0 must be a positive number of seconds"):
        change("rows", len).timeout(0)
    with pytest.raises(DefinitionTypeError, match="timeout takes a number of seconds, not '1'"):
        change("rows", len).timeout("1")
    with pytest.raises(DefinitionValueError, match="was already set on"):
        change("rows", len).timeout(1).timeout(2)


def test_windows_by_hand_limit_their_reads_too():
    hanging = Hanging(1)
    opened = window("load", change("rows", hanging.read).timeout(0.01))
    baselines = opened.capture_baseline()
    report = opened.verify()
    hanging.let_go.set()

    assert baselines == {}
    assert report["rows"].reason == "probe_timeout"


# Context and event loops --------------------------------------------------------------------------------


def test_the_probe_finds_the_context_of_the_action_in_its_thread():
    found = []

    def read():
        found.append(
            (REQUEST.get(), current_causal_tag(), threading.current_thread() is threading.main_thread())
        )
        return 0

    token = REQUEST.set("one")
    try:
        _, report = run(expects(change("rows", read).timeout(60))(lambda: None))
    finally:
        REQUEST.reset(token)

    assert found == [("one", report.causal_tag, False)] * 2


async def test_the_probe_finds_the_context_of_an_async_action_in_its_thread():
    found = []

    @probe(blocking=True)
    def read():
        found.append((REQUEST.get(), current_causal_tag()))
        return 0

    token = REQUEST.set("two")
    with collect_reports() as reports:
        await expects(change("rows", read))(act)()
    REQUEST.reset(token)

    assert found == [("two", reports[0].causal_tag)] * 2


async def test_a_timeout_applies_outside_asyncio_too():
    hanging = Hanging(2)

    coroutine = expects(change("rows", hanging.read).timeout(0.5))(act)()
    with collect_reports() as reports:
        found = await asyncio.to_thread(drive, coroutine)
    hanging.let_go.set()

    assert found == "acted"
    assert reports[0]["rows"].reason == "probe_timeout"


def drive(coroutine):
    """Run a coroutine that never has to wait, without any event loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def test_an_async_probe_with_a_limit_outside_asyncio_has_no_verdict():
    async def read():
        return 0

    with collect_reports() as reports:
        assert drive(expects(change("rows", read).timeout(1))(act)()) == "acted"

    assert reports[0]["rows"].explanation == (
        "rows: before the action the probe raised RuntimeError: an async probe can be given a time limit by "
        "asyncio alone"
    )


# Threads of limited reads -------------------------------------------------------------------------------


def test_further_reads_time_out_while_all_threads_hang(pool):
    hanging = Hanging(1, 2)
    act = expects(change("rows", hanging.read).timeout(0.2))(lambda: None)
    reasons = [run(act)[1]["rows"].reason for _ in range(4)]
    hanging.let_go.set()
    _, after = run(expects(change("rows", lambda: 0).by(0).timeout(60))(lambda: None))

    assert reasons == ["probe_timeout"] * 4
    assert hanging.reads == 2
    assert after.outcome == "pass"


def test_reads_that_gave_up_before_a_thread_was_free_are_forgotten(pool):
    hanging = Hanging(1, 2)
    for _ in range(10):
        run(expects(change("rows", hanging.read).timeout(0.005))(lambda: None))

    assert len(pool._queue) == 0
    hanging.let_go.set()


def test_the_pool_starts_no_more_than_its_maximum_of_threads(pool):
    release = threading.Event()
    futures = [pool.submit(release.wait) for _ in range(20)]
    started = threads_of(pool)
    release.set()

    assert started == 2
    assert [future.result(60) for future in futures] == [True] * 20


def test_a_thread_that_is_idle_is_used_again(pool):
    for _ in range(20):
        pool.submit(lambda: None).result(60)
        wait_until(lambda: pool._idle)

    assert threads_of(pool) == 1


def test_a_thread_that_cannot_be_started_makes_the_check_inconclusive(pool, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    found, report = run(expects(change("rows", lambda: 0).timeout(1))(lambda: "acted"))

    assert found == "acted"
    assert report["rows"].explanation == (
        "rows: before the action the probe raised RuntimeError: can't start new thread"
    )
    assert (len(pool._unstarted), len(pool._queue)) == (2, 0)


def test_the_maximum_of_read_threads_of_a_process_is_32():
    assert MAX_THREADS == 32


ENDS = """
import time
from deltaspan import change, collect_reports, expects

reads = []

def read():
    reads.append(1)
    if len(reads) == 2:
        time.sleep(3600)
    return 0

with collect_reports() as reports:
    print(expects(change("rows", read).timeout(1))(lambda: "acted")(), reports[0]["rows"].reason)
"""


def test_the_process_ends_even_if_a_probe_hangs():
    ended = subprocess.run(
        [sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=30, check=False
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "acted probe_timeout\n", "")
