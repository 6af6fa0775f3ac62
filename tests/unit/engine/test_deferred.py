"""Runs that end after their call: verdicts in the background, and futures."""

import asyncio
import gc
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, observe, unchanged
from deltaspan._engine import _deferred
from deltaspan._workers import drain
from deltaspan.exceptions import DefinitionValueError
from support.process import open_windows
from support.reports import reports_of


@pytest.fixture
def rows():
    return []


def drained():
    assert _deferred.drain(60)


def test_the_result_is_returned_before_the_verdict(rows):
    reports = []
    settled = threading.Event()

    act = expects(
        change("rows", lambda: len(rows)).by(1).eventually(60, every=0.02),
        deferred=True,
        on_report=lambda report: (reports.append(report), settled.set()),
    )(lambda: "accepted")

    assert act() == "accepted"
    assert reports == []
    rows.append(1)
    assert settled.wait(60)
    assert reports[0].outcome == "pass"


def test_the_report_reaches_the_collection_of_its_context(rows):
    act = expects(change("rows", lambda: len(rows)).by(1), deferred=True)(lambda: rows.append(1))

    with collect_reports() as reports:
        act()
        drained()

    assert [report.outcome for report in reports] == ["pass"]


def test_the_baseline_is_still_read_before_the_action(rows):
    act = expects(change("rows", lambda: len(rows)).from_(0).to(1), deferred=True)(lambda: rows.append(1))

    with collect_reports() as reports:
        act()
        drained()

    assert reports[0]["rows"].pre_state == 0


def test_the_verdict_is_on_a_span_below_that_of_the_action(rows, recorded):
    expects(change("rows", lambda: len(rows)).by(2), name="load", deferred=True)(lambda: rows.append(1))()
    drained()
    action, verify = sorted(recorded.spans, key=lambda span: span.start_time)

    assert (action.name, verify.name) == ("execute_tool load", "verify load")
    assert verify.context.trace_id == action.context.trace_id
    assert verify.parent.span_id == action.context.span_id
    assert verify.links == ()
    assert action.attributes["deltaspan.verification.deferred"] is True
    assert "deltaspan.verification.deferred" not in verify.attributes
    assert verify.attributes["deltaspan.action.outcome"] == "fail"
    assert verify.attributes["deltaspan.causal_tag.id"] == action.attributes["deltaspan.causal_tag.id"]
    assert [event.name for event in verify.events] == ["deltaspan.check.result"]
    assert "deltaspan.action.outcome" not in action.attributes


def test_the_span_of_the_action_ends_with_the_action(rows, recorded):
    check = change("rows", lambda: len(rows)).by(2).eventually(60, every=0.01)
    expects(check, name="load", deferred=True)(lambda: rows.append(1))()
    ended = [span.name for span in recorded.spans]
    rows.append(2)
    drained()

    assert ended == ["execute_tool load"]


def test_metrics_are_recorded_with_the_verdict(rows, recorded):
    expects(change("rows", lambda: len(rows)).by(1), name="load", deferred=True)(lambda: rows.append(1))()
    drained()
    counts = {
        point.attributes["deltaspan.check.outcome"]: point.value
        for point in recorded.points("deltaspan.checks")
    }

    assert counts == {"pass": 1, "fail": 0}


def test_an_async_action_settles_as_a_task(rows):
    async def probe():
        await asyncio.sleep(0)
        return len(rows)

    async def add():
        rows.append(1)
        return "accepted"

    async def main():
        done = asyncio.Event()
        reports = []
        act = expects(
            change("rows", probe).by(1),
            deferred=True,
            on_report=lambda report: (reports.append(report), done.set()),
        )(add)
        result = await act()
        early = list(reports)
        await asyncio.wait_for(done.wait(), 60)
        return result, early, reports[0].outcome

    assert asyncio.run(main()) == ("accepted", [], "pass")


def test_an_event_loop_that_ends_first_makes_the_check_inconclusive(rows):
    reads, hangs = [], asyncio.Event()

    async def probe():
        reads.append(1)
        if len(reads) == 3:
            hangs.set()
            await asyncio.sleep(60)
        return len(rows)

    async def add():
        rows.append(1)

    async def main():
        await expects(change("rows", probe).by(2).eventually(60, every=0.001), deferred=True)(add)()
        await hangs.wait()

    reports = reports_of(lambda: asyncio.run(main()))

    assert [(r.outcome, r["rows"].reason) for r in reports] == [("inconclusive", "abandoned")]


def test_the_exception_of_the_action_is_raised_at_once(rows):
    def fail():
        raise ValueError("no")

    with collect_reports() as reports:
        with pytest.raises(ValueError, match="no"):
            expects(change("rows", lambda: len(rows)).by(1), deferred=True)(fail)()
        drained()

    assert reports[0]["rows"].reason == "action_failed"


