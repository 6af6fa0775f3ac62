"""Reports as a mapping, as JSON, as the pattern's Observable Signal, and for an agent."""

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, replace
from types import MappingProxyType
from uuid import UUID

import pytest

from deltaspan import (
    ActionReport,
    CheckReport,
    DeltaCheckFailed,
    change,
    current_causal_tag,
    expects,
    observe,
    tagged,
    unchanged,
    window,
)
from deltaspan._verdicts import UNREAD, Timing, Verdict
from support.reports import reports_of

SEED_KEYS = ["check", "metric", "passed", "expected_delta", "actual_delta", "pre_state", "post_state"]


def gone():
    raise OSError("gone")


def report_of(*checks, act=lambda: None, name="create"):
    return reports_of(expects(*checks, name=name)(act))[0]


@pytest.fixture
def flows():
    return [1, 2, 3]


@pytest.fixture
def passed(flows):
    return report_of(change("active_flows", lambda: len(flows)).by(1), act=lambda: flows.append(4))


MIXED = (
    change("never", lambda: 3).by(1),
    observe("load", lambda: 0.5),
    change("gone", gone),
    unchanged("users", lambda: ["ann"]),
)


def test_an_action_report_gives_a_check_report_by_metric(passed):
    assert isinstance(passed, ActionReport)
    assert isinstance(passed["active_flows"], CheckReport)
    assert passed["active_flows"].metric == "active_flows"


def test_an_unknown_metric_is_a_key_error_that_names_the_known_ones():
    with pytest.raises(KeyError) as caught:
        report_of(*MIXED)["rows"]

    assert caught.value.args == ("no check on 'rows'; create checks never, load, gone, users",)


def test_an_action_report_iterates_over_its_checks_in_the_order_declared():
    report = report_of(*MIXED)

    assert [check.metric for check in report] == ["never", "load", "gone", "users"]
    assert len(report) == 4
    assert tuple(report) == report.checks


@pytest.mark.parametrize(
    ("checks", "outcome"),
    [(MIXED, "fail"), (MIXED[1:], "inconclusive"), ((MIXED[1], MIXED[3]), "pass"), ((MIXED[1],), "observed")],
    ids=["fail", "inconclusive", "pass", "observed"],
)
def test_the_outcome_is_the_worst_of_the_checks(checks, outcome):
    report = report_of(*checks)

    assert report.outcome == outcome
    assert report.passed == (outcome == "pass")


def test_passed_is_true_only_for_pass():
    assert {check.outcome: check.passed for check in report_of(*MIXED)} == {
        "fail": False,
        "observed": False,
        "inconclusive": False,
        "pass": True,
    }


def test_a_check_report_has_the_words_of_the_vocabulary(passed):
    check = passed["active_flows"]

    assert (check.check, check.metric, check.outcome, check.reason) == (
        "active_flows_delta",
        "active_flows",
        "pass",
        None,
    )
    assert (check.pre_state, check.post_state, check.expected_delta, check.actual_delta) == (3, 4, 1, 1)
    assert check.attribution == "window"
    assert check.causal_tag == passed.causal_tag == str(UUID(passed.causal_tag))


def test_states_are_read_only():
    report = report_of(observe("m", lambda: {"a": [1]}), observe("l", lambda: [1]), observe("s", lambda: {1}))

    assert [type(check.pre_state) for check in report] == [MappingProxyType, tuple, frozenset]
    assert report["m"].pre_state == {"a": (1,)}


@pytest.mark.parametrize(
    "name", ["action", "checks", "outcome", "causal_tag", "metric", "pre_state", "actual_delta"]
)
def test_a_report_cannot_be_changed(passed, name):
    for report in (passed, *passed):
        with pytest.raises((FrozenInstanceError, AttributeError)):
            setattr(report, name, "other")


def test_a_check_as_a_dict_begins_with_the_pattern_s_keys_and_values(passed):
    values = passed["active_flows"].to_dict()

    assert list(values)[:7] == SEED_KEYS
    assert [values[key] for key in SEED_KEYS] == ["active_flows_delta", "active_flows", True, 1, 1, 3, 4]


def test_a_check_as_a_dict_also_has_outcome_and_explanation(passed):
    values = passed["active_flows"].to_dict()

    assert [values[key] for key in ("outcome", "reason", "attribution", "causal_tag", "explanation")] == [
        "pass",
        None,
        "window",
        passed.causal_tag,
        "active_flows changed by 1, as expected (3 → 4)",
    ]


def test_a_state_that_was_never_read_is_null_in_a_dict():
    values = report_of(change("gone", gone).by(1))["gone"].to_dict()

    assert [values[key] for key in SEED_KEYS] == ["gone_delta", "gone", False, 1, None, None, None]


def test_any_report_is_json():
    report = report_of(*MIXED, observe("odd", lambda: [{"a": {float("nan"), b"\xff"}}, None, 10**30]))

    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()


