"""`deferred=True`: the action's result at once, the verdict in the background."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from deltaspan import change, collect_reports, expects
from deltaspan._engine import _deferred
from deltaspan.exceptions import DefinitionValueError
from support.reports import reports_of


@pytest.fixture
def rows():
    return []


def drained():
    assert _deferred.drain(60)


def test_the_result_is_there_before_the_verdict(rows):
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


def test_the_verdict_is_on_a_linked_span_of_the_same_trace(rows, recorded):
    expects(change("rows", lambda: len(rows)).by(2), name="load", deferred=True)(lambda: rows.append(1))()
    drained()
    action, verify = sorted(recorded.spans, key=lambda span: span.start_time)

    assert (action.name, verify.name) == ("execute_tool load", "delta.verify load")
    assert verify.context.trace_id == action.context.trace_id
    assert verify.parent.span_id == action.context.span_id
    assert [link.context.span_id for link in verify.links] == [action.context.span_id]
    assert verify.attributes["delta.action.outcome"] == "fail"
    assert verify.attributes["delta.causal_tag.id"] == action.attributes["delta.causal_tag.id"]
    assert [event.name for event in verify.events] == ["delta.check"]
    assert "delta.action.outcome" not in action.attributes


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
        point.attributes["delta.check.outcome"]: point.value for point in recorded.points("delta.checks")
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


def test_a_loop_that_ends_first_leaves_the_check_without_a_verdict(rows):
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
