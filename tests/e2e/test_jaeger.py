"""Spans of verified actions, sent over both transports and read from a real Jaeger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from e2e._servers import Event

HERE = Path(__file__).parent
DEMO = HERE.parents[1] / "examples" / "demo"


@pytest.fixture(scope="module", params=["grpc", "http/protobuf"])
def protocol(request):
    return request.param


def run(jaeger, protocol, cwd, *arguments):
    """Run a Python program to its end and return the service that it was in Jaeger."""
    service = f"{Path(arguments[0]).stem}-{uuid4()}"
    program = subprocess.run(  # our own programs
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=jaeger.environment(protocol, OTEL_SERVICE_NAME=service, PYTHONWARNINGS="error"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (program.returncode, program.stderr) == (0, ""), program.stdout + program.stderr
    return service


@pytest.fixture(scope="module")
def demo(jaeger, protocol, tmp_path_factory):
    return run(jaeger, protocol, tmp_path_factory.mktemp("demo"), DEMO)


@pytest.fixture(scope="module")
def every_kind(jaeger, protocol, tmp_path_factory):
    service = run(jaeger, protocol, tmp_path_factory.mktemp("kinds"), HERE / "_every_kind.py")
    [trace] = jaeger.find_traces(service)
    return trace.span("execute_tool act")


def exact(values):
    return {key: (type(value), value) for key, value in values.items()}


def test_the_failing_actions_are_found_by_one_tag(jaeger, demo):
    traces = jaeger.find_traces(demo, tags={"deltaspan.action.outcome": "fail"})

    assert {span.name for trace in traces for span in trace.spans} == {
        "execute_tool clone_flow",
        "execute_tool clone_tagged_flow",
        "execute_tool import_flow",
        "execute_tool publish_flow",
        "execute_tool request_flow",
    }
    assert {span.status for trace in traces for span in trace.spans} == {"ERROR"}


def test_an_honest_action_is_found_by_its_outcome_and_carries_no_error(jaeger, demo):
    traces = jaeger.find_traces(
        demo, tags={"deltaspan.action.outcome": "pass", "gen_ai.tool.name": "create_flow"}
    )

    [span] = [span for trace in traces for span in trace.spans]
    assert (span.status, "error.type" in span.tags) == ("UNSET", False)


def test_the_span_of_a_failing_action_carries_its_states_and_deltas(jaeger, demo):
    [trace] = jaeger.find_traces(
        demo, tags={"deltaspan.action.outcome": "fail", "gen_ai.tool.name": "clone_flow"}
    )
    span = trace.span("execute_tool clone_flow")
    tags = dict(span.tags)
    tag = tags.pop("deltaspan.causal_tag.id")
    seconds = tags.pop("deltaspan.verification.duration")

    assert 0 < seconds < 10
    assert str(UUID(tag)) == tag
    assert (span.scope, span.kind, span.parent_id) == ("deltaspan", 1, "")
    assert (span.status, span.status_message) == (
        "ERROR",
        "expected active_flows to change by 1, but it changed by 0 (3 → 3)",
    )
    assert exact(tags) == exact(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "clone_flow",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": "Copy a flow without a commit. It is lost when the session closes.",
            "code.function.name": "tools.clone_flow",
            "error.type": "delta_check_failed",
            "deltaspan.action.name": "clone_flow",
            "deltaspan.action.outcome": "fail",
            "deltaspan.causal_tag.root_id": tag,
            "deltaspan.check.count": 2,
            "deltaspan.check.failed_metrics": ["active_flows"],
            "deltaspan.pre_state.active_flows": 3,
            "deltaspan.post_state.active_flows": 3,
            "deltaspan.expected_delta.active_flows": 1,
            "deltaspan.actual_delta.active_flows": 0,
            "deltaspan.pre_state.users": 5,
            "deltaspan.post_state.users": 5,
            "deltaspan.expected_delta.users": "no change",
            "deltaspan.actual_delta.users": 0,
        }
    )


def test_each_check_is_an_event_with_its_verdict(jaeger, demo):
    [trace] = jaeger.find_traces(
        demo, tags={"deltaspan.action.outcome": "fail", "gen_ai.tool.name": "clone_flow"}
    )
    passed, failed = trace.span("execute_tool clone_flow").events  # the last is the one that limits keep
    fields = dict(failed.fields)

    assert (failed.name, passed.name) == ("deltaspan.check.result", "deltaspan.check.result")
    assert isinstance(fields.pop("deltaspan.check.probe.duration"), float)
    assert exact(fields) == exact(
        {
            "deltaspan.check.metric": "active_flows",
            "deltaspan.check.outcome": "fail",
            "deltaspan.check.expected_delta": 1,
            "deltaspan.check.actual_delta": 0,
            "deltaspan.check.attribution": "window",
            "deltaspan.check.explanation": (
                "expected active_flows to change by 1, but it changed by 0 (3 → 3)"
            ),
        }
    )
    assert (passed.fields["deltaspan.check.metric"], passed.fields["deltaspan.check.outcome"]) == (
        "users",
        "pass",
    )


def test_an_inconclusive_check_arrives_with_its_reason(jaeger, demo):
    traces = jaeger.find_traces(demo, tags={"deltaspan.action.outcome": "inconclusive"}, at_least=2)

    spans = [span for trace in traces for span in trace.spans]
    events = [event.fields for span in spans for event in span.events]
    undecided = [event for event in events if event["deltaspan.check.outcome"] == "inconclusive"]
    assert [event["deltaspan.check.reason"] for event in undecided] == ["contended", "contended"]
    named = [metric for span in spans for metric in span.tags["deltaspan.check.inconclusive_metrics"]]
    assert named == [event["deltaspan.check.metric"] for event in undecided]


def states(span, metric):
    return [span.tags[f"deltaspan.{which}.{metric}"] for which in ("pre_state", "post_state", "actual_delta")]


def test_numbers_booleans_and_strings_keep_their_types(every_kind):
    assert every_kind.tags["deltaspan.action.outcome"] == "pass"
    assert states(every_kind, "count") == [3, 0, -3]
    assert states(every_kind, "balance") == [1.5, 2.0, 0.5]
    assert [type(value) for value in states(every_kind, "balance")] == [float, float, float]
    assert states(every_kind, "door")[:2] == ["open", "shut"]
    assert [value is True for value in states(every_kind, "ready")[:2]] == [False, True]


def test_collections_arrive_as_compact_json(every_kind):
    assert states(every_kind, "tenants")[:2] == ['["acme"]', '["acme","globex"]']
    assert states(every_kind, "prices")[:2] == ['{"tea":2}', '{"tea":3}']


def test_an_integer_beyond_64_bits_arrives_as_text(every_kind):
    assert states(every_kind, "huge") == [2**63 - 1, "9223372036854775808", 1]


# The harness ------------------------------------------------------------------------------------------------

ATTRIBUTES = {
    "text": "ü",
    "empty": "",
    "yes": True,
    "no": False,
    "zero": 0,
    "large": 2**63 - 1,
    "whole": 3.0,
    "half": -0.5,
    "list": ["a", "b"],
}


@pytest.fixture(params=["grpc", "http"])
def exporter(request, jaeger):
    if request.param == "grpc":
        return GrpcExporter(endpoint=jaeger.grpc_endpoint, insecure=True)
    return HttpExporter(endpoint=f"{jaeger.http_endpoint}/v1/traces")


@pytest.fixture
def service():
    return f"harness-{uuid4()}"


@pytest.fixture
def tracer(exporter, service):
    provider = TracerProvider(resource=Resource({"service.name": service}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider.get_tracer("harness")
    provider.shutdown()


def test_attributes_and_events_arrive_with_their_types(jaeger, tracer, service):
    with tracer.start_as_current_span("parent"), tracer.start_as_current_span("child") as child:
        child.set_attributes(ATTRIBUTES)
        child.add_event("first", ATTRIBUTES)
        child.add_event("second", {"n": 1})

    [trace] = jaeger.find_traces(service, tags={"text": "ü", "zero": "0", "yes": "true"})

    parent, child = trace.span("parent"), trace.span("child")
    assert child.parent_id == parent.span_id
    assert parent.parent_id == ""
    assert child.service == service
    assert exact(child.tags) == exact(ATTRIBUTES)
    assert exact(child.events[0].fields) == exact(ATTRIBUTES)
    assert child.events[1] == Event("second", {"n": 1})


def test_a_search_by_tag_leaves_other_traces_out(jaeger, tracer, service):
    for outcome in ("pass", "fail", "pass"):
        tracer.start_span(outcome, attributes={"outcome": outcome}).end()

    assert len(jaeger.find_traces(service, at_least=3)) == 3
    [failed] = jaeger.find_traces(service, tags={"outcome": "fail"})
    assert [span.name for span in failed.spans] == ["fail"]


def test_a_timeout_waiting_for_traces_names_the_services_that_jaeger_knows(jaeger, tracer, service):
    tracer.start_span("here").end()
    jaeger.find_traces(service)

    with pytest.raises(AssertionError, match="expected at least 1 traces of 'nobody'") as raised:
        jaeger.find_traces("nobody", timeout=0.1)

    assert service in str(raised.value)
