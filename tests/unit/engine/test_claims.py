"""The claim of an action about itself: in reports, in telemetry, and for `or_unchanged_on_error`."""

import asyncio
import logging
import pickle
import sys
import threading
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from deltaspan import DeltaCheckFailed, Window, change, collect_reports, expects, unchanged, window
from deltaspan._engine._deferred import drain
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from support.reports import reports_of

rows = []


@pytest.fixture(autouse=True)
def no_rows():
    rows.clear()


def count():
    return len(rows)


ADDS_ONE = change("rows", count).by(1)


def says_ok(result):
    return result["ok"]


def saving(result, *, adds=0, check=ADDS_ONE, claim=says_ok, **options):
    """Make an action that returns `result` and adds so many rows."""

    @expects(check, claim=claim, **options)
    def save():
        rows.extend(range(adds))
        return result

    return save


def report_of(action, *args, **kwargs):
    (report,) = reports_of(action, *args, **kwargs)
    return report


# The claim -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ok", "claim"), [(True, "success"), (False, "failure"), ([], "failure"), (1, "success")]
)
def test_a_truthy_answer_claims_success_and_any_other_failure(ok, claim):
    assert report_of(saving({"ok": ok})).claim == claim


def test_a_lie_and_an_honest_failure_have_different_claims():
    lie, honest = report_of(saving({"ok": True})), report_of(saving({"ok": False}))

    assert [(report.outcome, report.claim) for report in (lie, honest)] == [
        ("fail", "success"),
        ("fail", "failure"),
    ]


def test_no_claim_is_made_by_default():
    assert report_of(saving({"ok": True}, claim=None)).claim is None


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), asyncio.CancelledError()])
def test_an_action_that_raised_claims_failure(error):
    @expects(ADDS_ONE, claim=says_ok)
    def save():
        raise error

    with collect_reports() as reports, pytest.raises(type(error)):
        save()
    assert reports[0].claim == "failure"


def test_a_claim_names_parameters_and_the_causal_tag():
    seen = []

    @expects(ADDS_ONE, claim=lambda limit, causal_tag: seen.append((limit, causal_tag)) or True)
    def save(name, limit=3):
        return name

    report = report_of(save, "a", limit=7)
    assert (report.claim, seen) == ("success", [(7, report.causal_tag)])


def test_a_claim_is_computed_once_a_run_even_if_a_check_polls():
    asked = []
    check = change("rows", count).by(1).eventually(0.05, every=0.01)
    report_of(saving({"ok": True}, check=check, claim=lambda result: asked.append(result) or True))

    assert asked == [{"ok": True}]


def test_an_async_action_claims():
    @expects(ADDS_ONE, claim=says_ok)
    async def save():
        return {"ok": False}

    reports = reports_of(lambda: asyncio.run(save()))
    assert reports[0].claim == "failure"


def test_a_future_claims_by_its_result():
    future = Future()
    save = saving(future)
    with collect_reports() as reports:
        save()
        future.set_result({"ok": True})
    assert reports[0].claim == "success"


# Generators ------------------------------------------------------------------------------------------------


def test_a_generator_claims_by_its_return_value():
    @expects(ADDS_ONE, claim=says_ok)
    def save():
        yield 1
        return {"ok": False}

    assert report_of(lambda: list(save())).claim == "failure"


def test_a_generator_claims_by_how_many_it_yielded():
    @expects(ADDS_ONE, claim=lambda yielded: yielded == 2)
    def save():
        yield 1
        yield 2

    assert report_of(lambda: list(save())).claim == "success"


def test_an_async_generator_returns_nothing_so_it_claims_failure_by_its_result():
    @expects(ADDS_ONE, claim=lambda result: result is not None)
    async def save():
        yield 1

    async def consume():
        return [value async for value in save()]

    assert report_of(lambda: asyncio.run(consume())).claim == "failure"


@pytest.mark.parametrize(
    ("claim", "claimed"), [(lambda result: result, None), (lambda yielded: yielded == 1, "success")]
)
def test_a_generator_that_was_closed_early_claims_nothing_unless_yielded_is_named(claim, claimed, caplog):
    @expects(ADDS_ONE, claim=claim)
    def save():
        yield 1
        yield 2

    def close():
        steps = save()
        next(steps)
        steps.close()

    assert report_of(close).claim == claimed
    assert caplog.records == []


# Windows, deferred runs, hand-over, pickling ---------------------------------------------------------------


