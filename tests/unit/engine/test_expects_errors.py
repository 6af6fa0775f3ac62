"""When an action, a probe or a hook raises: what is reported, and what the caller of the action sees."""

import asyncio
import contextlib
import logging

import pytest

from deltaspan import (
    DeltaCheckFailed,
    DeltaInconclusive,
    DeltaspanError,
    change,
    collect_reports,
    expects,
    observe,
    unchanged,
)
from support.process import open_windows


def run(act, *args):
    """Return the report of one run, whatever the action raises."""
    with collect_reports() as reports, contextlib.suppress(BaseException):
        act(*args)
    return reports[0]


def failing(number):
    """A probe that raises at its nth read and counts its reads."""
    reads = []

    def probe():
        reads.append(1)
        if len(reads) == number:
            raise OSError("gone")
        return len(reads)

    return probe


def test_an_action_runs_although_the_baseline_could_not_be_read():
    act = expects(change("rows", failing(1)))(lambda: "done")

    assert act() == "done"


def test_a_check_whose_baseline_could_not_be_read_is_inconclusive():
    report = run(expects(change("rows", failing(1)))(lambda: None))["rows"]

    assert (report.outcome, report.reason) == ("inconclusive", "baseline_failed")
    assert report.explanation == "rows: before the action the probe raised OSError: gone"
    assert (report.pre_state, report.post_state, report.actual_delta) == (None, None, None)


def test_a_check_whose_post_state_could_not_be_read_is_inconclusive():
    report = run(expects(change("rows", failing(2)))(lambda: None))["rows"]

    assert (report.outcome, report.reason) == ("inconclusive", "probe_failed")
    assert report.explanation == "rows: after the action the probe raised OSError: gone"
    assert (report.pre_state, report.post_state, report.actual_delta) == (1, None, None)


@pytest.mark.parametrize("claim", [change, unchanged, observe])
def test_no_claim_is_judged_without_a_baseline(claim):
    assert run(expects(claim("rows", failing(1)))(lambda: None))["rows"].reason == "baseline_failed"


def test_a_failing_probe_leaves_the_other_checks_alone():
    report = run(expects(change("a", failing(1)), change("b", failing(9)))(lambda: None))

    assert [check.outcome for check in report] == ["inconclusive", "pass"]


def test_an_exception_without_text_is_named_alone():
    def probe():
        raise OSError

    report = run(expects(change("rows", probe))(lambda: None))["rows"]

    assert report.explanation == "rows: before the action the probe raised OSError"


def test_a_probe_that_returns_a_generator_is_incomparable_and_says_what_to_return():
    report = run(expects(change("rows", lambda: (row for row in ())))(lambda: None))["rows"]

    assert (report.outcome, report.reason) == ("inconclusive", "incomparable")
    assert report.explanation == (
        "rows: the probe's value before the action cannot be compared: "
        "found an iterator (generator): return list(rows) or a count instead"
    )


def test_a_probe_of_an_action_that_is_not_async_may_not_return_a_coroutine():
    async def later():
        return 1

    report = run(expects(change("rows", lambda: later()))(lambda: None))["rows"]  # no coroutine function

    assert (report.outcome, report.reason) == ("inconclusive", "baseline_failed")
    assert report.explanation == (
        "rows: before the action the probe raised TypeError: the probe returned an awaitable, which only an "
        "async action can await; return the state itself"
    )


