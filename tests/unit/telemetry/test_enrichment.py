"""Enrichment of an agent framework's `execute_tool` span, once per span."""

from __future__ import annotations

from contextlib import contextmanager, suppress

import pytest
from opentelemetry.processor.baggage import ALLOW_ALL_BAGGAGE_KEYS, BaggageSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Span, SpanKind, StatusCode, use_span

from deltaspan import change, collect_reports, expects, observe, window
from support.active_flows import count, flows


@expects(change("flows", count).by(1))
def create_flow():
    flows.append("new")


@expects(change("flows", count).by(1))
def lie():
    return None


@expects(observe("flows", count))
def explode():
    raise ZeroDivisionError


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

    assert {
        name: attributes[name] for name in attributes if not name.startswith(("gen_ai", "deltaspan.p"))
    } == {
        "deltaspan.action.name": "create_flow",
        "deltaspan.causal_tag.id": reports[0].causal_tag,
        "deltaspan.causal_tag.root_id": reports[0].causal_tag,
        "deltaspan.action.outcome": "pass",
        "deltaspan.check.count": 1,
        "deltaspan.verification.duration": reports[0].verification_seconds,
        "deltaspan.expected_delta.flows": 1,
        "deltaspan.actual_delta.flows": 1,
    }


def test_the_frameworks_own_attributes_stay(recorded):
    with framework_span(recorded):
        create_flow()

    assert recorded.span.attributes["gen_ai.tool.call.id"] == "call_1"


def test_the_frameworks_span_gets_the_event(recorded):
    with framework_span(recorded):
        create_flow()

    assert recorded.event.name == "deltaspan.check.result"


def test_the_frameworks_span_is_not_ended_by_us(recorded):
    with framework_span(recorded) as span:
        create_flow()
        assert span.is_recording()


@pytest.mark.parametrize("action", [lie, explode])
def test_the_error_and_the_status_of_the_frameworks_span_are_its_own(recorded, action):
    with framework_span(recorded, action.__name__) as span:
        with suppress(ZeroDivisionError):
            action()
        span.set_status(StatusCode.OK)

    assert recorded.span.status.status_code is StatusCode.OK
    assert "error.type" not in recorded.span.attributes
    assert [event.name for event in recorded.events] == ["deltaspan.check.result"]
    assert recorded.logs == []


def test_a_server_span_of_the_framework_stays_without_an_error(recorded):
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "lie",
        "mcp.method.name": "tools/call",
    }
    with recorded.tracer.start_as_current_span("tools/call lie", kind=SpanKind.SERVER, attributes=attributes):
        lie()

    assert recorded.span.status.status_code is StatusCode.UNSET
    assert {name for name in recorded.span.attributes if not name.startswith("deltaspan.")} == set(attributes)
    assert recorded.span.attributes["deltaspan.action.outcome"] == "fail"


def test_a_second_call_within_the_frameworks_span_gets_a_span_of_its_own(recorded):
    with framework_span(recorded):
        create_flow()
        create_flow()

    assert scopes(recorded) == ["deltaspan", "a framework"]


def test_the_second_call_does_not_touch_the_frameworks_span(recorded):
    with collect_reports() as reports, framework_span(recorded):
        create_flow()
        create_flow()

    assert recorded.spans[1].attributes["deltaspan.causal_tag.id"] == reports[0].causal_tag
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
def test_a_span_of_another_operation_is_not_enriched(recorded, tool, operation):
    with framework_span(recorded, tool, operation):
        create_flow()

    assert scopes(recorded) == ["deltaspan", "a framework"]
    assert [name for name in recorded.spans[1].attributes if name.startswith("deltaspan.")] == []


def test_a_window_never_enriches(recorded):
    with framework_span(recorded), window("create_flow", observe("flows", count)):
        pass

    assert scopes(recorded) == ["deltaspan", "a framework"]


