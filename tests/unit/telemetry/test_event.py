"""The `delta.check` event of each check, on the span or as a log."""

import pytest
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from deltaspan import change, expects, observe, unchanged, window
from support.active_flows import broken, count, flows
from support.reports import reports_of


@expects(change("active_flows", count).by(1))
def create_flow():
    flows.append("new")


@expects(change("active_flows", count).by(1))
def lie():
    return None


@expects(change("active_flows", broken).by(1))
def unverifiable():
    return None


@expects(change("rows", count).by(2), unchanged("users", lambda: 7), observe("depth", count))
def several():
    flows.append("new")


def without_cost(attributes):
    return {name: value for name, value in attributes.items() if name != "delta.check.probe_ms"}


def test_each_check_is_one_event_in_the_order_declared(recorded):
    several()

    assert [(event.name, event.attributes["delta.check.metric"]) for event in recorded.events] == [
        ("delta.check", "rows"),
        ("delta.check", "users"),
        ("delta.check", "depth"),
    ]


def test_a_passing_check_says_everything(recorded):
    create_flow()

    assert without_cost(recorded.event.attributes) == {
        "delta.check.name": "active_flows_delta",
        "delta.check.metric": "active_flows",
        "delta.check.outcome": "pass",
        "delta.check.passed": True,
        "delta.check.pre_state": 3,
        "delta.check.post_state": 4,
        "delta.check.expected_delta": 1,
        "delta.check.actual_delta": 1,
        "delta.check.attribution": "window",
        "delta.check.origin": "this_action",
        "delta.check.explanation": "active_flows changed by 1, as expected (3 → 4)",
    }


def test_a_failing_check_says_everything(recorded):
    lie()

    assert without_cost(recorded.event.attributes) == {
        "delta.check.name": "active_flows_delta",
        "delta.check.metric": "active_flows",
        "delta.check.outcome": "fail",
        "delta.check.passed": False,
        "delta.check.pre_state": 3,
        "delta.check.post_state": 3,
        "delta.check.expected_delta": 1,
        "delta.check.actual_delta": 0,
        "delta.check.attribution": "window",
        "delta.check.explanation": "expected active_flows to change by 1, but it changed by 0 (3 → 3)",
    }


def test_a_check_whose_probe_failed_has_reason_and_exception_and_no_states(recorded):
    unverifiable()

    assert without_cost(recorded.event.attributes) == {
        "delta.check.name": "active_flows_delta",
        "delta.check.metric": "active_flows",
        "delta.check.outcome": "inconclusive",
        "delta.check.passed": False,
        "delta.check.reason": "baseline_failed",
        "delta.check.expected_delta": 1,
        "delta.check.attribution": "window",
        "delta.check.explanation": (
            "active_flows: before the action the probe raised LookupError: no such table"
        ),
        "exception.type": "LookupError",
        "exception.message": "no such table",
    }


def test_the_exception_of_a_probe_names_its_module(recorded):
    class TableError(Exception):
        pass

    def probe():
        raise TableError("gone")

    with window("w", observe("rows", probe)):
        pass

    assert recorded.event.attributes["exception.type"] == f"{__name__}.{TableError.__qualname__}"


def test_a_probe_that_failed_after_the_action_leaves_its_baseline(recorded):
    reads = iter([3])

    with window("w", observe("rows", lambda: next(reads))):
        pass
    attributes = recorded.event.attributes

    assert (attributes["delta.check.reason"], attributes["delta.check.pre_state"]) == ("probe_failed", 3)
    assert "delta.check.post_state" not in attributes


def test_an_observed_check_is_not_passed(recorded):
    with window("w", observe("rows", count)):
        flows.append("new")
    attributes = recorded.event.attributes

    assert (attributes["delta.check.outcome"], attributes["delta.check.passed"]) == ("observed", False)


