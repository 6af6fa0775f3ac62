"""The harness' own test: what plain OpenTelemetry sends to the real Jaeger is read back as it was."""

from __future__ import annotations

from uuid import uuid4

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from e2e._servers import Event

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


def exact(values):
    return {key: (type(value), value) for key, value in values.items()}


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


def test_what_never_arrives_is_told_with_the_services_that_are_there(jaeger, tracer, service):
    tracer.start_span("here").end()
    jaeger.find_traces(service)

    with pytest.raises(AssertionError, match="expected at least 1 traces of 'nobody'") as raised:
        jaeger.find_traces("nobody", timeout=0.1)

    assert service in str(raised.value)
