"""The metrics: attributes, initial zeros, and exemplars."""

import pytest
from opentelemetry.sdk.metrics import Meter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from deltaspan import change, expects, observe, unchanged, window
from deltaspan._telemetry import Instruments, install
from support.active_flows import broken, count, flows
from support.reports import reports_of

BOUNDS_OF_ACTIONS = (
    *(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64),
    *(1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92),
)
BOUNDS_OF_VERIFICATION = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)


def creating(*, lying=False):
    """Create an action that was not called yet."""

    @expects(change("active_flows", count).by(1))
    def create_flow(name="new"):
        if not lying:
            flows.append(name)

    return create_flow


def series(recorded, name="deltaspan.checks"):
    return {frozenset(point.attributes.items()): point for point in recorded.points(name)}


MADE = {"deltaspan.check.origin": "this_action"}
"""Attributes of a check with a change that is credited to the action."""


def of(outcome, metric="active_flows", action="create_flow", **more):
    attributes = {
        "deltaspan.action.name": action,
        "deltaspan.check.metric": metric,
        "deltaspan.check.outcome": outcome,
        **more,
    }
    return frozenset(attributes.items())


def values(recorded):
    return {attributes: point.value for attributes, point in series(recorded).items()}


def test_a_run_records_these_metrics_and_units(recorded):
    creating()()

    assert {name: metric.unit for name, metric in recorded.metrics().items()} == {
        "deltaspan.checks": "{check}",
        "gen_ai.execute_tool.duration": "s",
        "deltaspan.verification.duration": "s",
    }


def test_a_pass_counts_one_and_starts_fail_at_zero(recorded):
    creating()()

    assert values(recorded) == {of("pass", **MADE): 1, of("fail"): 0, of("fail", **MADE): 0}


def test_a_failure_counts_one_and_starts_pass_at_zero(recorded):
    creating(lying=True)()

    assert values(recorded) == {of("pass", **MADE): 0, of("fail"): 1, of("fail", **MADE): 0}


def test_zeros_are_recorded_before_the_action_runs(recorded):
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
    reason = {"deltaspan.check.reason": "baseline_failed"}
    zeros = {of("pass", **MADE): 0, of("fail"): 0, of("fail", **MADE): 0}
    assert values(recorded) == {**zeros, of("inconclusive", **reason): 1}


def test_an_observed_check_counts_without_reason(recorded):
    with window("w", observe("depth", count)):
        pass

    assert values(recorded)[of("observed", "depth", "w")] == 1


def test_an_observed_check_has_no_zeros(recorded):
    expects(observe("depth", count))(creating())()

    assert [
        dict(key)["deltaspan.check.outcome"]
        for key in values(recorded)
        if ("deltaspan.check.metric", "depth") in key
    ] == ["observed"]


def test_a_window_has_no_zeros(recorded):
    with window("w", change("active_flows", count).by(1)):
        flows.append("new")

    assert values(recorded) == {of("pass", action="w", **MADE): 1}


def import_rows(number, metric="active_flows"):
    with window(f"import-{number}", change(metric, count).by(1)) as opened:
        flows.append("new")
    return opened.report


@pytest.mark.parametrize(
    "name_of", [lambda i: (i, "active_flows"), lambda i: (0, f"rows-{i}")], ids=["window", "metric"]
)
def test_names_that_keep_changing_leave_room_for_a_failure(recorded, caplog, name_of):
    for i in range(1100):
        import_rows(*name_of(i))
    creating(lying=True)()

    names = {
        dict(key)["deltaspan.action.name"] + dict(key)["deltaspan.check.metric"] for key in values(recorded)
    }
    assert len(names) == 100 + len({"_OTHER_OTHER", "create_flowactive_flows"})
    assert values(recorded)[of("pass", "_OTHER", "_OTHER", **MADE)] == 1000
    assert values(recorded)[of("fail")] == 1
    assert len([record for record in caplog.records if "more than 100 names" in record.message]) == 1


