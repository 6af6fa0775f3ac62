"""Windows handed over to another process: verdict, trace and age of the baseline."""

import gc
import json
import threading
import time
from datetime import datetime, timezone

import pytest

from deltaspan import (
    DeltaCheckFailed,
    DeltaInconclusive,
    Window,
    adopt,
    change,
    collect_reports,
    expects,
    observe,
    unchanged,
    window,
)
from deltaspan._workers import drain
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from support.process import open_windows

TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"


ROOT = "7c1f0f5e-2222-4333-8444-555566667777"


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


def test_checks_are_bound_by_metric_in_any_order(rows):
    by_rows, users = change("rows", rows.count).by(1), unchanged("users", lambda: "Ada")
    text = opened(by_rows, users).to_json()
    rows.append(4)
    report = Window.from_json(text, users, by_rows).verify()

    assert [(check.metric, check.outcome) for check in report] == [("users", "pass"), ("rows", "pass")]


def test_the_values_of_args_are_restored(rows):
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


def test_a_baseline_that_failed_before_the_handover_is_inconclusive(rows):
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


def test_a_check_that_was_sampled_out_before_the_handover_is_skipped(rows):
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


# Closing --------------------------------------------------------------------------------------------------


def test_a_window_that_was_handed_over_is_neither_verified_nor_abandoned(recorded, rows):
    with collect_reports() as reports:
        w = opened(change("rows", rows.count).by(1))
        w.to_json()
        del w
        gc.collect()
        drain()

    assert reports == []
    assert recorded.points("deltaspan.action.duration") == []


def test_a_window_that_was_handed_over_no_longer_contends(rows):
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


def test_a_writer_before_the_hand_over_is_not_forgotten(rows):
    check = change("rows", rows.count).by(1)
    w = opened(check)
    with window("other", change("rows", rows.count)):
        rows.append(4)
    report = Window.from_json(w.to_json(), check).verify()

    assert report["rows"].reason == "contended"
    assert "but other (causal tag " in report["rows"].explanation


# Disabled -------------------------------------------------------------------------------------------------


def test_a_window_that_is_disabled_at_its_capture_is_skipped_at_its_verification(environ, rows):
    check = change("rows", rows.count).by(1)
    environ(DELTASPAN_ENABLED="false")
    text = opened(check).to_json(key="secret")
    environ(DELTASPAN_ENABLED="true")
    report = Window.from_json(text, check, key="secret").verify()

    assert (report.outcome, report["rows"].explanation) == (
        "skipped",
        "rows: not verified, because DELTASPAN_ENABLED was false where the baseline is captured",
    )


def test_a_window_that_is_disabled_at_its_verification_is_skipped(environ, rows):
    check = change("rows", rows.count).by(1)
    text = opened(check).to_json()
    environ(DELTASPAN_ENABLED="false")

    assert Window.from_json(text, check).verify().outcome == "skipped"


# Tag, trace and span ------------------------------------------------------------------------------------


def test_a_window_that_is_handed_over_keeps_its_tag_its_parent_and_its_root(rows):
    check = change("rows", rows.count).by(1)
    with adopt({"baggage": f"deltaspan.causal_tag.id={TAG},deltaspan.causal_tag.root_id={ROOT}"}):
        w = opened(check)
    report = Window.from_json(w.to_json(), check).verify()

    assert (report.causal_tag, report.parent_tag, report.root_tag) == (w.causal_tag, TAG, ROOT)


def test_probes_that_name_the_tag_get_the_same_one():
    check = unchanged("mine", lambda causal_tag: causal_tag)

    assert Window.from_json(opened(check).to_json(), check).verify().outcome == "pass"


