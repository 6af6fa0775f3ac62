"""Enrichment of an agent framework's `execute_tool` span, once per span."""

from contextlib import contextmanager

import pytest
from opentelemetry.processor.baggage import ALLOW_ALL_BAGGAGE_KEYS, BaggageSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from deltaspan import change, collect_reports, expects, observe, window
from support.active_flows import count, flows


@expects(change("flows", count).by(1))
def create_flow():
    flows.append("new")


@expects(change("flows", count).by(1))
def lie():
    return None


@contextmanager
def framework_span(recorded, tool="create_flow", operation="execute_tool"):
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": "call_1",
    }
    with recorded.tracer.start_as_current_span(f"{operation} {tool}", attributes=attributes) as span:
        yield span


def scopes(recorded):
    return [span.instrumentation_scope.name for span in recorded.spans]


def test_the_frameworks_span_for_this_tool_is_the_only_one(recorded):
    with framework_span(recorded):
        create_flow()

    assert scopes(recorded) == ["a framework"]


def test_the_frameworks_span_gets_identity_and_verdict(recorded):
    with collect_reports() as reports, framework_span(recorded):
        create_flow()
    attributes = recorded.span.attributes

    assert {name: attributes[name] for name in attributes if not name.startswith(("gen_ai", "delta.p"))} == {
        "code.function.name": f"{__name__}.create_flow",
        "delta.action.name": "create_flow",
        "delta.causal_tag.id": reports[0].causal_tag,
        "delta.causal_tag.root_id": reports[0].causal_tag,
        "delta.action.outcome": "pass",
        "delta.checks.total": 1,
        "delta.checks.failed": (),
        "delta.expected_delta.flows": 1,
        "delta.actual_delta.flows": 1,
    }


def test_the_frameworks_own_attributes_stay(recorded):
    with framework_span(recorded):
        create_flow()

    assert recorded.span.attributes["gen_ai.tool.call.id"] == "call_1"


def test_the_frameworks_span_gets_the_event(recorded):
    with framework_span(recorded):
        create_flow()

    assert recorded.event.name == "delta.check"


def test_the_frameworks_span_is_not_ended_by_us(recorded):
    with framework_span(recorded) as span:
        create_flow()
        assert span.is_recording()


def test_a_failure_makes_the_frameworks_span_an_error(recorded):
    with framework_span(recorded, "lie"):
        lie()

    assert recorded.span.status.status_code is StatusCode.ERROR


def test_a_second_call_within_the_frameworks_span_gets_a_span_of_its_own(recorded):
    with framework_span(recorded):
        create_flow()
        create_flow()

    assert scopes(recorded) == ["deltaspan", "a framework"]


def test_the_second_call_does_not_touch_the_frameworks_span(recorded):
    with collect_reports() as reports, framework_span(recorded):
        create_flow()
        create_flow()

    assert recorded.spans[1].attributes["delta.causal_tag.id"] == reports[0].causal_tag
    assert len(recorded.spans[1].events) == 1


def test_a_nested_call_of_the_same_tool_gets_a_span_of_its_own(recorded):
    @expects(observe("flows", count), name="create_flow")
    def outer():
        create_flow()

    with framework_span(recorded):
        outer()

    assert scopes(recorded) == ["deltaspan", "a framework"]


def test_our_own_span_is_never_enriched(recorded):
    @expects(observe("flows", count), name="create_flow")
    def outer():
        create_flow()

    outer()
    assert scopes(recorded) == ["deltaspan", "deltaspan"]


@pytest.mark.parametrize(("tool", "operation"), [("delete_flow", "execute_tool"), ("create_flow", "chat")])
def test_a_span_of_something_else_is_left_alone(recorded, tool, operation):
    with framework_span(recorded, tool, operation):
        create_flow()

    assert scopes(recorded) == ["deltaspan", "a framework"]
    assert [name for name in recorded.spans[1].attributes if name.startswith("delta.")] == []


def test_a_window_never_enriches(recorded):
    with framework_span(recorded), window("create_flow", observe("flows", count)):
        pass

    assert scopes(recorded) == ["deltaspan", "a framework"]


def test_a_framework_span_that_ended_is_left_alone(recorded):
    with framework_span(recorded) as span:
        span.end()
        create_flow()

    assert scopes(recorded) == ["a framework", "deltaspan"]


def test_an_unsampled_framework_span_gets_an_unsampled_child(record):
    recorded = record(ALWAYS_OFF)
    with framework_span(recorded):
        create_flow()

    assert recorded.spans == []


def test_a_framework_span_that_a_baggage_processor_stamped_is_enriched(record):
    recorded = record(processors=[BaggageSpanProcessor(ALLOW_ALL_BAGGAGE_KEYS)])
    with collect_reports() as reports, window("agent_run", observe("flows", count)), framework_span(recorded):
        create_flow()

    assert [span.name for span in recorded.spans] == ["execute_tool create_flow", "delta.window agent_run"]
    assert recorded.spans[0].attributes["delta.causal_tag.id"] == reports[0].causal_tag


@pytest.mark.parametrize("attributes", [{}, {"gcp.vertex.agent.event_id": "1"}], ids=["bare", "with others"])
def test_a_framework_span_that_only_its_own_name_tells_is_enriched_once(recorded, attributes):
    with recorded.tracer.start_as_current_span("execute_tool create_flow", attributes=attributes) as span:
        create_flow()
        create_flow()
        span.set_attribute("gen_ai.tool.name", "create_flow")

    assert scopes(recorded) == ["deltaspan", "a framework"]
    assert recorded.spans[1].attributes["delta.action.outcome"] == "pass"


@pytest.mark.parametrize(
    "name", ["execute_tool delete_flow", "execute_tool", "create_flow", "execute_tool create"]
)
def test_a_span_whose_name_tells_something_else_is_left_alone(recorded, name):
    with recorded.tracer.start_as_current_span(name):
        create_flow()

    assert scopes(recorded) == ["deltaspan", "a framework"]
    assert not recorded.spans[1].attributes
