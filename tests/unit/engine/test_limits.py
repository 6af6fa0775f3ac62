"""`timeout`: a probe that hangs costs its check the verdict, and the action nothing."""

import asyncio
import contextlib
import time
from contextvars import ContextVar

import pytest

from deltaspan import _workers as _threads
from deltaspan import change, collect_reports, expects, window
from deltaspan._workers import Pool
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from support.hanging import Hanging, run

REQUEST = ContextVar("REQUEST", default="none")


@pytest.fixture
def pool(monkeypatch):
    """Threads of the test's own, few of them."""
    made = Pool(2, f"few-{time.perf_counter_ns()}")
    monkeypatch.setattr(_threads, "_pool", made)
    return made


@pytest.mark.parametrize(("hangs", "when"), [(1, "before"), (2, "after")])
def test_a_probe_that_hangs_leaves_its_check_without_a_verdict(hangs, when):
    hanging = Hanging(hangs)
    try:
        found, report = run(expects(change("rows", hanging.read).timeout(0.02))(lambda: "acted"))
    finally:
        hanging.let_go.set()

    assert found == "acted"
    assert (report["rows"].outcome, report["rows"].reason) == ("inconclusive", "probe_timeout")
    assert report["rows"].explanation == f"rows: {when} the action the probe did not answer within 0.02 s"


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

    async def act():
        return "acted"

    with collect_reports() as reports:
        found = await expects(change("rows", read).timeout(0.02))(act)()
    await asyncio.sleep(0)

    assert found == "acted"
    assert reports[0]["rows"].explanation == f"rows: {when} the action the probe did not answer within 0.02 s"
    assert cancelled == [1]


async def test_an_async_probe_that_will_not_be_cancelled_is_left_behind():
    ended = asyncio.Event()

    async def read():
        for _ in range(3):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)
        ended.set()

    async def act():
        return "acted"

    began = time.perf_counter()
    with collect_reports() as reports:
        assert await expects(change("rows", read).timeout(0.01))(act)() == "acted"

    assert time.perf_counter() - began < 0.05
    assert reports[0]["rows"].reason == "probe_timeout"
    await ended.wait()


def test_a_late_answer_changes_nothing():
    hanging = Hanging(2)
    _, report = run(expects(change("rows", hanging.read).timeout(0.01))(lambda: None))
    before = report.to_dict()
    hanging.let_go.set()
    hanging.answered.wait(5)
    time.sleep(0.01)

    assert report.to_dict() == before
    assert report["rows"].has_post_state is False


def test_a_probe_that_answers_in_time_is_judged():
    rows = []
    _, report = run(expects(change("rows", lambda: len(rows)).by(1).timeout(5))(lambda: rows.append(1)))

    assert report.outcome == "pass"


async def test_a_probe_that_answers_in_time_is_judged_in_an_async_action():
    rows = []

    async def act():
        rows.append(1)

    async def read():
        return len(rows)

    checks = [change("rows", read).by(1).timeout(5), change("same", lambda: len(rows)).by(1).timeout(5)]
    with collect_reports() as reports:
        await expects(*checks)(act)()

    assert reports[0].outcome == "pass"


async def test_what_a_probe_raises_in_time_is_the_reason():
    async def read():
        raise OSError("gone")

    async def act():
        pass

    def read_now():
        raise OSError("gone")

    checks = [change("rows", read).timeout(5), change("same", read_now).timeout(5)]
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

    async def act():
        pass

    # Nothing about these lambdas tells beforehand that they are async.
    checks = [
        change("rows", lambda: count()).timeout(5),
        change("hung", lambda: hang()).timeout(0.02),
    ]
    with collect_reports() as reports:
        await expects(*checks)(act)()

    assert reports[0]["rows"].post_state == 3
    assert reports[0]["hung"].reason == "probe_timeout"


async def test_a_probe_that_hangs_does_not_stop_the_event_loop():
    hanging, ticks = Hanging(1), []

    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.005)

    async def act():
        pass

    ticking = asyncio.ensure_future(tick())
    await expects(change("rows", hanging.read).timeout(0.1))(act)()
    ticking.cancel()
    hanging.let_go.set()

    assert len(ticks) >= 5


async def test_cancellation_while_a_limited_read_is_awaited_ends_the_window():
    hanging = Hanging(1)

    async def act():
        pass

    with collect_reports() as reports:
        task = asyncio.ensure_future(expects(change("rows", hanging.read).timeout(30))(act)())
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
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