def test_an_action_as_a_dict_holds_the_run_and_its_checks(passed):
    values = passed.to_dict()

    assert (values["action"], values["outcome"], values["causal_tag"]) == (
        "create",
        "pass",
        passed.causal_tag,
    )
    assert values["checks"] == [passed["active_flows"].to_dict()]


def test_the_text_of_a_check_begins_with_the_observable_signal_in_the_pattern_s_order(passed):
    assert str(passed["active_flows"]).splitlines()[:7] == [
        "check: active_flows_delta",
        "metric: active_flows",
        "passed: true",
        "pre_state: 3",
        "post_state: 4",
        "expected_delta: 1",
        "actual_delta: 1",
    ]


def test_an_expectation_and_a_string_state_look_different_in_the_signal():
    assert str(report_of(change("status", lambda: "new"))["status"]).splitlines()[:7] == [
        "check: status_delta",
        "metric: status",
        "passed: false",
        "pre_state: 'new'",
        "post_state: 'new'",
        "expected_delta: some change",
        "actual_delta: no change",
    ]


def test_a_state_that_was_never_read_says_so_in_the_signal():
    assert str(report_of(change("gone", gone))["gone"]).splitlines()[3:7] == [
        "pre_state: (not read)",
        "post_state: (not read)",
        "expected_delta: some change",
        "actual_delta: (not read)",
    ]


def test_the_text_of_an_action_joins_those_of_its_checks():
    report = report_of(*MIXED)

    assert str(report) == "\n\n".join(map(str, report))


def test_the_explanation_of_an_action_is_that_of_the_checks_that_decide():
    report = report_of(*MIXED, change("neither", lambda: 1).by(2))

    assert report.explanation == (
        "expected never to change by 1, but it changed by 0 (3 → 3); "
        "expected neither to change by 2, but it changed by 0 (1 → 1)"
    )


def test_the_feedback_after_a_pass_says_so(passed):
    assert passed.feedback() == "create: the change was verified."


def test_the_feedback_after_an_observation_makes_no_claim():
    assert report_of(MIXED[1]).feedback() == "create: no claim was made; the change was recorded."


def test_the_feedback_after_a_failure_names_the_difference():
    assert report_of(MIXED[0], MIXED[3]).feedback() == (
        "create: the change does not match what was expected.\n"
        "- fail: expected never to change by 1, but it changed by 0 (3 → 3)\n"
        "Do not report success. Correct what differs; repeat only what is shown to be missing."
    )


def test_the_feedback_without_a_verdict_says_that_the_effect_is_unknown_and_not_to_repeat():
    assert report_of(MIXED[2]).feedback() == (
        "create: the change could not be verified.\n"
        "- inconclusive: gone: before the action the probe raised OSError: gone\n"
        "The effect of this action is unknown. Do not simply repeat it: read the state first, "
        "then decide what is left to do."
    )


def test_the_feedback_after_a_failure_with_a_check_without_a_verdict_forbids_repeating_too():
    assert report_of(*MIXED).feedback() == (
        "create: the change does not match what was expected.\n"
        "- fail: expected never to change by 1, but it changed by 0 (3 → 3)\n"
        "- inconclusive: gone: before the action the probe raised OSError: gone\n"
        "The effect of this action is unknown. Do not simply repeat it: read the state first, "
        "then decide what is left to do."
    )


def test_the_feedback_of_a_disabled_window_claims_nothing(environ):
    environ(DELTASPAN_ENABLED="false")
    with window("load", MIXED[0]) as w:
        pass

    assert w.report.feedback() == "load: not verified."


def test_a_report_of_plain_states_pickles():
    report = report_of(*MIXED)
    restored = pickle.loads(pickle.dumps(report))  # noqa: S301  # our own bytes

    assert restored.to_dict() == report.to_dict()


def test_the_error_that_carries_a_report_pickles():
    act = expects(MIXED[0], on_failure="raise")(lambda: "done")
    with pytest.raises(Exception, match="expected never to change") as caught:
        act()
    restored = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  # our own bytes

    assert type(restored) is type(caught.value)
    assert (str(restored), restored.result) == (str(caught.value), "done")
    assert restored.report.to_dict() == caught.value.report.to_dict()


# Output in test runners -----------------------------------------------------------------------------------


def test_the_repr_of_a_failed_check_says_metric_outcome_and_why():
    assert repr(report_of(*MIXED)["never"]) == (
        "<CheckReport never: fail, expected never to change by 1, but it changed by 0 (3 → 3)>"
    )


def test_the_repr_of_a_check_without_a_verdict_says_its_reason():
    assert repr(report_of(*MIXED)["gone"]) == (
        "<CheckReport gone: inconclusive (baseline_failed), before the action the probe raised OSError: gone>"
    )


