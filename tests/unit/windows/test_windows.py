"""Windows by hand and in blocks, and their misuse."""

import asyncio
from contextvars import ContextVar
from types import MappingProxyType

import pytest

from deltaspan import (
    DeltaCheckFailed,
    DeltaInconclusive,
    Window,
    change,
    collect_reports,
    current_causal_tag,
    observe,
    unchanged,
    window,
)
from support.overlapping import run_in_threads
from support.process import open_windows
from support.refusals import refusal


def test_a_block_is_verified(rows):
    with window("load", change("rows", rows.count).by_between(1, 2)) as w:
        rows.append(4)

    assert (w.report.action, w.report.outcome) == ("load", "pass")
    assert w.report["rows"].explanation == "rows changed by 1, as expected (3 → 4)"


def test_window_makes_a_window(rows):
    assert isinstance(window("load", change("rows", rows.count)), Window)


async def test_an_async_block_is_verified_with_probes_of_both_kinds(rows):
    async with window("load", change("later", rows.count_later).by(1), change("now", rows.count).by(1)) as w:
        await asyncio.sleep(0)
        rows.append(4)

    assert [check.outcome for check in w.report] == ["pass", "pass"]


def test_a_baseline_is_verified_by_hand(rows):
    w = window("load", change("rows", rows.count).by(1))

    assert w.capture_baseline() == {"rows": 3}
    rows.append(4)
    assert w.verify() is w.report
    assert w.report.outcome == "pass"


def test_the_baselines_that_are_handed_out_are_read_only(rows):
    baselines = window("load", observe("rows", lambda: rows)).capture_baseline()

    assert type(baselines) is MappingProxyType
    assert baselines == {"rows": (1, 2, 3)}


def test_a_baseline_that_could_not_be_read_is_not_handed_out(rows):
    def gone():
        raise OSError("gone")

    w = window("load", change("gone", gone), change("rows", rows.count).by(0))

    assert w.capture_baseline() == {"rows": 3}
    assert [check.outcome for check in w.verify()] == ["inconclusive", "pass"]


def test_a_window_may_be_opened_in_one_function_and_closed_in_another(rows):
    def before():
        w = window("load", change("rows", rows.count).by(1))
        w.capture_baseline()
        return w

    def after(w):
        return w.verify()

    w = before()
    rows.append(4)

    assert after(w).outcome == "pass"


def test_a_window_may_be_opened_in_one_thread_and_closed_in_another(rows):
    w = window("load", change("rows", rows.count).by(1))
    run_in_threads(w.capture_baseline)
    rows.append(4)
    run_in_threads(w.verify)

    assert w.report.outcome == "pass"


def test_nothing_stays_current_between_the_two_calls(rows):
    w = window("load", change("rows", rows.count))
    w.capture_baseline()
    tag = current_causal_tag()
    w.verify()

    assert tag is None
    assert current_causal_tag() is None


def test_the_causal_tag_is_current_only_in_the_block(rows):
    with window("load", change("rows", rows.count)) as w:
        inside = current_causal_tag()

    assert inside == w.causal_tag == w.report.causal_tag
    assert current_causal_tag() is None


def test_a_block_inside_a_block_is_its_child(rows):
    with (
        window("outer", observe("rows", rows.count)) as outer,
        window("inner", observe("rows", rows.count)) as inner,
    ):
        pass

    assert inner.report.parent_tag == outer.report.causal_tag
    assert inner.report.root_tag == outer.report.root_tag == outer.causal_tag


def test_context_variables_that_a_block_sets_stay_set(rows):
    variable = ContextVar("variable", default="before")

    with window("load", observe("rows", rows.count)):
        variable.set("after")

    assert variable.get() == "after"


def test_checks_may_name_args(rows):
    with window(
        "load",
        change("rows", lambda table: table.count()).by(lambda count: count),
        args={"table": rows, "count": 2},
    ) as w:
        rows.extend([4, 5])

    assert w.report.outcome == "pass"


def test_checks_may_name_the_result_that_verify_is_given(rows):
    w = window("load", change("rows", rows.count).by(lambda result: result["loaded"]))
    w.capture_baseline()
    rows.append(4)

    assert w.verify(result={"loaded": 1}).outcome == "pass"


def test_a_result_may_be_none(rows):
    w = window("load", change("rows", rows.count).to(lambda result: result))
    w.capture_baseline()
    report = w.verify(result=None)

    assert report["rows"].explanation == ("expected rows to change to None, but it stayed at 3 (3 → 3)")


def test_a_block_may_set_its_result(rows):
    with window("load", change("rows", rows.count).by(lambda result: result)) as w:
        rows.append(4)
        w.result = 1

    assert w.report.outcome == "pass"


def test_a_check_that_names_a_missing_result_is_inconclusive(rows):
    with window("load", change("rows", rows.count).by(lambda result: 1)) as w:
        rows.append(4)

    assert w.report["rows"].reason == "expectation_failed"
    assert w.report["rows"].explanation == (
        "rows: its expected value could not be computed: LookupError: "
        "it names 'result', and this window was given none; use verify(result=...)"
    )


def test_an_exception_in_the_block_is_raised_and_reported(rows):
    error = ValueError("bad")

    w = window(
        "load", change("rows", rows.count).by(1), unchanged("users", lambda: 1), on_inconclusive="raise"
    )
    with pytest.raises(ValueError, match="bad") as caught, w:  # noqa: PT012  # the block is tested
        rows.append(4)
        raise error

    assert caught.value is error
    assert [(check.outcome, check.reason) for check in w.report] == [
        ("inconclusive", "action_failed"),
        ("pass", None),
    ]


