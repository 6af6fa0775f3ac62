"""States in the real OTLP encoder: no value causes a warning, a log record or a loss."""

import logging
import math
from contextlib import contextmanager
from datetime import timezone
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from deltaspan._state.render._render import wire

MAX_CHARS = 256

# Generating such states is what takes the time, and a shared machine is no measure of ours.
for_any = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Opaque:
    """Has no text of its own."""


ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates and control characters too
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | ANY_TEXT
    | st.binary()
    | st.decimals().filter(lambda number: not number.is_snan())  # which has no hash
    | st.datetimes(timezones=st.none() | st.just(timezone.utc))
    | st.timedeltas()
    | st.uuids()
)
STATES = st.recursive(
    SCALARS | st.builds(Opaque),
    lambda inner: (
        st.lists(inner).map(tuple)
        | st.frozensets(SCALARS)
        | st.dictionaries(SCALARS, inner).map(MappingProxyType)
    ),
    max_leaves=12,
)
ATTRIBUTES = st.lists(STATES, min_size=1, max_size=10).map(
    lambda states: {f"deltaspan.pre_state.m{n}": wire(state, MAX_CHARS) for n, state in enumerate(states)}
)
EXTREMES = [
    None,
    2**63,
    -(2**63) - 1,
    2**63 - 1,
    -(2**63),
    10**5000,
    math.nan,
    -math.inf,
    "\ud800",
    "a\x00b",
    "x" * 10**6,
    b"\xff\xfe",
    frozenset(range(10**5)),
    {("\ud800", 1): "\udfff" * 1000},
    Opaque(),
]


@contextmanager
def nothing_logged():
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
    assert [record.getMessage() for record in records] == []


def decoded(attributes):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def typed(attributes):
    """Pair each value with its type, and NaN with its text: it equals nothing."""
    return {
        key: (type(value), "nan" if isinstance(value, float) and math.isnan(value) else value)
        for key, value in attributes.items()
    }


def sent_as_span(attributes):
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("test").start_as_current_span("execute_tool create_flow") as span:
        span.set_attributes(attributes)
        span.add_event("deltaspan.check.result", attributes)
    body = encode_spans(exporter.get_finished_spans()).SerializeToString()
    span = ExportTraceServiceRequest.FromString(body).resource_spans[0].scope_spans[0].spans[0]
    assert (span.dropped_attributes_count, span.events[0].dropped_attributes_count) == (0, 0)
    return decoded(span.attributes), decoded(span.events[0].attributes)


def sent_as_log_event(attributes):
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    provider.get_logger("test").emit(event_name="deltaspan.check.result", attributes=attributes)
    body = encode_logs(exporter.get_finished_logs()).SerializeToString()
    record = ExportLogsServiceRequest.FromString(body).resource_logs[0].scope_logs[0].log_records[0]
    assert record.dropped_attributes_count == 0
    return decoded(record.attributes)


@for_any
@given(ATTRIBUTES)
def test_any_state_arrives_unchanged_as_an_attribute_of_a_span_and_of_its_event(attributes):
    with nothing_logged():
        on_span, on_event = sent_as_span(attributes)
    assert typed(on_span) == typed(attributes)
    assert typed(on_event) == typed(attributes)


@for_any
@given(ATTRIBUTES)
def test_any_state_arrives_unchanged_as_an_attribute_of_a_log_event(attributes):
    with nothing_logged():
        on_log = sent_as_log_event(attributes)
    assert typed(on_log) == typed(attributes)


@pytest.mark.parametrize("state", EXTREMES, ids=lambda state: type(state).__name__)
def test_a_state_that_otlp_itself_would_refuse_arrives(state):
    attributes = {"deltaspan.post_state.m": wire(state, MAX_CHARS)}
    with nothing_logged():
        on_span, on_event = sent_as_span(attributes)
        on_log = sent_as_log_event(attributes)
    assert typed(on_span) == typed(on_event) == typed(on_log) == typed(attributes)


@pytest.mark.parametrize("state", [2**63, "\ud800"])
def test_the_encoder_logs_an_error_for_a_state_that_was_not_rendered(state):
    with pytest.raises(AssertionError), nothing_logged():
        sent_as_span({"deltaspan.post_state.m": state})
