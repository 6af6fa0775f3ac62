"""Faults in any part of telemetry, none of which affects an action."""

import logging
from unittest.mock import Mock

import pytest
from opentelemetry import trace
from opentelemetry._logs import NoOpLoggerProvider
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import Sampler
from opentelemetry.trace import StatusCode

from deltaspan import _process, change, collect_reports, current_causal_tag, expects
from deltaspan._telemetry import Instruments, _events, install, instruments
from deltaspan._telemetry import _values as _state
from support.active_flows import count, flows


class TelemetryFault(Exception):
    """The exception that broken telemetry raises here."""


def fault(*args, **kwargs):
    raise TelemetryFault("telemetry is broken")


@expects(change("flows", count).by(1))
def create_flow(name):
    flows.append(name)
    return name, current_causal_tag()


@expects(change("flows", count).by(1))
def lie():
    return "created"


class BrokenSampler(Sampler):
    should_sample = fault

    def get_description(self):
        return "broken"


class BrokenOnStart(SpanProcessor):
    on_start = fault


class BrokenOnEnd(SpanProcessor):
    on_end = fault


class BrokenExporter(SpanExporter):
    export = fault

    def shutdown(self):
        return None


def in_sampler(record, monkeypatch):
    record(BrokenSampler())


def in_on_start(record, monkeypatch):
    record(processors=[BrokenOnStart()])


def in_on_end(record, monkeypatch):
    record(processors=[BrokenOnEnd()])


def in_exporter(record, monkeypatch):
    record(processors=[SimpleSpanProcessor(BrokenExporter())])


def on_the_span(method):
    def arrange(record, monkeypatch):
        recorded = record()
        start = recorded.instruments.tracer.start_span

        def start_broken(*args, **kwargs):
            span = start(*args, **kwargs)
            monkeypatch.setattr(span, method, fault)
            return span

        recorded.instruments.tracer = Mock(start_span=start_broken)

    arrange.__name__ = f"in_{method}"
    return arrange


def in_instrument(name, method):
    def arrange(record, monkeypatch):
        monkeypatch.setattr(getattr(record().instruments, name), method, fault)

    arrange.__name__ = f"in_{name}"
    return arrange


def in_logger(record, monkeypatch):
    monkeypatch.setenv("DELTASPAN_EVENT_SIGNAL", "both")
    record().instruments.logger = Mock(enabled=lambda **_: True, emit=fault)


def in_logger_enabled(record, monkeypatch):
    monkeypatch.setenv("DELTASPAN_EVENT_SIGNAL", "both")
    record().instruments.logger = Mock(enabled=fault)


def in_rendering(record, monkeypatch):
    record()
    monkeypatch.setattr(_state, "wire", fault)


def in_event_attributes(record, monkeypatch):
    record()
    monkeypatch.setattr(_events, "_attributes", fault)


def in_get_tracer(record, monkeypatch):
    record()
    provider = TracerProvider(shutdown_on_exit=False)
    monkeypatch.setattr(provider, "get_tracer", fault)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    _process.reset()  # the instruments are created again, from the global providers


FAULTS = [
    in_sampler,
    in_on_start,
    in_on_end,
    on_the_span("add_event"),
    on_the_span("set_attributes"),
    on_the_span("set_status"),
    on_the_span("is_recording"),
    on_the_span("end"),
    in_instrument("checks", "add"),
    in_instrument("execute_tool_duration", "record"),
    in_instrument("verification_duration", "record"),
    in_logger,
    in_logger_enabled,
    in_rendering,
    in_event_attributes,
    in_get_tracer,
]

each_fault = pytest.mark.parametrize("arrange", FAULTS, ids=lambda arrange: arrange.__name__)


@pytest.fixture
def broken(record, monkeypatch, environ, arrange, caplog):
    arrange(record, monkeypatch)
    environ()
    caplog.set_level(logging.DEBUG, "deltaspan")
    return caplog


@each_fault
def test_the_result_of_an_action_is_returned(broken):
    assert create_flow("new")[0] == "new"