def test_a_hundred_runs_settle_at_once():
    reads = dict.fromkeys(range(100), 0)

    def read(number):
        reads[number] += 1
        return int(min(reads.values()) >= 2)  # all runs have read again

    check = change("rows", read).by(1).eventually(60, every=0.05)
    with collect_reports() as reports:
        for number in reads:
            expects(check, deferred=True)(lambda number: None)(number)
        assert _deferred.drain(60)

    assert [report.outcome for report in reports] == ["pass"] * 100


def test_the_process_waits_for_its_verdicts_at_exit():
    program = """
import time
from deltaspan import change, expects
rows = []
def probe():
    time.sleep(0.05)
    return len(rows)
@expects(change("rows", probe).by(1), deferred=True, on_report=lambda report: print(report.outcome))
def add():
    rows.append(1)
add()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout == "pass\n"


@pytest.mark.parametrize("policy", ["on_failure", "on_inconclusive"])
def test_raising_from_the_background_is_refused(rows, policy):
    with pytest.raises(DefinitionValueError, match="'raise' would raise nowhere"):
        expects(change("rows", lambda: len(rows)), deferred=True, **{policy: "raise"})


def test_a_lock_until_a_deferred_verdict_is_refused(rows):
    check = change("rows", lambda: len(rows)).exclusively(threading.Lock())

    with pytest.raises(DefinitionValueError, match="holds a lock until its verdict"):
        expects(check, deferred=True)(lambda: None)


# Futures ------------------------------------------------------------------------------------------------


async def test_a_task_is_judged_when_it_is_done(flows):
    async def create():
        await asyncio.sleep(0)
        flows.rows.append(1)
        return "done"

    tasks = []

    @expects(
        change("flows", flows.count).by(1), change("result", flows.count).by(lambda result: len(result) - 3)
    )
    def act():
        tasks.append(asyncio.ensure_future(create()))
        return tasks[0]

    with collect_reports() as reports:
        returned = act()
        assert returned is tasks[0]
        assert reports == []
        assert await returned == "done"

    assert [check.outcome for check in reports[0]] == ["pass", "pass"]
    assert current_causal_tag() is None


async def test_the_tag_is_current_in_the_task_that_an_action_starts(flows):
    async def create():
        await asyncio.sleep(0)
        return current_causal_tag()

    act = expects(observe("flows", flows.count))(lambda: asyncio.ensure_future(create()))
    with collect_reports() as reports:
        inside = await act()

    assert inside == reports[0].causal_tag


async def test_a_task_that_fails_is_a_failed_action(flows):
    async def create():
        raise LookupError("no such tenant")

    act = expects(change("flows", flows.count), unchanged("users", lambda: 1))(
        lambda: asyncio.ensure_future(create())
    )
    with collect_reports() as reports, pytest.raises(LookupError):
        await act()

    assert [(check.outcome, check.reason) for check in reports[0]] == [
        ("inconclusive", "action_failed"),
        ("pass", None),
    ]


async def test_a_failed_task_that_is_never_awaited_is_still_reported_by_its_loop(flows):
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))

    async def create():
        raise LookupError

    expects(observe("flows", flows.count))(lambda: asyncio.ensure_future(create()))()
    for _ in range(3):
        await asyncio.sleep(0)
    gc.collect()

    assert told == ["Task exception was never retrieved"]


async def test_a_task_that_is_cancelled_is_a_failed_action(flows):
    act = expects(change("flows", flows.count))(lambda: asyncio.ensure_future(asyncio.sleep(60)))
    with collect_reports() as reports:
        task = act()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert reports[0]["flows"].explanation.startswith("flows: the action raised CancelledError")


async def test_a_future_that_was_done_already_is_judged(flows):
    done = asyncio.get_running_loop().create_future()
    done.set_result("done")

    with collect_reports() as reports:
        assert expects(observe("flows", flows.count))(lambda: done)() is done
        await asyncio.sleep(0)

    assert [report.outcome for report in reports] == ["observed"]


def test_a_future_of_a_pool_is_judged_when_it_is_done(flows):
    with ThreadPoolExecutor() as pool, collect_reports() as reports:
        act = expects(change("flows", flows.count).by(1), on_failure="raise")(
            lambda: pool.submit(flows.rows.append, 1)
        )
        act().result()

    assert [report.outcome for report in reports] == ["pass"]
    assert open_windows() == {}


def test_a_failure_that_should_be_raised_is_logged(flows, caplog):
    future = Future()
    act = expects(change("flows", flows.count).by(1), on_failure="raise", name="act")(lambda: future)

    assert act() is future
    future.set_result("done")

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "act: fail: expected flows to change by 1, but it changed by 0 (0 → 0)")
    ]


def test_a_future_that_is_never_done_is_abandoned_when_it_is_collected(flows):
    with collect_reports() as reports:
        expects(change("flows", flows.count))(lambda: Future())()  # a class is no action
        gc.collect()
        assert drain()

    assert [report["flows"].reason for report in reports] == ["abandoned"]
    assert open_windows() == {}
