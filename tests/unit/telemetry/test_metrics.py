"""The three metrics: attributes, initial zeros, and exemplars."""

import pytest
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from deltaspan import change, expects, observe, unchanged, window
from support.active_flows import broken, count, flows
from support.reports import reports_of

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


def creating(*, lying=False):
    """Make an action anew, whose first call is still to come."""

    @expects(change("active_flows", count).by(1))
    def create_flow(name="new"):
        if not lying:
            flows.append(name)

    return create_flow


def series(recorded, name="delta.checks"):
    return {frozenset(point.attributes.items()): point for point in recorded.points(name)}


MADE = {"delta.check.origin": "this_action"}
"""Of a check that saw a change which is credited to the action."""


def of(outcome, metric="active_flows", action="create_flow", **more):
    attributes = {
        "delta.action.name": action,
        "delta.check.metric": metric,
        "delta.check.outcome": outcome,
        **more,
    }
    return frozenset(attributes.items())


def values(recorded):
    return {attributes: point.value for attributes, point in series(recorded).items()}


def test_a_run_records_these_metrics_and_units(recorded):
    creating()()

    assert {name: metric.unit for name, metric in recorded.metrics().items()} == {
        "delta.checks": "{check}",
        "delta.action.duration": "s",
        "delta.verification.duration": "s",
    }


def test_a_pass_counts_one_and_starts_fail_at_zero(recorded):
    creating()()

    assert values(recorded) == {of("pass", **MADE): 1, of("fail"): 0, of("fail", **MADE): 0}


def test_a_failure_counts_one_and_starts_pass_at_zero(recorded):
    creating(lying=True)()

    assert values(recorded) == {of("pass", **MADE): 0, of("fail"): 1, of("fail", **MADE): 0}


def test_zeros_are_there_before_the_action_ran(recorded):
    seen = []

    @expects(change("active_flows", count).by(1))
    def create_flow():
        seen.append(values(recorded))

    create_flow()
    assert seen == [{of("pass", **MADE): 0, of("fail"): 0, of("fail", **MADE): 0}]


def test_zeros_are_recorded_for_each_metric(recorded):
    @expects(change("a", count).by(1), unchanged("b", count))
    def action():
        return None

    action()
    assert values(recorded) == {
        of("pass", "a", "action", **MADE): 0,
        of("fail", "a", "action"): 1,
        of("fail", "a", "action", **MADE): 0,
        of("pass", "b", "action"): 1,
        of("fail", "b", "action", **MADE): 0,
    }


def test_calls_add_up(recorded):
    action = creating()
    for _ in range(3):
        action()

    assert values(recorded)[of("pass", **MADE)] == 3


def test_an_inconclusive_check_counts_with_its_reason(recorded):
    @expects(change("active_flows", broken).by(1))
    def create_flow():
        return None

    create_flow()
    reason = {"delta.check.reason": "baseline_failed"}
    zeros = {of("pass", **MADE): 0, of("fail"): 0, of("fail", **MADE): 0}
    assert values(recorded) == {**zeros, of("inconclusive", **reason): 1}


def test_an_observed_check_counts_without_reason(recorded):
    with window("w", observe("depth", count)):
        pass

    assert values(recorded)[of("observed", "depth", "w")] == 1


def test_zeros_are_recorded_again_for_a_provider_that_came_later(record):
    action = creating(lying=True)
    record()
    action()
    later = record()
    action()

    assert values(later) == {of("pass", **MADE): 0, of("fail"): 1, of("fail", **MADE): 0}


def test_zeros_have_no_exemplars(recorded):
    with recorded.tracer.start_as_current_span("agent"):
        creating()()

    assert list(series(recorded)[of("fail")].exemplars) == []


def test_the_duration_of_an_action_has_action_and_outcome(recorded):
    creating()()
    (point,) = recorded.points("delta.action.duration")

    assert (dict(point.attributes), point.count) == (
        {"delta.action.name": "create_flow", "delta.action.outcome": "pass"},
        1,
    )


def test_the_duration_of_verification_has_the_action_alone(recorded):
    creating()()
    (point,) = recorded.points("delta.verification.duration")

    assert (dict(point.attributes), point.count) == ({"delta.action.name": "create_flow"}, 1)


@pytest.mark.parametrize("name", ["delta.action.duration", "delta.verification.duration"])
def test_durations_have_buckets_of_seconds(recorded, name):
    creating()()
    (point,) = recorded.points(name)

    assert tuple(point.explicit_bounds) == SECONDS


def test_durations_are_those_of_the_report(recorded):
    reports = reports_of(creating())
    (action,) = recorded.points("delta.action.duration")
    (checking,) = recorded.points("delta.verification.duration")

    assert (action.sum, checking.sum) == (reports[0].action_seconds, reports[0].verification_seconds)


@pytest.mark.parametrize("name", ["delta.action.duration", "delta.verification.duration", "delta.checks"])
def test_exemplars_lead_to_the_span_of_the_run(recorded, name):
    creating()()
    context = recorded.span.context
    exemplars = [exemplar for point in recorded.points(name) for exemplar in point.exemplars]

    assert {(exemplar.trace_id, exemplar.span_id) for exemplar in exemplars} == {
        (context.trace_id, context.span_id)
    }


def test_exemplars_lead_to_a_frameworks_span_that_was_enriched(recorded):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_flow"}
    with recorded.tracer.start_as_current_span("execute_tool create_flow", attributes=attributes) as span:
        creating()()
    (point,) = recorded.points("delta.action.duration")

    assert [exemplar.span_id for exemplar in point.exemplars] == [span.get_span_context().span_id]


def test_an_unsampled_run_is_recorded(record):
    recorded = record(ALWAYS_OFF)
    creating(lying=True)()

    assert recorded.spans == []
    assert values(recorded)[of("fail")] == 1


def test_an_unsampled_run_has_no_exemplars(record):
    recorded = record(ALWAYS_OFF)
    creating()()

    assert [list(point.exemplars) for point in recorded.points("delta.action.duration")] == [[]]


def test_a_run_that_raised_is_recorded(recorded):
    @expects(change("active_flows", count).by(1))
    def create_flow():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create_flow()
    assert values(recorded)[of("inconclusive", **{"delta.check.reason": "action_failed"})] == 1


def test_no_tag_state_or_argument_is_ever_an_attribute(recorded):
    action = creating()
    for name in ("first-flow", "second-flow"):
        action(name)
    names = {
        name: {key for point in recorded.points(name) for key in point.attributes}
        for name in ("delta.checks", "delta.action.duration", "delta.verification.duration")
    }

    assert names == {
        "delta.checks": {
            "delta.action.name",
            "delta.check.metric",
            "delta.check.outcome",
            "delta.check.origin",
        },
        "delta.action.duration": {"delta.action.name", "delta.action.outcome"},
        "delta.verification.duration": {"delta.action.name"},
    }


def test_a_thousand_runs_are_as_many_series_as_one(recorded):
    action = creating()
    for i in range(1000):
        action(f"flow {i}")

    assert len(series(recorded)) == 3