def test_a_name_beyond_the_limit_is_other_in_durations_and_the_span_name(recorded):
    reports = [import_rows(i) for i in range(101)]
    *_, last = recorded.spans
    durations = {
        name: {point.attributes["deltaspan.action.name"] for point in recorded.points(name)}
        for name in ("deltaspan.action.duration", "deltaspan.verification.duration")
    }

    assert [(len(names), "_OTHER" in names, "import-100" in names) for names in durations.values()] == [
        (101, True, False)
    ] * 2
    assert (last.name, last.attributes["deltaspan.action.name"]) == ("verify _OTHER", "import-100")
    assert reports[-1].action == "import-100"


def test_each_call_site_has_names_of_its_own(recorded):
    for i in range(101):
        import_rows(i)
    with window("another place", observe("depth", count)):
        pass

    assert values(recorded)[of("observed", "depth", "another place")] == 1


def test_a_name_within_the_limit_stays_after_others_were_folded(recorded):
    for i in (*range(150), 7):
        import_rows(i)

    assert values(recorded)[of("pass", action="import-7", **MADE)] == 2


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


TOOL = {"gen_ai.tool.name": "create_flow", "gen_ai.tool.type": "function"}


def test_the_duration_of_a_tool_has_its_name_and_type(recorded):
    creating()()
    (point,) = recorded.points("gen_ai.execute_tool.duration")

    assert (dict(point.attributes), point.count) == (TOOL, 1)


def test_the_duration_of_a_tool_has_the_error_of_its_span(recorded):
    creating(lying=True)()
    (point,) = recorded.points("gen_ai.execute_tool.duration")

    assert dict(point.attributes) == {**TOOL, "error.type": "delta_check_failed"}
    assert recorded.span.attributes["error.type"] == "delta_check_failed"


def test_the_duration_of_a_tool_that_raised_has_the_class_of_the_exception(recorded):
    @expects(change("active_flows", count).by(1))
    def create_flow():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        create_flow()
    (point,) = recorded.points("gen_ai.execute_tool.duration")

    assert dict(point.attributes) == {**TOOL, "error.type": "ValueError"}


def test_the_duration_of_a_window_has_action_and_outcome(recorded):
    with window("w", change("active_flows", count).by(1)):
        flows.append("new")
    (point,) = recorded.points("deltaspan.action.duration")

    assert dict(point.attributes) == {"deltaspan.action.name": "w", "deltaspan.action.outcome": "pass"}
    assert recorded.points("gen_ai.execute_tool.duration") == []


def test_the_duration_of_a_window_has_the_error_of_its_span(recorded):
    with pytest.raises(ValueError, match="no"), window("w", observe("active_flows", count)):
        raise ValueError("no")
    (point,) = recorded.points("deltaspan.action.duration")

    assert point.attributes["error.type"] == "ValueError"


def test_the_duration_of_a_tool_has_action_and_outcome_on_request(recorded, environ):
    environ(DELTASPAN_ACTION_DURATION="all")
    creating()()
    (point,) = recorded.points("deltaspan.action.duration")

    assert dict(point.attributes) == {
        "deltaspan.action.name": "create_flow",
        "deltaspan.action.outcome": "pass",
    }
    assert len(recorded.points("gen_ai.execute_tool.duration")) == 1


def test_a_framework_records_the_duration_of_its_own_span(recorded):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_flow"}
    with recorded.tracer.start_as_current_span("execute_tool create_flow", attributes=attributes):
        creating()()

    assert {*recorded.metrics()} == {"deltaspan.checks", "deltaspan.verification.duration"}