def test_an_ended_framework_span_is_not_enriched(recorded):
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

    assert [span.name for span in recorded.spans] == ["execute_tool create_flow", "verify agent_run"]
    assert recorded.spans[0].attributes["deltaspan.causal_tag.id"] == reports[0].causal_tag


@pytest.mark.parametrize("attributes", [{}, {"gcp.vertex.agent.event_id": "1"}], ids=["bare", "with others"])
def test_a_framework_span_recognized_only_by_its_name_is_enriched_once(recorded, attributes):
    with recorded.tracer.start_as_current_span("execute_tool create_flow", attributes=attributes) as span:
        create_flow()
        create_flow()
        span.set_attribute("gen_ai.tool.name", "create_flow")

    assert scopes(recorded) == ["deltaspan", "a framework"]
    assert recorded.spans[1].attributes["deltaspan.action.outcome"] == "pass"


@pytest.mark.parametrize(
    "name", ["execute_tool delete_flow", "execute_tool", "create_flow", "execute_tool create"]
)
def test_a_span_whose_name_is_of_another_operation_is_not_enriched(recorded, name):
    with recorded.tracer.start_as_current_span(name):
        create_flow()

    assert scopes(recorded) == ["deltaspan", "a framework"]
    assert not recorded.spans[1].attributes


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("lie", {"openinference.span.kind": "TOOL", "tool.name": "lie"}),
        ("lie", {"openinference.span.kind": "TOOL"}),
        ("tool", {"tool.name": "lie"}),  # an OpenInference tracer sets the kind at the end
        ("lie.tool", {"traceloop.span.kind": "tool", "traceloop.entity.name": "lie"}),
        ("tools/call lie", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ns__lie"}),
        ("execute_tool mcp__server__lie", {}),
        ("execute_tool server.lie", {}),
        ("execute_tool server/lie", {}),
        ("execute_tool server:lie", {}),
    ],
)
def test_one_call_is_one_tool_span_in_every_dialect(recorded, name, attributes):
    with recorded.tracer.start_as_current_span(name, attributes=attributes):
        lie()

    assert scopes(recorded) == ["a framework"]
    assert recorded.span.attributes["deltaspan.action.outcome"] == "fail"


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("lie", {"openinference.span.kind": "CHAIN"}),
        ("lie", {"openinference.span.kind": "AGENT", "tool.name": "lie"}),
        ("lie.task", {"traceloop.span.kind": "task", "traceloop.entity.name": "lie"}),
        ("execute_tool believe", {}),
        ("execute_tool be_lie", {}),
    ],
)
def test_a_span_of_another_kind_is_not_enriched_in_any_dialect(recorded, name, attributes):
    with recorded.tracer.start_as_current_span(name, attributes=attributes):
        lie()

    assert scopes(recorded) == ["deltaspan", "a framework"]


class WrappedSpan(Span):
    """A span of a tracer that wraps those of an SDK, with the API's methods alone."""

    def __init__(self, wrapped):
        self.wrapped = wrapped


def _relayed(name):
    return lambda self, *args, **kwargs: getattr(self.wrapped, name)(*args, **kwargs)


for _name in Span.__abstractmethods__:
    setattr(WrappedSpan, _name, _relayed(_name))
WrappedSpan.__abstractmethods__ = frozenset()


def test_a_wrapped_span_is_enriched_once(recorded):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_flow"}
    span = WrappedSpan(recorded.tracer.start_span("tool", attributes=attributes))
    with use_span(span, end_on_exit=True):
        create_flow()
        create_flow()

    assert scopes(recorded) == ["deltaspan", "a framework"]
    assert recorded.spans[1].attributes["deltaspan.action.outcome"] == "pass"


def test_the_tool_of_an_agent_that_is_a_tool_is_enriched(recorded):
    def delegate():
        with framework_span(recorded):
            create_flow()

    expects(observe("flows", count))(delegate)()

    assert [span.name for span in recorded.spans] == ["execute_tool create_flow", "execute_tool delegate"]
    assert scopes(recorded) == ["a framework", "deltaspan"]
