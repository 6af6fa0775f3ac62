"""A window that is handed over is verified where its text is loaded: same tag, same trace, one verdict."""

from __future__ import annotations

import gc
import json
import threading
from datetime import datetime, timezone

import pytest

from deltaspan import (
    DeltaCheckFailed,
    Window,
    change,
    collect_reports,
    observe,
    unchanged,
    window,
)
from deltaspan._workers import drain
from support.process import open_windows

TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
ROOT = "7c1f0f5e-2222-4333-8444-555566667777"


class Rows(list):
    """A piece of state to act on."""

    def count(self):
        return len(self)


@pytest.fixture
def rows():
    return Rows([1, 2, 3])


def opened(*checks, name="load", **options):
    w = window(name, *checks, **options)
    w.capture_baseline()
    return w


def attributes(span):
    return dict(span.attributes)


# The verdict ------------------------------------------------------------------------------------------------


def test_a_window_that_is_handed_over_is_verified_against_its_own_baseline(rows):
    check = change("rows", rows.count).by(2)
    text = opened(check).to_json()
    rows.extend([4, 5])
    report = Window.from_json(text, check).verify()

    assert (report.action, report.outcome) == ("load", "pass")
    assert report["rows"].explanation == "rows changed by 2, as expected (3 → 5)"


def test_a_state_of_any_kind_is_compared_as_if_it_had_never_left():
    state = {
        "at": datetime(2026, 1, 1, tzinfo=timezone.utc),
        "tags": {"a", 1},
        "rows": [(1, b"x")],
        None: 1.5,
    }
    text = opened(unchanged("state", lambda: state)).to_json()

    assert Window.from_json(text, unchanged("state", lambda: state)).verify().outcome == "pass"


def test_checks_are_bound_by_metric_whatever_their_order(rows):
    by_rows, users = change("rows", rows.count).by(1), unchanged("users", lambda: "Ada")
    text = opened(by_rows, users).to_json()
    rows.append(4)
    report = Window.from_json(text, users, by_rows).verify()

    assert [(check.metric, check.outcome) for check in report] == [("users", "pass"), ("rows", "pass")]


def test_the_values_of_args_are_there_again(rows):
    check = change("rows", lambda table: len(rows) if table == ["t", {"x"}] else 0).by(lambda count: count)
    text = opened(check, args={"table": ["t", {"x"}], "count": 1}).to_json()
    rows.append(4)

    assert (
        Window.from_json(text, check).verify()["rows"].explanation == "rows changed by 1, as expected (3 → 4)"
    )


def test_the_result_of_the_act_is_given_to_verify(rows):
    check = change("rows", rows.count).by(lambda result: result["loaded"])
    text = opened(check).to_json()
    rows.append(4)

    assert Window.from_json(text, check).verify(result={"loaded": 1}).outcome == "pass"


def test_policies_and_hooks_are_those_of_the_side_that_verifies(rows):
    check, received = change("rows", rows.count).by(1), []
    text = opened(check, on_failure="record").to_json()
    there = Window.from_json(text, check, on_failure="raise", on_report=received.append)

    with pytest.raises(DeltaCheckFailed):
        there.verify()
    assert received == [there.report]


def test_a_baseline_that_failed_there_is_inconclusive_here(rows):
    class GoneError(Exception):
        pass

    def gone():
        raise GoneError("no such table")

    text = opened(
        change("gone", gone), change("lock", threading.Lock), change("rows", rows.count).by(0)
    ).to_json()
    report = Window.from_json(
        text, change("gone", rows.count), change("lock", rows.count), change("rows", rows.count).by(0)
    ).verify()

    assert [(check.reason, check.explanation) for check in report] == [
        ("baseline_failed", "gone: before the action the probe raised GoneError: no such table"),
        (
            "incomparable",
            (
                "lock: the probe's value before the action cannot be compared: "
                "found a lock (lock): return the values that it guards instead"
            ),
        ),
        (None, "rows changed by 0, as expected (3 → 3)"),
    ]


def test_a_check_that_was_sampled_out_there_is_skipped_here(rows):
    text = opened(change("rows", rows.count).sampled(0), observe("users", rows.count)).to_json()
    report = Window.from_json(text, change("rows", rows.count).by(1), observe("users", rows.count)).verify()

    assert [check.outcome for check in report] == ["skipped", "observed"]


def test_a_text_that_is_loaded_twice_is_verified_twice(rows):
    check = change("rows", rows.count).by(1)
    text = opened(check).to_json()
    rows.append(4)
    first, second = Window.from_json(text, check), Window.from_json(text, check)
    with collect_reports() as reports:
        first.verify()
        second.verify()

    assert [report.outcome for report in reports] == ["pass", "pass"]
    assert reports[0].causal_tag == reports[1].causal_tag
    assert open_windows() == {}


def test_a_window_may_be_handed_on(rows):
    check = change("rows", rows.count).by(1)
    w = opened(check, args={"unused": 1})
    text = Window.from_json(w.to_json(), check).to_json()
    rows.append(4)
    report = Window.from_json(text, check).verify()

    assert (report.outcome, report.causal_tag) == ("pass", w.causal_tag)


def test_the_text_may_be_reformatted_on_its_way(rows):
    check = unchanged("rows", lambda: (1.0, 2**70, "ä"))
    text = json.dumps(json.loads(opened(check).to_json()), indent=2, ensure_ascii=False)

    assert Window.from_json(text.encode(), check).verify().outcome == "pass"


# Where it closes ------------------------------------------------------------------------------------------


def test_here_it_is_neither_verified_nor_abandoned(recorded, rows):
    with collect_reports() as reports:
        w = opened(change("rows", rows.count).by(1))
        w.to_json()
        del w
        gc.collect()
        drain()

    assert reports == []
    assert recorded.points("delta.action.duration") == []


def test_here_it_contends_with_nobody_any_more(rows):
    opened(change("rows", rows.count).by(1)).to_json()
    rows.append(4)

    assert open_windows() == {}


def test_a_window_that_is_loaded_and_never_verified_is_abandoned(rows):
    check, received = change("rows", rows.count).by(1), []
    there = Window.from_json(opened(check).to_json(), check, on_report=received.append)
    del there
    gc.collect()
    drain()

    assert [report["rows"].reason for report in received] == ["abandoned"]


def test_what_wrote_meanwhile_before_it_was_handed_over_is_not_forgotten(rows):
    check = change("rows", rows.count).by(1)
    w = opened(check)
    with window("other", change("rows", rows.count)):
        rows.append(4)
    report = Window.from_json(w.to_json(), check).verify()

    assert report["rows"].reason == "contended"
    assert "but other (causal tag " in report["rows"].explanation


# Disabled -------------------------------------------------------------------------------------------------


def test_disabled_where_the_baseline_is_captured_it_is_skipped_where_it_is_verified(environ, rows):
    check = change("rows", rows.count).by(1)
    environ(DELTASPAN_ENABLED="false")
    text = opened(check).to_json(key="secret")
    environ(DELTASPAN_ENABLED="true")
    report = Window.from_json(text, check, key="secret").verify()

    assert (report.outcome, report["rows"].explanation) == (
        "skipped",
        "rows: not verified, because DELTASPAN_ENABLED was false where the baseline is captured",
    )


def test_disabled_where_it_is_verified_it_is_skipped(environ, rows):
    check = change("rows", rows.count).by(1)
    text = opened(check).to_json()
    environ(DELTASPAN_ENABLED="false")

    assert Window.from_json(text, check).verify().outcome == "skipped"