def test_the_duration_of_verification_has_the_action_alone(recorded):
    creating()()
    (point,) = recorded.points("deltaspan.verification.duration")

    assert (dict(point.attributes), point.count) == ({"deltaspan.action.name": "create_flow"}, 1)


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("gen_ai.execute_tool.duration", BOUNDS_OF_ACTIONS),
        ("deltaspan.action.duration", BOUNDS_OF_ACTIONS),
        ("deltaspan.verification.duration", BOUNDS_OF_VERIFICATION),
    ],
)
def test_duration_histograms_have_bounds_for_their_range(recorded, environ, name, bounds):
    environ(DELTASPAN_ACTION_DURATION="all")
    creating()()
    (point,) = recorded.points(name)

    assert tuple(point.explicit_bounds) == bounds


def test_a_meter_that_takes_no_bounds_still_records(recorded, monkeypatch):
    create = Meter.create_histogram
    monkeypatch.setattr(
        Meter, "create_histogram", lambda self, name, unit, about: create(self, name, unit, about)
    )
    install(Instruments(recorded.tracer_provider, recorded.meter_provider, recorded.logger_provider))
    creating()()

    assert [point.count for point in recorded.points("gen_ai.execute_tool.duration")] == [1]


def test_durations_are_those_of_the_report(recorded):
    reports = reports_of(creating())
    (action,) = recorded.points("gen_ai.execute_tool.duration")
    (checking,) = recorded.points("deltaspan.verification.duration")

    assert (action.sum, checking.sum) == (reports[0].action_seconds, reports[0].verification_seconds)


@pytest.mark.parametrize("is_lying", [False, True])
@pytest.mark.parametrize(
    "name", ["gen_ai.execute_tool.duration", "deltaspan.verification.duration", "deltaspan.checks"]
)
def test_exemplars_lead_to_the_span_of_the_run(recorded, name, is_lying):
    creating(lying=is_lying)()
    context = recorded.span.context
    exemplars = [exemplar for point in recorded.points(name) for exemplar in point.exemplars]

    assert {(exemplar.trace_id, exemplar.span_id) for exemplar in exemplars} == {
        (context.trace_id, context.span_id)
    }


def test_exemplars_lead_to_a_frameworks_span_that_was_enriched(recorded):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_flow"}
    with recorded.tracer.start_as_current_span("execute_tool create_flow", attributes=attributes) as span:
        creating()()
    (point,) = recorded.points("deltaspan.verification.duration")

    assert [exemplar.span_id for exemplar in point.exemplars] == [span.get_span_context().span_id]


def test_an_unsampled_run_is_recorded(record):
    recorded = record(ALWAYS_OFF)
    creating(lying=True)()

    assert recorded.spans == []
    assert values(recorded)[of("fail")] == 1


def test_an_unsampled_run_has_no_exemplars(record):
    recorded = record(ALWAYS_OFF)
    creating()()

    assert [list(point.exemplars) for point in recorded.points("deltaspan.verification.duration")] == [[]]


def test_a_run_that_raised_is_recorded(recorded):
    @expects(change("active_flows", count).by(1))
    def create_flow():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create_flow()
    assert values(recorded)[of("inconclusive", **{"deltaspan.check.reason": "action_failed"})] == 1


def test_no_tag_state_or_argument_is_ever_an_attribute(recorded, environ):
    environ(DELTASPAN_ACTION_DURATION="all")
    action = creating()
    for name in ("first-flow", "second-flow"):
        action(name)
    names = {
        name: {key for point in recorded.points(name) for key in point.attributes}
        for name in recorded.metrics()
    }

    assert names == {
        "deltaspan.checks": {
            "deltaspan.action.name",
            "deltaspan.check.metric",
            "deltaspan.check.outcome",
            "deltaspan.check.origin",
        },
        "gen_ai.execute_tool.duration": {"gen_ai.tool.name", "gen_ai.tool.type"},
        "deltaspan.action.duration": {"deltaspan.action.name", "deltaspan.action.outcome"},
        "deltaspan.verification.duration": {"deltaspan.action.name"},
    }


def test_a_thousand_runs_are_as_many_series_as_one(recorded):
    action = creating()
    for i in range(1000):
        action(f"flow {i}")

    assert len(series(recorded)) == 3
