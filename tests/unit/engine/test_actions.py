"""Decorated functions: results, exceptions, signatures."""

import asyncio
import contextlib
import inspect
import logging
import threading
from contextvars import ContextVar

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
from support.frames import count_own_frames
from support.overlapping import run_in_threads
from support.process import open_windows
from support.reports import reports_of


def test_the_very_object_that_the_action_returns_is_returned(flows):
    made = object()
    act = expects(change("flows", flows.count))(lambda: made)

    assert act() is made


def test_the_very_exception_that_the_action_raises_is_raised(flows):
    error = LookupError("no such tenant")

    @expects(change("flows", flows.count))
    def act():
        raise error

    with pytest.raises(LookupError) as caught:
        act()

    assert caught.value is error
    assert (error.__cause__, error.__context__) == (None, None)


def test_a_traceback_has_at_most_one_frame_of_deltaspan(flows):
    @expects(change("flows", flows.count), unchanged("users", lambda: 1))
    def act():
        raise LookupError

    with pytest.raises(LookupError) as caught:
        act()

    assert count_own_frames(caught.value) <= 1


def test_signature_docstring_and_annotations_are_those_of_the_function(flows):
    def act(tenant: str, *, limit: int = 3) -> list[str]:
        """Create a flow."""

    decorated = expects(change("flows", flows.count))(act)

    assert inspect.signature(decorated) == inspect.signature(act)
    assert decorated.__doc__ == "Create a flow."
    assert decorated.__annotations__ == act.__annotations__
    assert (decorated.__name__, decorated.__qualname__) == (act.__name__, act.__qualname__)
    assert decorated.__module__ == __name__
    assert decorated.__wrapped__ is act


def test_a_function_is_still_a_function_and_no_coroutine_function(flows):
    decorated = expects(change("flows", flows.count))(lambda: None)

    assert inspect.isfunction(decorated)
    assert not inspect.iscoroutinefunction(decorated)


def test_attributes_set_on_the_decorated_function_are_the_functions(flows):
    def act():
        pass

    decorated = expects(change("flows", flows.count))(act)
    decorated.mark = "tool"

    assert act.mark == "tool"


def test_an_action_may_have_another_name(flows):
    act = expects(change("flows", flows.count), name="make")(lambda: None)
    reports = reports_of(act)

    assert reports[0].action == "make"


def test_every_baseline_is_read_before_the_action_and_every_post_state_after_it():
    order = []

    def probe(name):
        return lambda: order.append(name)

    @expects(change("a", probe("a")), unchanged("b", probe("b")), observe("c", probe("c")))
    def act():
        order.append("action")

    act()

    assert order == ["a", "b", "c", "action", "a", "b", "c"]


def test_every_check_is_reported_although_the_first_one_fails(flows):
    @expects(
        change("never", lambda: 1).by(1), change("flows", flows.count).by(1), unchanged("users", lambda: 2)
    )
    def act():
        flows.rows.append("a")

    reports = reports_of(act)

    assert [check.outcome for check in reports[0]] == ["fail", "pass", "pass"]
    assert reports[0].outcome == "fail"


@pytest.mark.parametrize(
    ("state", "mutate"),
    [
        ([1], lambda state: state.append(2)),
        ({"a": 1}, lambda state: state.update(b=2)),
        ({"a"}, lambda state: state.add("b")),
        ([[1]], lambda state: state[0].append(2)),
        ({"a": {"b": [1]}}, lambda state: state["a"]["b"].append(2)),
        (bytearray(b"a"), lambda state: state.extend(b"b")),
    ],
    ids=["list", "dict", "set", "nested list", "nested mapping", "bytearray"],
)
def test_a_probe_that_returns_the_live_state_cannot_move_the_baseline(state, mutate):
    act = expects(change("state", lambda: state), name="act")(lambda: mutate(state))
    reports = reports_of(act)

    assert reports[0].outcome == "pass"