def test_the_cost_of_a_probe_is_a_float_of_milliseconds(recorded):
    create_flow()
    cost = recorded.event.attributes["delta.check.probe_ms"]

    assert type(cost) is float
    assert 0 < cost < 60_000


def test_attribution_is_that_of_the_report(recorded):
    with window("w", change("rows", lambda tenant: count()).by(1), args={"tenant": "acme"}):
        flows.append("new")

    assert recorded.event.attributes["delta.check.attribution"] == "scoped"


def test_states_keep_their_types(recorded):
    states = {"i": 1, "f": 1.5, "b": True, "s": "text", "n": None, "big": 2**70, "l": [1, {"a": 2}]}
    with window("w", *[observe(name, lambda value=value: value) for name, value in states.items()]):
        pass

    assert {
        event.attributes["delta.check.metric"]: event.attributes["delta.check.pre_state"]
        for event in recorded.events
    } == {
        "i": 1,
        "f": 1.5,
        "b": True,
        "s": "text",
        "n": "null",
        "big": "1180591620717411303424",
        "l": '[1,{"a":2}]',
    }


def test_by_default_no_log_record_leaves(recorded):
    several()

    assert recorded.logs == []


def test_as_log_the_event_is_no_span_event(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    create_flow()

    assert (recorded.events, [record.event_name for record in recorded.logs]) == ([], ["delta.check"])


def test_as_both_the_event_leaves_twice(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="both")
    several()

    assert (len(recorded.events), len(recorded.logs)) == (3, 3)


def test_a_log_event_has_the_attributes_of_the_span_event_and_names_action_and_tag(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="both")
    reports = reports_of(lie)

    assert dict(recorded.log.attributes) == {
        **recorded.event.attributes,
        "delta.action.name": "lie",
        "delta.causal_tag.id": reports[0].causal_tag,
        "delta.causal_tag.root_id": reports[0].causal_tag,
    }


def test_a_log_event_leads_to_the_span(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    create_flow()
    context = recorded.span.context

    assert (recorded.log.trace_id, recorded.log.span_id) == (context.trace_id, context.span_id)


def test_a_log_event_has_the_explanation_as_body(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    lie()

    assert recorded.log.body == "expected active_flows to change by 1, but it changed by 0 (3 → 3)"


@pytest.mark.parametrize(
    ("action", "severity"),
    [(create_flow, SeverityNumber.INFO), (lie, SeverityNumber.ERROR), (unverifiable, SeverityNumber.WARN)],
)
def test_a_log_event_is_as_severe_as_its_outcome(recorded, environ, action, severity):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    action()

    assert recorded.log.severity_number is severity


def test_a_log_event_has_a_time(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    create_flow()

    assert recorded.log.timestamp or recorded.log.observed_timestamp


def test_as_log_without_a_logger_nothing_breaks(record, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    recorded = record(logs=False)
    create_flow()

    assert recorded.events == []


@pytest.mark.parametrize(("action", "outcome"), [(lie, "fail"), (unverifiable, "inconclusive")])
def test_a_verdict_against_an_unsampled_action_leaves_as_log(record, action, outcome):
    recorded = record(ALWAYS_OFF)
    action()

    assert recorded.log.attributes["delta.check.outcome"] == outcome


def test_a_log_event_of_an_unsampled_span_has_its_trace(record):
    recorded = record(ALWAYS_OFF)
    lie()

    assert recorded.log.trace_id != 0


def test_a_pass_of_an_unsampled_action_leaves_nothing(record):
    recorded = record(ALWAYS_OFF)
    create_flow()

    assert (recorded.spans, recorded.logs) == ([], [])


def test_of_an_unsampled_action_only_the_checks_against_it_leave(record):
    recorded = record(ALWAYS_OFF)
    several()

    assert recorded.log.attributes["delta.check.metric"] == "rows"


def test_as_log_every_check_of_an_unsampled_action_leaves(record, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    recorded = record(ALWAYS_OFF)
    several()

    assert len(recorded.logs) == 3
