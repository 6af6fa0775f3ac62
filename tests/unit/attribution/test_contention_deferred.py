"""The window of a deferred run ends for others when its action has ended and its post-state is read."""

import asyncio
import threading

from deltaspan import change, collect_reports, expects, unchanged
from deltaspan._engine import _deferred


def outcomes(reports):
    return {report.outcome for report in reports}


def test_deferred_calls_one_after_another_do_not_contend():
    rows = []
    act = expects(change("rows", lambda: len(rows)).by(1), deferred=True)(lambda: rows.append(1))
    with collect_reports() as reports:
        for _ in range(200):
            act()
        assert _deferred.drain(30)

    assert (len(reports), outcomes(reports)) == (200, {"pass"})


async def test_deferred_async_calls_one_after_another_do_not_contend():
    rows, done, reports = [], asyncio.Event(), []

    async def read():
        await asyncio.sleep(0)
        return len(rows)

    def report(found):
        reports.append(found)
        if len(reports) == 200:
            done.set()

    @expects(change("rows", read).by(1), deferred=True, on_report=report)
    async def act():
        rows.append(1)

    for _ in range(200):
        await act()
    await asyncio.wait_for(done.wait(), 30)

    assert outcomes(reports) == {"pass"}


def test_a_later_read_is_credited_if_no_other_run_wrote():
    rows = []
    check = change("rows", lambda: len(rows)).by(1).eventually(5, every=0.01)
    act = expects(check, deferred=True)(lambda: None)
    with collect_reports() as reports:
        act()
        rows.append(1)
        assert _deferred.drain(60)

    assert outcomes(reports) == {"pass"}


def test_a_later_read_is_contended_if_another_run_wrote_since():
    rows = []
    late = expects(
        change("rows", lambda: len(rows)).by(1).eventually(5, every=0.01), name="late", deferred=True
    )(lambda: None)
    other = expects(change("rows", lambda: len(rows)).by(1), name="other")(lambda: rows.append(1))
    with collect_reports() as reports:
        late()
        other()
        assert _deferred.drain(10)

    assert {report.action: report["rows"].reason for report in reports} == {
        "late": "contended",
        "other": None,
    }


def test_a_state_that_must_hold_still_notes_who_came_later():
    rows, changed = [], threading.Event()

    def read():
        return len(rows)

    still = expects(unchanged("rows", read).holding_for(0.3, every=0.01), name="still", deferred=True)(
        lambda: None
    )
    other = expects(change("rows", read).by(1), name="other")(lambda: (rows.append(1), changed.set()))
    with collect_reports() as reports:
        still()
        other()
        assert _deferred.drain(10)

    assert {report.action: report["rows"].reason for report in reports} == {
        "still": "contended",
        "other": None,
    }


def test_an_interrupt_while_the_post_state_is_read_ends_the_window():
    reads, reports = [], []

    def read():
        reads.append(1)
        if len(reads) == 2:
            raise KeyboardInterrupt
        return 0

    act = expects(change("rows", read).by(1), deferred=True, on_report=reports.append)(lambda: None)
    try:
        act()
    except KeyboardInterrupt:
        reads.append("interrupted")

    assert reads[-1] == "interrupted"
    assert [report["rows"].reason for report in reports] == ["abandoned"]


def test_a_write_of_the_caller_after_a_deferred_call_is_not_credited_to_that_call():
    rows = []
    late = expects(
        change("rows", lambda: len(rows)).by(1).eventually(5, every=0.01), name="late", deferred=True
    )(lambda: None)

    @expects(change("rows", lambda: len(rows)).by(1), name="caller")
    def call():
        late()
        rows.append(1)

    with collect_reports() as reports:
        call()
        assert _deferred.drain(10)

    found = {report.action: report["rows"] for report in reports}
    assert found["caller"].passed
    assert found["late"].reason == "contended"
    assert "caller (causal tag" in found["late"].explanation


def test_a_caller_is_not_held_against_a_deferred_call_that_was_read_once():
    rows = []
    act = expects(change("rows", lambda: len(rows)).by(1), name="act", deferred=True)(lambda: rows.append(1))

    @expects(change("rows", lambda: len(rows)).by(2), name="caller")
    def call():
        act()
        rows.append(1)

    with collect_reports() as reports:
        call()
        assert _deferred.drain(10)

    assert outcomes(reports) == {"pass"}