def test_context_variables_that_an_action_sets_are_visible_to_its_caller(flows):
    variable = ContextVar("variable", default="before")
    act = expects(change("flows", flows.count))(lambda: variable.set("after"))

    act()

    assert variable.get() == "after"


def test_a_recursive_action_is_verified_at_each_level(flows):
    @expects(change("flows", flows.count).by(lambda depth: depth))
    def act(depth):
        if depth:
            flows.rows.append(depth)
            act(depth - 1)

    reports = reports_of(act, 3)

    assert [report["flows"].explanation for report in reports] == [
        "flows changed by 0, as expected (3 → 3)",
        "flows changed by 1, as expected (2 → 3)",
        "flows changed by 2, as expected (1 → 3)",
        "flows changed by 3, as expected (0 → 3)",
    ]
    tags = [report.causal_tag for report in reports]
    assert [report.parent_tag for report in reports] == [*tags[1:], None]
    assert {report.root_tag for report in reports} == {tags[-1]}


def test_two_stacked_decorators_are_two_runs_of_which_the_inner_is_a_child(flows):
    @expects(change("flows", flows.count).by(1), name="outer")
    @expects(change("flows", flows.count).by(1), name="inner")
    def act():
        flows.rows.append(1)

    reports = reports_of(act)

    assert [(report.action, report.outcome) for report in reports] == [("inner", "pass"), ("outer", "pass")]
    assert reports[0].parent_tag == reports[1].causal_tag


def test_a_hundred_threads_may_run_one_decorated_function_at_once():
    counts = dict.fromkeys(range(100), 0)
    barrier = threading.Barrier(100)
    reports, returned = [], []

    @expects(change("count", lambda number: counts[number]).by(1), on_report=reports.append)
    def act(number):
        barrier.wait()
        counts[number] += 1
        return number

    run_in_threads(*[lambda n=n: returned.append(act(n)) for n in counts])

    assert sorted(returned) == list(range(100))
    assert [report.outcome for report in reports] == ["pass"] * 100
    assert len({report.causal_tag for report in reports}) == 100


def run(act, *args):
    """Return the report of one run, even if the action raises."""
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


def test_a_failing_probe_does_not_affect_other_checks():
    report = run(expects(change("a", failing(1)), change("b", failing(9)))(lambda: None))

    assert [check.outcome for check in report] == ["inconclusive", "pass"]


def test_an_exception_without_text_is_shown_as_its_class():
    def probe():
        raise OSError

    report = run(expects(change("rows", probe))(lambda: None))["rows"]

    assert report.explanation == "rows: before the action the probe raised OSError"


def test_a_probe_that_returns_a_generator_is_incomparable_and_names_the_cure():
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


ERRORS = [ValueError("bad"), KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError(), GeneratorExit()]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_any_exception_of_an_action_is_raised_and_the_states_are_recorded(error):
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
    assert found == [("inconclusive", "action_failed", 0, 1), ("pass", None, 2, 2), ("observed", None, 3, 3)]
    assert open_windows() == {}


def test_a_failed_action_is_explained_with_the_change_it_left_behind():
    state = [0]

    @expects(change("rows", lambda: state[0]).by(1))
    def act():
        state[0] += 1
        raise ValueError("bad")

    assert run(act)["rows"].explanation == (
        "rows: the action raised ValueError: bad; the state changed by 1 (0 → 1)"
    )


def test_an_action_that_failed_and_changed_an_unchanged_state_fails():
    state = [0]

    @expects(unchanged("rows", lambda: state[0]))
    def act():
        state[0] += 1
        raise ValueError

    assert run(act)["rows"].outcome == "fail"


@pytest.mark.parametrize("interrupted", [1, 2], ids=["baseline", "post-state"])
def test_an_interrupt_while_a_state_is_read_ends_the_window_and_is_raised(interrupted):
    reads, ran = [], []

    def probe():
        reads.append(1)
        if len(reads) == interrupted:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        expects(change("rows", probe))(lambda: ran.append(1))()

    assert len(ran) == interrupted - 1
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


def test_a_failure_can_be_raised_with_its_report_and_the_result():
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
