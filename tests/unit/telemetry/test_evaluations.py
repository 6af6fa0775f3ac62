"""Verdicts as `gen_ai.evaluation.result` events, by OpenTelemetry's conventions."""

from time import time_ns

import pytest
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from deltaspan import change, collect_reports, configure, expects, observe, window
from deltaspan._telemetry import EvaluationBridge
from deltaspan.exceptions import DefinitionValueError

flows: list[str] = []


def broken():
    raise LookupError("no such table")


@expects(change("flows", lambda: len(flows)).by(1))
def create_flow():
    flows.append("new")


@expects(change("flows", lambda: 3).by(1))
def lie():
    return None


@expects(change("flows", broken).by(1))
def unverifiable():
    return None


@pytest.fixture(autouse=True)
def both_kinds():
    flows[:] = ["a", "b", "c"]
    configure(events=("check", "evaluation"))


@pytest.mark.parametrize(
    ("action", "severity", "more"),
    [
        (create_flow, SeverityNumber.INFO, {"gen_ai.evaluation.score.value": 1.0}),
        (lie, SeverityNumber.WARN, {"gen_ai.evaluation.score.value": 0.0}),
        (unverifiable, SeverityNumber.INFO, {"error.type": "LookupError"}),
    ],
)
def test_a_verdict_is_an_evaluation_of_its_span(recorded, action, severity, more):
    began = time_ns()
    with collect_reports() as reports:
        action()
    record, check = recorded.log, reports[0].checks[0]

    assert (record.event_name, record.severity_number) == ("gen_ai.evaluation.result", severity)
    assert dict(record.attributes) == {
        "gen_ai.evaluation.name": "flows_delta",
        "gen_ai.evaluation.score.label": check.outcome,
        "gen_ai.evaluation.explanation": check.explanation,
        "deltaspan.check.metric": "flows",
        "deltaspan.check.attribution": "window",
        "deltaspan.causal_tag.id": reports[0].causal_tag,
        **more,
    }
    assert began <= record.timestamp <= time_ns()
    assert (record.trace_id, record.span_id) == (
        recorded.span.context.trace_id,
        recorded.span.context.span_id,
    )
    assert [event.name for event in recorded.span.events] == ["deltaspan.check.result"]


def test_an_inconclusive_evaluation_without_an_exception_has_the_reason(recorded):
    lazy = window("lazy", change("flows", lambda: len(flows)).by(1))
    lazy.capture_baseline()
    create_flow()
    lazy.verify()
    *_, record = recorded.logs

    assert record.attributes["error.type"] == "contended"
    assert "gen_ai.evaluation.score.value" not in record.attributes


def test_an_observation_and_a_skipped_check_are_not_evaluations(recorded):
    with window("w", observe("flows", lambda: 3), change("rows", lambda: 3).sampled(0)):
        pass

    assert recorded.logs == []


def test_verdicts_are_not_evaluations_if_only_check_events_are_enabled(recorded):
    configure(events=("check",))
    lie()

    assert recorded.logs == []


def test_evaluations_alone_send_no_check_event(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="both")
    configure(events=("evaluation",))
    lie()

    assert (list(recorded.span.events), [each.event_name for each in recorded.logs]) == (
        [],
        ["gen_ai.evaluation.result"],
    )


def test_only_failures_of_an_unsampled_action_are_evaluations(record):
    recorded = record(ALWAYS_OFF)
    create_flow()
    lie()

    assert [each.event_name for each in recorded.logs] == [
        "deltaspan.check.result",
        "gen_ai.evaluation.result",
    ]
    assert recorded.logs[1].attributes["gen_ai.evaluation.score.label"] == "fail"


def test_the_explanation_without_captured_content_quotes_no_state(recorded):
    configure(capture_state="none")
    lie()

    assert recorded.log.attributes["gen_ai.evaluation.explanation"] == "flows: fail"


def test_the_bridge_adds_an_evaluation_to_its_span(record):
    recorded = record(logs=False)
    recorded.logger_provider.add_log_record_processor(EvaluationBridge())
    lie()
    *_, event = recorded.span.events

    assert [each.name for each in recorded.span.events] == [
        "deltaspan.check.result",
        "gen_ai.evaluation.result",
    ]
    assert event.attributes["gen_ai.evaluation.score.label"] == "fail"
    assert event.timestamp <= time_ns()


def test_the_bridge_does_not_change_other_events_and_scopes(record):
    recorded = record(logs=False)
    recorded.logger_provider.add_log_record_processor(EvaluationBridge())
    logger = recorded.logger_provider.get_logger("another")
    with recorded.tracer.start_as_current_span("agent"):
        logger.emit(event_name="gen_ai.evaluation.result")
        logger.emit(event_name="another event")
    configure(event_signal="log")
    lie()

    assert [[event.name for event in span.events] for span in recorded.spans] == [
        [],
        ["gen_ai.evaluation.result"],
    ]


def test_an_unknown_kind_of_event_is_refused():
    with pytest.raises(DefinitionValueError, match="write one or more of check, evaluation"):
        configure(events=("check", "score"))