def test_the_repr_of_other_checks_says_metric_and_outcome():
    report = report_of(*MIXED)

    assert [repr(report[metric]) for metric in ("load", "users")] == [
        "<CheckReport load: observed>",
        "<CheckReport users: pass>",
    ]


def test_the_repr_of_an_action_report_holds_the_checks_that_did_not_pass():
    report = report_of(*MIXED)

    assert repr(report) == (f"<ActionReport create: fail, 4 checks, {report['never']!r}, {report['gone']!r}>")


def test_the_repr_of_an_action_report_that_passed_is_short(passed):
    assert repr(passed) == "<ActionReport create: pass, 1 check>"


def test_the_repr_of_a_check_is_one_bounded_line():
    def probe():
        raise OSError("one\ntwo " + "x" * 5000)

    text = repr(report_of(change("gone", probe))["gone"])

    assert "one two" in text
    assert len(text) < 600


def test_a_check_that_crossed_a_process_has_the_same_repr():
    report = report_of(*MIXED)

    assert repr(pickle.loads(pickle.dumps(report))) == repr(report)  # noqa: S301  # our own bytes


def test_the_error_that_carries_a_report_names_the_action():
    act = expects(MIXED[0], on_failure="raise", name="create")(lambda: None)

    with pytest.raises(DeltaCheckFailed) as caught:
        act()

    assert str(caught.value) == "create: expected never to change by 1, but it changed by 0 (3 → 3)"


# Reports as values -----------------------------------------------------------------------------------------

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)

STATES = (
    *MIXED,
    observe("documents", lambda: {"a": [1, {"b": float("nan")}], "c": {2}}),
    observe("nothing", lambda: None),
    change("status", lambda: {"state": "new"}).to({"state": "done"}),
)


def attributes_of(report):
    return {name: getattr(report, name) for name in dir(report) if not name.startswith("_")}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pickled_report_is_equal_to_the_original_and_has_its_hash(protocol):
    report = report_of(*STATES)
    restored = pickle.loads(pickle.dumps(report, protocol))  # noqa: S301  # our own bytes

    assert restored == report
    assert hash(restored) == hash(report)
    assert [hash(check) for check in restored] == [hash(check) for check in report]
    assert [check.has_pre_state for check in restored] == [check.has_pre_state for check in report]


def test_the_deltas_of_a_pickled_report_are_read_only():
    check = pickle.loads(pickle.dumps(report_of(*STATES)))["documents"]  # noqa: S301  # our own bytes

    assert type(check.pre_state) is type(check.actual_delta) is MappingProxyType


def test_reports_of_tagged_rows_are_equal_after_pickling():
    rows = [{"id": 1, "tag": None}]
    by_tag = tagged(lambda: rows, key="id", tag="tag")
    report = report_of(
        change("rows", by_tag).adding(2), act=lambda: rows.append({"id": 2, "tag": current_causal_tag()})
    )

    assert report["rows"].others is not None
    assert pickle.loads(pickle.dumps(report)) == report  # noqa: S301  # our own bytes


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_report_is_the_report(passed, copied):
    assert copied(passed) is passed
    assert copied(passed["active_flows"]) is passed["active_flows"]


def test_reports_of_different_runs_differ():
    one, other = report_of(*STATES), report_of(*STATES)

    assert one != other
    assert one["load"] != other["load"]
    assert one != "a report"
    assert one["load"] != "a report"


@pytest.mark.parametrize(
    "changes",
    [
        {"metric": "x"},
        {"verdict": Verdict("fail")},
        {"attribution": "exclusive"},
        {"causal_tag": None},
        {"pre_state": 0},
        {"post_state": True},
        {"probe_seconds": 9.0},
        {"timing": Timing(2)},
        {"has_pre_state": False},
        {"delta": None},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_checks_that_show_different_values_differ(passed, changes):
    check = passed["active_flows"]

    assert replace(check) == check
    assert replace(check, **changes) != check


def test_reports_are_found_in_sets(passed):
    assert {passed: 1}[passed] == 1
    assert set(passed) == {passed["active_flows"]}


def test_no_attribute_of_a_report_can_be_set_or_deleted(passed):
    for report in (passed, passed["active_flows"]):
        for name in [*attributes_of(report), "new"]:
            with pytest.raises(AttributeError):
                setattr(report, name, "other")
            with pytest.raises(AttributeError):
                delattr(report, name)


def test_a_check_report_is_not_a_tuple(passed):
    check = passed["active_flows"]

    assert not isinstance(check, tuple)
    assert not hasattr(check, "_replace")
    assert not hasattr(check, "__getitem__")
    with pytest.raises(TypeError):
        iter(check)


def test_a_state_that_was_not_read_is_none_in_every_attribute():
    check = report_of(change("gone", gone))["gone"]

    assert (check.pre_state, check.has_pre_state, check.post_state, check.has_post_state) == (
        None,
        False,
        None,
        False,
    )
    assert UNREAD not in attributes_of(check).values()