async def test_an_exception_in_an_async_block_is_raised_and_reported(rows):
    w = window("load", change("rows", rows.count_later).by(1))
    with pytest.raises(ValueError, match="bad"):
        async with w:
            raise ValueError("bad")

    assert w.report["rows"].reason == "action_failed"


def test_a_failure_can_be_raised_at_the_end_of_the_block(rows):
    with (
        pytest.raises(DeltaCheckFailed) as caught,
        window("load", change("rows", rows.count).by(1), on_failure="raise") as w,
    ):
        pass

    assert caught.value.report is w.report


def test_a_missing_verdict_can_be_raised_by_verify(rows):
    def gone():
        raise OSError("gone")

    w = window("load", change("rows", gone), on_inconclusive="raise")
    w.capture_baseline()

    with pytest.raises(DeltaInconclusive) as caught:
        w.verify(result="done")

    assert caught.value.report is w.report
    assert caught.value.result == "done"


def test_a_hook_and_a_collection_receive_the_report(rows):
    received = []
    with (
        collect_reports() as reports,
        window("load", observe("rows", rows.count), on_report=received.append) as w,
    ):
        pass

    assert received == reports == [w.report]


def test_a_window_never_opened_holds_nothing(rows):
    window("load", change("rows", rows.count))

    assert open_windows() == {}


# Concurrent windows ----------------------------------------------------------------------------------------


def test_a_reverted_change_is_seen_only_by_the_windows_of_the_calls():
    guests = set()
    kept = unchanged("guests", lambda: guests)

    with window("whole", kept) as whole:
        with window("invite", kept) as invite:
            guests.add("mallory")
        with window("remove", kept) as remove:
            guests.discard("mallory")

    assert whole.report.outcome == "pass"
    assert [invite.report.outcome, remove.report.outcome] == ["fail", "fail"]


# Misuse -------------------------------------------------------------------------------------------------


def test_a_report_before_the_window_closed_is_refused(rows):
    w = window("load", change("rows", rows.count))
    before = refusal(lambda: w.report)
    with w:
        inside = refusal(lambda: w.report)

    assert before == inside == "ValueError: window 'load' has not been verified yet, so it has no report"


def test_verifying_without_a_baseline_is_refused(rows):
    w = window("load", change("rows", rows.count))

    assert refusal(w.verify) == "ValueError: baseline never captured; cannot verify a delta"


@pytest.mark.parametrize("again", [Window.capture_baseline, Window.__enter__], ids=["by hand", "with"])
def test_opening_a_window_again_is_refused(rows, again):
    w = window("load", change("rows", rows.count))
    w.capture_baseline()

    assert refusal(again, w) == "ValueError: window 'load' was opened already; make a new one for each run"


def test_verifying_a_window_again_is_refused(rows):
    w = window("load", change("rows", rows.count))
    w.capture_baseline()
    w.verify()

    assert refusal(w.verify) == "ValueError: window 'load' was verified already; make a new one for each run"


def test_verifying_after_the_block_is_refused(rows):
    with window("load", change("rows", rows.count)) as w:
        pass

    assert refusal(w.verify).startswith("ValueError: ")


def test_verifying_inside_the_block_is_refused_and_the_block_is_reported_once(rows):
    with collect_reports() as reports, window("load", change("rows", rows.count)) as w:
        rows.append(4)
        inside = refusal(w.verify)

    assert inside == (
        "ValueError: window 'load' is verified when its block ends; "
        "set w.result inside the block if a check names 'result'"
    )
    assert [report.outcome for report in reports] == ["pass"]


@pytest.mark.parametrize(
    ("opened", "how"),
    [(Window.capture_baseline, "capture_baseline()"), (Window.__enter__, "with")],
    ids=["by hand", "with"],
)
async def test_an_async_probe_needs_an_async_block(rows, opened, how):
    w = window("load", change("rows", rows.count_later))

    assert refusal(opened, w) == (
        f"TypeError: window 'load' was opened by {how}, but the probe of check 'rows' is async; "
        "use async with"
    )
    async with w:  # it was not used up
        rows.append(4)
    assert w.report.outcome == "pass"


@pytest.mark.parametrize("how", ["with", "async with", "by hand"])
async def test_a_disabled_window_reports_skipped(environ, rows, how):
    environ(DELTASPAN_ENABLED="false")
    w = window("load", change("rows", rows.count).by(1), observe("users", rows.count), on_failure="raise")
    if how == "with":
        with w:
            pass
    elif how == "async with":
        async with w:
            pass
    else:
        assert w.capture_baseline() == {}
        assert w.verify() is w.report

    assert w.causal_tag is None
    assert w.report.outcome == "skipped"
    assert [check.passed for check in w.report] == [False, False]
    assert (
        w.report["rows"].explanation == "rows: not verified, because `enabled` is false (DELTASPAN_ENABLED)"
    )


@pytest.mark.parametrize("name", ["two words", "class"])
def test_args_that_no_parameter_could_name_do_no_harm(rows, name):
    with window("load", observe("rows", rows.count), args={name: 1}) as w:
        pass

    assert w.report.outcome == "observed"