ERRORS = [
    ValueError("bad"),
    KeyboardInterrupt(),
    SystemExit(3),
    asyncio.CancelledError(),
    GeneratorExit(),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_whatever_an_action_raises_is_raised_and_the_states_are_recorded(error):
    state = [0]

    @expects(
        change("rows", lambda: state[0]).by(1), unchanged("users", lambda: 2), observe("load", lambda: 3)
    )
    def act():
        state[0] += 1
        raise error

    with collect_reports() as reports, pytest.raises(type(error)) as caught:
        act()

    assert caught.value is error
    found = [(check.outcome, check.reason, check.pre_state, check.post_state) for check in reports[0]]
    assert found == [
        ("inconclusive", "action_failed", 0, 1),
        ("pass", None, 2, 2),
        ("observed", None, 3, 3),
    ]
    assert open_windows() == {}


def test_a_failed_action_is_explained_with_what_it_left_behind():
    state = [0]

    @expects(change("rows", lambda: state[0]).by(1))
    def act():
        state[0] += 1
        raise ValueError("bad")

    assert run(act)["rows"].explanation == (
        "rows: the action raised ValueError: bad; the state changed by 1 (0 → 1)"
    )


def test_an_action_that_failed_and_changed_what_must_stay_fails():
    state = [0]

    @expects(unchanged("rows", lambda: state[0]))
    def act():
        state[0] += 1
        raise ValueError

    assert run(act)["rows"].outcome == "fail"


def test_an_interrupt_while_a_baseline_is_read_ends_the_window_and_is_raised():
    def probe():
        raise KeyboardInterrupt

    ran = []
    act = expects(change("rows", probe))(lambda: ran.append(1))

    with pytest.raises(KeyboardInterrupt):
        act()

    assert ran == []
    assert open_windows() == {}


def test_an_interrupt_while_a_post_state_is_read_ends_the_window_before_it_is_raised():
    reads = []

    def probe():
        reads.append(1)
        if len(reads) == 2:
            raise KeyboardInterrupt

    act = expects(change("rows", probe))(lambda: None)

    with pytest.raises(KeyboardInterrupt):
        act()

    assert open_windows() == {}


def test_a_hook_receives_each_report():
    received = []
    act = expects(change("rows", lambda: 1), on_report=received.append, name="act")(lambda: None)

    act()
    act()

    assert [(report.action, report.outcome) for report in received] == [("act", "fail"), ("act", "fail")]


def test_a_hook_that_raises_is_logged_and_ignored(caplog):
    def hook(report):
        raise RuntimeError("no")

    act = expects(observe("rows", lambda: 1), on_report=hook, name="hooked")(lambda: "done")

    with caplog.at_level(logging.WARNING, "deltaspan"):
        assert act() == "done"

    assert [record.getMessage() for record in caplog.records] == [
        "the on_report hook of hooked raised and was ignored; the action is not affected"
    ]


def test_a_failure_is_only_recorded_by_default(caplog):
    act = expects(change("rows", lambda: 1).by(1))(lambda: "done")

    assert act() == "done"
    assert caplog.records == []


def test_a_failure_can_be_logged_as_a_warning(caplog):
    act = expects(change("rows", lambda: 1).by(1), on_failure="warn", name="act")(lambda: "done")

    assert act() == "done"
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "act: fail: expected rows to change by 1, but it changed by 0 (1 → 1)")
    ]


def test_a_failure_can_be_raised_with_its_report_and_what_the_action_returned():
    act = expects(change("rows", lambda: 1).by(1), on_failure="raise")(lambda: "done")

    with collect_reports() as reports, pytest.raises(DeltaCheckFailed) as caught:
        act()

    assert isinstance(caught.value, DeltaspanError)
    assert caught.value.report is reports[0]
    assert caught.value.result == "done"
    assert str(caught.value) == "<lambda>: expected rows to change by 1, but it changed by 0 (1 → 1)"


def test_a_missing_verdict_can_be_raised():
    act = expects(change("rows", failing(2)), on_inconclusive="raise")(lambda: "done")

    with collect_reports() as reports, pytest.raises(DeltaInconclusive) as caught:
        act()

    assert caught.value.report is reports[0]
    assert caught.value.result == "done"
    assert str(caught.value) == "<lambda>: rows: after the action the probe raised OSError: gone"


def test_each_policy_is_for_its_own_outcome():
    assert expects(change("rows", lambda: 1).by(1), on_inconclusive="raise")(lambda: "done")() == "done"
    assert expects(change("rows", failing(1)), on_failure="raise")(lambda: "done")() == "done"


@pytest.mark.parametrize(
    "check",
    [unchanged("rows", failing(99)), change("rows", failing(1))],
    ids=lambda check: type(check).__name__,
)
def test_the_exception_of_the_action_wins(check):
    error = ValueError("bad")

    @expects(check, on_failure="raise", on_inconclusive="raise")
    def act():
        raise error

    with pytest.raises(ValueError, match="bad") as caught:
        act()

    assert caught.value is error


def test_a_pass_is_never_raised():
    act = expects(change("rows", failing(9)).by(1), on_failure="raise", on_inconclusive="raise")(
        lambda: "done"
    )

    assert act() == "done"


def test_a_raised_verdict_has_no_other_exception_behind_it():
    act = expects(change("rows", lambda: 1), on_failure="raise")(lambda: "done")

    with pytest.raises(DeltaCheckFailed) as caught:
        act()

    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