def test_a_window_claims_by_the_result_that_was_set():
    with window("save", ADDS_ONE, claim=says_ok) as w:
        w.result = {"ok": True}

    assert w.report.claim == "success"


def test_a_window_whose_block_raised_claims_failure():
    with pytest.raises(ValueError, match="no"), window("save", ADDS_ONE, claim=says_ok) as w:
        raise ValueError("no")

    assert w.report.claim == "failure"


def test_a_window_claims_by_the_result_that_verify_was_given_and_by_args():
    opened = window("save", ADDS_ONE, args={"want": 2}, claim=lambda result, want: result == want)
    opened.capture_baseline()

    assert opened.verify(result=2).claim == "success"


def test_a_window_without_a_result_claims_nothing_and_says_so(caplog):
    opened = window("save", ADDS_ONE, claim=says_ok)
    opened.capture_baseline()

    assert opened.verify().claim is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "claim= of save" in caplog.text
    assert "verify(result=...)" in caplog.text


def test_a_window_that_was_handed_over_claims_where_it_is_verified():
    opened = window("save", ADDS_ONE, args={"want": 2})
    opened.capture_baseline()
    there = Window.from_json(opened.to_json(), ADDS_ONE, claim=lambda result, want: result == want)

    assert there.verify(result=1).claim == "failure"


def test_a_deferred_run_claims():
    done, reports = threading.Event(), []

    def keep(report):
        reports.append(report)
        done.set()

    saving({"ok": False}, deferred=True, on_report=keep)()
    drain()
    assert done.wait(60)
    assert reports[0].claim == "failure"


def test_a_run_that_was_abandoned_claims_nothing():
    reports = []
    opened = window("save", ADDS_ONE, claim=lambda: True, on_report=reports.append)
    opened.capture_baseline()
    opened._run.abandon()

    assert (reports[0].outcome, reports[0].claim) == ("inconclusive", None)


def test_a_disabled_action_claims_nothing(environ):
    environ(DELTASPAN_ENABLED="false")
    with window("save", ADDS_ONE, claim=says_ok) as w:
        w.result = {"ok": True}

    assert w.report.claim is None


def test_a_claim_is_in_to_dict_repr_and_a_pickled_report():
    report = report_of(saving({"ok": True}))
    copy = pickle.loads(pickle.dumps(report))  # noqa: S301 - it is ours

    assert report.to_dict()["claim"] == copy.claim == "success"
    assert repr(report).startswith("<ActionReport save: fail (claims success), 1 check, ")


def test_a_report_without_a_claim_says_so_in_to_dict():
    assert report_of(saving({}, claim=None)).to_dict()["claim"] is None


# Claims that fail ------------------------------------------------------------------------------------------


def no_truth():
    def refuse():
        raise TypeError("ambiguous")

    return type("NoTruth", (), {"__bool__": lambda self: refuse()})()


async def later():
    return True


@pytest.mark.parametrize(
    "claim",
    [
        lambda result: result["missing"],
        lambda result: sys.exit(1),
        lambda result: no_truth(),
        lambda result: later(),
        lambda result: (each for each in ()),
    ],
)
def test_a_claim_that_cannot_be_computed_is_none_and_is_logged_once(claim, caplog):
    save = saving({"ok": True}, adds=1, claim=claim, on_failure="raise", name=f"save_{id(claim)}")
    caplog.set_level(logging.WARNING)
    with collect_reports() as reports:
        assert save() == {"ok": True}
        rows.clear()
        assert save() == {"ok": True}

    assert [(report.outcome, report.claim) for report in reports] == [("pass", None)] * 2
    assert len(caplog.records) == 1


# Refusals at decoration ------------------------------------------------------------------------------------


async def claim_async(result):
    return True


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (True, r"claim= of action 'save' must be callable, not True"),
        ("ok", r"claim= of action 'save' must be callable, not 'ok'"),
        (
            lambda reslt: True,
            r"claim= of action 'save' needs 'reslt', which does not exist; did you mean 'result'\?",
        ),
        (lambda pre_state: True, r"claim= of action 'save' needs 'pre_state', which does not exist"),
        (lambda yielded: True, r"claim= of action 'save' needs 'yielded', which does not exist"),
        (claim_async, r"claim= of action 'save' is async"),
    ],
)
def test_a_wrong_claim_is_refused_at_decoration(claim, message):
    with pytest.raises(DefinitionTypeError, match=message):
        saving(None, claim=claim)
    with pytest.raises(DefinitionTypeError, match=message):
        window("save", ADDS_ONE, claim=claim)