@each_fault
def test_an_action_still_has_its_tag(broken):
    assert create_flow("new")[1] is not None


@each_fault
def test_the_report_is_complete(broken):
    with collect_reports() as reports:
        create_flow("new")
        lie()

    assert [report.outcome for report in reports] == ["pass", "fail"]


@each_fault
def test_the_exception_of_an_action_comes_through(broken):
    error = ValueError("its own")

    @expects(change("flows", count).by(1))
    def action():
        raise error

    with pytest.raises(ValueError, match="its own") as caught:
        action()
    assert caught.value is error


@each_fault
def test_nothing_stays_current(broken):
    lie()

    assert (current_causal_tag(), trace.get_current_span()) == (None, trace.INVALID_SPAN)


@each_fault
async def test_an_async_action_does_not_notice_either(broken):
    @expects(change("flows", count).by(1))
    async def action():
        return "done"

    assert await action() == "done"


@each_fault
def test_the_fault_is_logged_once_with_its_traceback(broken):
    for _ in range(5):
        lie()
    said = [record for record in broken.records if record.levelno >= logging.WARNING]
    sentences = [record.getMessage() for record in said]

    # A counter that is broken is met twice: when its series starts, and when it counts.
    assert 1 <= len(said) <= 2
    assert len(set(sentences)) == len(said)
    assert all(s.endswith(" raised and was ignored; the action is not affected") for s in sentences)
    assert {(record.name, record.exc_info[0]) for record in said} == {("deltaspan", TelemetryFault)}


@each_fault
def test_a_repeated_fault_is_logged_at_debug_level(broken):
    lie()
    broken.clear()
    lie()

    assert {record.levelno for record in broken.records if record.name == "deltaspan"} == {logging.DEBUG}


def test_a_broken_exporter_is_the_sdks_to_log(record, monkeypatch):
    in_exporter(record, monkeypatch)

    assert create_flow("new")[0] == "new"


def test_a_fault_that_began_later_is_logged(record, monkeypatch, caplog):
    recorded = record()
    create_flow("new")
    monkeypatch.setattr(recorded.instruments.execute_tool_duration, "record", fault)
    create_flow("new")

    assert [entry.levelname for entry in caplog.records] == ["WARNING"]


def test_an_interrupt_is_not_a_fault(record, monkeypatch):
    recorded = record()
    monkeypatch.setattr(recorded.instruments.checks, "add", Mock(side_effect=KeyboardInterrupt))

    with pytest.raises(KeyboardInterrupt):
        create_flow("new")


def test_a_broken_event_does_not_lose_the_verdict_on_the_span(record, monkeypatch):
    on_the_span("add_event")(record, monkeypatch)
    recorded = instruments()
    ended = []
    start = recorded.tracer.start_span
    recorded.tracer = Mock(start_span=lambda *a, **k: ended.append(start(*a, **k)) or ended[-1])
    lie()

    assert ended[0].attributes.get("deltaspan.action.outcome") == "fail"
    assert ended[0].status.status_code is StatusCode.ERROR


def test_a_broken_log_event_does_not_lose_the_verdict_on_the_span(record, monkeypatch, environ):
    recorded = record()
    environ(DELTASPAN_EVENT_SIGNAL="both")
    recorded.instruments.logger = Mock(enabled=lambda **_: True, emit=fault)
    lie()

    assert recorded.span.attributes.get("deltaspan.action.outcome") == "fail"


@pytest.mark.parametrize("name", ["checks", "execute_tool_duration", "verification_duration"])
def test_a_broken_instrument_does_not_lose_the_span(record, monkeypatch, name):
    recorded = record()
    instrument = getattr(recorded.instruments, name)
    monkeypatch.setattr(instrument, "add" if name == "checks" else "record", fault)
    lie()

    assert recorded.span.attributes["deltaspan.action.outcome"] == "fail"


def test_an_action_runs_without_any_sdk(record):
    record()
    install(Instruments(trace.NoOpTracerProvider(), None, NoOpLoggerProvider()))

    assert create_flow("new")[0] == "new"