def test_the_verdict_is_on_a_child_of_the_half_that_captured(recorded, rows):
    check = change("rows", rows.count).by(0)
    Window.from_json(opened(check).to_json(), check).verify()
    captured, verified = recorded.spans

    assert [span.name for span in recorded.spans] == ["verify load"] * 2
    assert verified.parent.span_id == captured.context.span_id
    assert verified.context.trace_id == captured.context.trace_id
    assert attributes(captured)["deltaspan.causal_tag.id"] == attributes(verified)["deltaspan.causal_tag.id"]
    assert attributes(captured)["deltaspan.window.handed_over"] is True
    assert "deltaspan.action.outcome" not in attributes(captured)
    assert attributes(verified)["deltaspan.action.outcome"] == "pass"


def test_the_trace_that_is_current_at_the_load_is_linked(recorded, rows):
    check = change("rows", rows.count).by(0)
    text = opened(check).to_json()
    with recorded.tracer.start_as_current_span("consume") as consumer:
        Window.from_json(text, check).verify()
    verified = recorded.spans[1]

    assert [link.context.span_id for link in verified.links] == [consumer.get_span_context().span_id]
    assert verified.context.trace_id == recorded.spans[0].context.trace_id


def test_baggage_of_others_is_not_in_the_text(rows):
    with adopt({"baggage": "password=hunter2"}):
        text = opened(change("rows", rows.count)).to_json()

    assert "hunter2" not in text


def test_nothing_stays_current_after_a_window_is_loaded(recorded, rows):
    check = change("rows", rows.count)
    before = recorded.tracer.start_span("probe").parent
    there = Window.from_json(opened(check).to_json(), check)
    after = recorded.tracer.start_span("probe").parent

    assert (before, after) == (None, None)
    there.verify()


def test_the_headers_of_a_loaded_window_carry_the_same_tag(rows):
    check = change("rows", rows.count)
    w = opened(check)
    there = Window.from_json(w.to_json(), check)

    assert there.causal_headers()["baggage"] == w.causal_headers()["baggage"]
    there.verify()


def test_the_number_of_the_attempt_is_handed_over(rows):
    check = observe("rows", rows.count)

    @expects(observe("turns", lambda: 0))
    def turn():
        opened(check).verify()
        return opened(check).to_json()

    assert Window.from_json(turn(), check).verify().attempt == 2


# Age of the baseline ------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """Return what sets the wall clock on, or back, by some seconds."""
    now = time.time()

    def by(seconds):
        monkeypatch.setattr(time, "time", lambda: now + seconds)

    by(0)
    return by


def test_a_baseline_within_max_age_is_compared(rows, clock):
    check = change("rows", rows.count).by(1)
    text = opened(check).to_json()
    rows.append(4)
    clock(50)

    assert Window.from_json(text, check, max_age=60).verify().outcome == "pass"


def test_every_check_of_a_stale_baseline_is_inconclusive_and_keeps_its_states(rows, clock):
    checks = (change("rows", rows.count).by(1), unchanged("users", lambda: 7), observe("seen", lambda: 1))
    text = opened(*checks).to_json()
    rows.append(4)
    clock(100)
    report = Window.from_json(text, *checks, max_age=60).verify()

    assert [(check.outcome, check.reason) for check in report] == [("inconclusive", "stale_baseline")] * 3
    assert (report["rows"].pre_state, report["rows"].post_state, report["rows"].actual_delta) == (3, 4, 1)
    assert report["rows"].explanation == (
        "rows: the baseline was 100.0 s old, and max_age is 60 s; "
        "the state changed by 1 since (3 → 4), by whomever"
    )


def test_the_age_of_the_baseline_counts_until_the_verification(rows, clock):
    check = change("rows", rows.count)
    there = Window.from_json(opened(check).to_json(), check, max_age=60)
    clock(100)

    assert there.verify()["rows"].reason == "stale_baseline"


def test_no_baseline_is_too_old_without_max_age(rows, clock):
    check = change("rows", rows.count).by(0)
    text = opened(check).to_json()
    clock(10**9)

    assert Window.from_json(text, check).verify().outcome == "pass"