def test_a_claim_on_a_word_that_is_also_a_parameter_is_refused():
    with pytest.raises(DefinitionValueError, match="names 'result', which is both"):

        @expects(ADDS_ONE, claim=says_ok)
        def save(result):
            return result


# An honest failure that left no trace ----------------------------------------------------------------------

TRACELESS = ADDS_ONE.or_unchanged_on_error()


@pytest.mark.parametrize(
    ("ok", "adds", "outcome", "explanation"),
    [
        (False, 0, "pass", "rows did not change after the action claimed failure, as expected (0 → 0)"),
        (
            False,
            1,
            "fail",
            (
                "expected rows to stay unchanged, because the action claimed failure, "
                "but it changed by 1 (0 → 1)"
            ),
        ),
        (True, 1, "pass", "rows changed by 1, as expected (0 → 1)"),
        (True, 0, "fail", "expected rows to change by 1, but it changed by 0 (0 → 0)"),
    ],
)
def test_a_claimed_failure_must_leave_no_trace_if_the_author_says_so(ok, adds, outcome, explanation):
    check = report_of(saving({"ok": ok}, adds=adds, check=TRACELESS))["rows"]

    assert (check.outcome, check.explanation) == (outcome, explanation)


def test_a_claimed_failure_is_looked_at_for_as_long_as_a_raised_one():
    states = iter([0, 0, 0, 1])
    check = change("rows", lambda: next(states)).by(1).or_unchanged_on_error().eventually(60, every=0.002)

    assert report_of(saving({"ok": False}, check=check)).outcome == "fail"


def test_an_expectation_is_not_computed_after_a_claimed_failure():
    check = change("rows", count).by(lambda result: result["created"]).or_unchanged_on_error()

    assert report_of(saving({"ok": False}, check=check)).outcome == "pass"


def test_other_checks_do_not_depend_on_the_claim():
    checks = [unchanged("users", count), change("rows", count).by(1)]

    @expects(*checks, claim=says_ok)
    def save():
        return {"ok": False}

    assert [check.outcome for check in report_of(save)] == ["pass", "fail"]


def test_a_claim_of_failure_does_not_keep_raise_from_raising():
    with pytest.raises(DeltaCheckFailed) as caught:
        saving({"ok": False}, on_failure="raise")()

    assert caught.value.report.claim == "failure"


# Telemetry -------------------------------------------------------------------------------------------------


def claims_counted(recorded):
    return {
        (point.attributes["deltaspan.check.outcome"], point.attributes.get("deltaspan.action.claim"))
        for point in recorded.points("deltaspan.checks")
        if point.value
    }


def test_a_claim_is_on_the_span_on_its_events_and_on_the_counter(recorded):
    saving({"ok": True})()

    assert recorded.span.attributes["deltaspan.action.claim"] == "success"
    assert recorded.event.attributes["deltaspan.action.claim"] == "success"
    assert claims_counted(recorded) == {("fail", "success")}


def test_a_log_event_has_the_claim(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    saving({"ok": False})()
    (log,) = recorded.logs

    assert log.attributes["deltaspan.action.claim"] == "failure"


@pytest.mark.parametrize("claim", [None, lambda result: result["missing"]])
def test_the_attribute_is_absent_without_a_claim(recorded, claim):
    saving({"ok": True}, claim=claim)()

    assert "deltaspan.action.claim" not in recorded.span.attributes
    assert "deltaspan.action.claim" not in recorded.event.attributes
    assert claims_counted(recorded) == {("fail", None)}


def test_the_series_of_both_claims_start_at_zero(recorded):
    saving({"ok": True}, adds=1)()
    zeros = {
        (point.attributes["deltaspan.check.outcome"], point.attributes.get("deltaspan.action.claim"))
        for point in recorded.points("deltaspan.checks")
    }

    assert zeros == {(outcome, claim) for outcome in ("pass", "fail") for claim in ("success", "failure")}


def test_a_frameworks_span_gets_the_claim(recorded):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "save"}
    with recorded.tracer.start_as_current_span("execute_tool save", attributes=attributes) as span:
        saving(SimpleNamespace(ok=True), claim=lambda result: result.ok)()

    assert span.attributes["deltaspan.action.claim"] == "success"