def test_a_clock_that_was_set_back_makes_a_baseline_new(rows, clock):
    check = change("rows", rows.count).by(0)
    text = opened(check).to_json()
    clock(-1000)
    report = Window.from_json(text, check, max_age=60).verify()

    assert report.outcome == "pass"
    assert report["rows"].baseline_age_ms == 0


def test_a_baseline_that_failed_is_not_called_old(rows, clock):
    def gone():
        raise OSError("gone")

    text = opened(change("rows", gone)).to_json()
    clock(100)

    assert Window.from_json(text, change("rows", rows.count), max_age=1).verify()["rows"].reason == (
        "baseline_failed"
    )


def test_the_policy_for_inconclusive_checks_applies(rows, clock):
    check = change("rows", rows.count)
    text = opened(check).to_json()
    clock(100)

    with pytest.raises(DeltaInconclusive):
        Window.from_json(text, check, max_age=1, on_inconclusive="raise").verify()


def test_report_and_event_tell_the_age(recorded, rows, clock):
    check = change("rows", rows.count).by(0)
    text = opened(check).to_json()
    clock(100)
    report = Window.from_json(text, check).verify()
    [event] = recorded.spans[1].events

    assert report["rows"].baseline_age_ms == pytest.approx(100_000, abs=10_000)
    assert report["rows"].to_dict()["baseline_age_ms"] == report["rows"].baseline_age_ms
    assert event.attributes["deltaspan.check.baseline.age"] == pytest.approx(100, abs=10)


def test_a_window_that_was_not_handed_over_tells_no_age(recorded, rows):
    with window("load", change("rows", rows.count).by(0)) as w:
        pass

    assert w.report["rows"].baseline_age_ms is None
    assert "baseline_age_ms" not in w.report["rows"].to_dict()
    assert "deltaspan.check.baseline.age" not in recorded.event.attributes


def test_the_time_of_the_action_counts_from_the_baseline(rows, clock):
    check = change("rows", rows.count).by(0)
    text = opened(check).to_json()
    clock(100)
    report = Window.from_json(text, check).verify()

    assert report.action_seconds == pytest.approx(100, abs=10)
    assert 0 <= report.verification_seconds < 60


def test_a_redacted_state_is_not_in_the_sentence_of_an_old_one(clock):
    text = opened(change("pin", lambda: "1234")).to_json()
    clock(100)
    report = Window.from_json(text, change("pin", lambda: "4321").redacted(), max_age=1).verify()

    assert report["pin"].explanation == "pin: the baseline was 100.0 s old, and max_age is 1 s"


@pytest.mark.parametrize(
    ("max_age", "kind", "sentence"),
    [
        (True, DefinitionTypeError, "max_age takes seconds, not True"),
        ("60", DefinitionTypeError, "max_age takes seconds, not '60'"),
        (-1, DefinitionValueError, "max_age=-1 is not a number of seconds from 0"),
        (float("nan"), DefinitionValueError, "max_age=nan is not a number of seconds from 0"),
    ],
)
def test_a_max_age_that_is_not_a_number_of_seconds_is_refused(rows, max_age, kind, sentence):
    check = change("rows", rows.count)
    with pytest.raises(kind) as caught:
        Window.from_json(opened(check).to_json(), check, max_age=max_age)

    assert str(caught.value) == sentence


def test_an_effect_may_still_be_waited_for():
    states = iter([3, 3, 3, 4])
    check = change("rows", lambda: next(states)).by(1).eventually(60, every=0.002)
    report = Window.from_json(opened(check).to_json(), check).verify()

    assert report.outcome == "pass"
    assert report["rows"].baseline_age_ms is not None


def test_a_check_without_a_baseline_has_no_age(rows):
    text = opened(change("rows", rows.count).sampled(0)).to_json()

    assert Window.from_json(text, change("rows", rows.count)).verify()["rows"].baseline_age_ms is None
