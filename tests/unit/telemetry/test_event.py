"""The `deltaspan.check.result` event of each check, on the span or as a log."""

import time
from time import time_ns

import pytest
from opentelemetry import trace
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LogRecordProcessor
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, StaticSampler
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from deltaspan import change, expects, observe, unchanged, window
from deltaspan._telemetry import Instruments, install
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


class Ended(SpanProcessor):
    """Remembers the spans that ended."""

    def __init__(self):
        self.spans = []

    def on_end(self, span):
        self.spans.append(span)


def without_cost(attributes):
    return {name: value for name, value in attributes.items() if name != "deltaspan.check.probe.duration"}


def test_each_check_is_one_event_and_failed_checks_are_last(recorded):
    several()

    assert [(event.name, event.attributes["deltaspan.check.metric"]) for event in recorded.events] == [
        ("deltaspan.check.result", "depth"),
        ("deltaspan.check.result", "users"),
        ("deltaspan.check.result", "rows"),
    ]


def test_a_passing_check_says_everything(recorded):
    create_flow()

    assert without_cost(recorded.event.attributes) == {
        "deltaspan.check.metric": "active_flows",
        "deltaspan.check.outcome": "pass",
        "deltaspan.check.expected_delta": 1,
        "deltaspan.check.actual_delta": 1,
        "deltaspan.check.attribution": "window",
        "deltaspan.check.origin": "this_action",
        "deltaspan.check.explanation": "active_flows changed by 1, as expected (3 → 4)",
    }


def test_a_failing_check_says_everything(recorded):
    lie()

    assert without_cost(recorded.event.attributes) == {
        "deltaspan.check.metric": "active_flows",
        "deltaspan.check.outcome": "fail",
        "deltaspan.check.expected_delta": 1,
        "deltaspan.check.actual_delta": 0,
        "deltaspan.check.attribution": "window",
        "deltaspan.check.explanation": "expected active_flows to change by 1, but it changed by 0 (3 → 3)",
    }


def test_a_check_whose_probe_failed_has_reason_and_exception_and_no_states(recorded):
    unverifiable()

    assert without_cost(recorded.event.attributes) == {
        "deltaspan.check.metric": "active_flows",
        "deltaspan.check.outcome": "inconclusive",
        "deltaspan.check.reason": "baseline_failed",
        "deltaspan.check.expected_delta": 1,
        "deltaspan.check.attribution": "window",
        "deltaspan.check.explanation": (
            "active_flows: before the action the probe raised LookupError: no such table"
        ),
        "error.type": "LookupError",
    }


def test_the_exception_of_a_probe_names_its_module(recorded):
    class TableError(Exception):
        pass

    def probe():
        raise TableError("gone")

    with window("w", observe("rows", probe)):
        pass

    assert recorded.event.attributes["error.type"] == f"{__name__}.{TableError.__qualname__}"


def test_the_exception_of_the_action_is_not_on_its_checks(recorded):
    def explode():
        raise ValueError("token=secret")

    with pytest.raises(ValueError, match="secret"):
        expects(*[change(f"m{i}", count).by(1) for i in range(5)])(explode)()

    assert not any("error.type" in event.attributes for event in recorded.events)
    assert [log.attributes["exception.message"] for log in recorded.logs] == ["token=secret"]


def test_a_probe_that_failed_after_the_action_leaves_its_baseline(recorded):
    reads = iter([3])

    with window("w", observe("rows", lambda: next(reads))):
        pass

    assert recorded.event.attributes["deltaspan.check.reason"] == "probe_failed"
    assert recorded.span.attributes["deltaspan.pre_state.rows"] == 3
    assert "deltaspan.post_state.rows" not in recorded.span.attributes


def test_the_states_of_a_check_are_on_the_span_alone(recorded):
    create_flow()

    assert not {"deltaspan.check.pre_state", "deltaspan.check.post_state"} & set(recorded.event.attributes)
    assert recorded.span.attributes["deltaspan.pre_state.active_flows"] == 3


def test_a_log_event_has_the_states_because_its_span_may_not_be_stored(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    create_flow()
    attributes = recorded.log.attributes

    assert (attributes["deltaspan.check.pre_state"], attributes["deltaspan.check.post_state"]) == (3, 4)


def test_the_duration_of_the_reads_is_in_seconds(recorded):
    def slow():
        time.sleep(0.02)
        return 0

    with window("w", observe("rows", slow)):
        pass
    duration = recorded.event.attributes["deltaspan.check.probe.duration"]

    assert type(duration) is float
    assert 0.04 <= duration < 20


def test_attribution_is_that_of_the_report(recorded):
    with window("w", change("rows", lambda tenant: count()).by(1), args={"tenant": "acme"}):
        flows.append("new")

    assert recorded.event.attributes["deltaspan.check.attribution"] == "scoped"


def test_states_keep_their_types(recorded):
    states = {"i": 1, "f": 1.5, "b": True, "s": "text", "n": None, "big": 2**70, "l": [1, {"a": 2}]}
    with window("w", *[observe(name, lambda value=value: value) for name, value in states.items()]):
        pass

    assert {name: recorded.span.attributes[f"deltaspan.pre_state.{name}"] for name in states} == {
        "i": 1,
        "f": 1.5,
        "b": True,
        "s": "text",
        "n": "null",
        "big": "1180591620717411303424",
        "l": '[1,{"a":2}]',
    }


def test_no_log_record_is_sent_by_default(recorded):
    several()

    assert recorded.logs == []


def test_an_event_sent_as_a_log_is_not_a_span_event(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    create_flow()

    assert (recorded.events, [record.event_name for record in recorded.logs]) == (
        [],
        ["deltaspan.check.result"],
    )


def test_an_event_for_both_signals_is_sent_twice(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="both")
    several()

    assert (len(recorded.events), len(recorded.logs)) == (3, 3)


def test_a_log_event_has_the_attributes_of_the_span_event_and_names_action_and_tag(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="both")
    reports = reports_of(lie)

    assert dict(recorded.log.attributes) == {
        **recorded.event.attributes,
        "deltaspan.check.pre_state": 3,
        "deltaspan.check.post_state": 3,
        "deltaspan.action.name": "lie",
        "deltaspan.causal_tag.id": reports[0].causal_tag,
        "deltaspan.causal_tag.root_id": reports[0].causal_tag,
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
    [(create_flow, SeverityNumber.DEBUG), (lie, SeverityNumber.ERROR), (unverifiable, SeverityNumber.WARN)],
)
def test_a_log_event_is_as_severe_as_its_outcome(recorded, environ, action, severity):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    action()

    assert recorded.log.severity_number is severity


def test_a_log_event_has_the_time_of_its_verdict(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    began = time_ns()
    several()

    assert all(began <= record.timestamp <= time_ns() for record in recorded.logs)


def test_a_log_event_has_states_as_maps_and_arrays(recorded, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    document = {"names": ("a", "b"), "owner": {"address": {"city": {"code": 1}}}, "none": None}
    with window("w", observe("document", lambda: document)):
        pass

    assert recorded.log.attributes["deltaspan.check.pre_state"] == {
        "names": ("a", "b"),
        "owner": {"address": {"city": '{"code":1}'}},
        "none": None,
    }


class _FromError(LogRecordProcessor):
    """Takes errors alone."""

    asked: list

    def __init__(self):
        self.asked = []

    def on_emit(self, log_record):
        pass

    def enabled(self, *, severity_number=None, event_name=None, **_):
        self.asked.append((severity_number, event_name))
        return severity_number is SeverityNumber.ERROR

    def shutdown(self):
        pass

    def force_flush(self, timeout_millis=30_000):
        return True


def test_a_logger_that_filters_by_severity_is_asked_with_it(record, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    recorded = record(logs=False)
    processor = _FromError()
    recorded.logger_provider.add_log_record_processor(processor)
    create_flow()
    lie()

    assert processor.asked == [
        (SeverityNumber.DEBUG, "deltaspan.check.result"),
        (SeverityNumber.ERROR, "deltaspan.check.result"),
    ]


def test_an_event_for_a_log_without_a_logger_breaks_nothing(record, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    recorded = record(logs=False)
    create_flow()

    assert recorded.events == []


@pytest.mark.parametrize("sampler", [ALWAYS_OFF, StaticSampler(Decision.RECORD_ONLY)], ids=["drop", "record"])
@pytest.mark.parametrize(("action", "outcome"), [(lie, "fail"), (unverifiable, "inconclusive")])
def test_a_failed_or_inconclusive_check_of_an_unsampled_action_is_sent_as_a_log(
    record, action, outcome, sampler
):
    recorded = record(sampler)
    action()

    assert recorded.spans == []
    assert recorded.log.attributes["deltaspan.check.outcome"] == outcome


def test_a_failed_check_of_an_action_without_a_tracer_is_sent_as_a_log(record):
    recorded = record()
    install(Instruments(trace.NoOpTracerProvider(), recorded.meter_provider, recorded.logger_provider))
    sampled_caller = NonRecordingSpan(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1)))
    with trace.use_span(sampled_caller):
        lie()

    assert (recorded.log.attributes["deltaspan.check.outcome"], recorded.log.trace_id) == ("fail", 1)


def test_a_span_that_records_without_being_sampled_has_the_verdict_for_its_processors(record):
    ended = Ended()
    record(StaticSampler(Decision.RECORD_ONLY), [ended])
    lie()

    assert ended.spans[0].attributes["deltaspan.action.outcome"] == "fail"


def test_a_log_event_of_an_unsampled_span_has_its_trace(record):
    recorded = record(ALWAYS_OFF)
    lie()

    assert recorded.log.trace_id != 0


def test_a_pass_of_an_unsampled_action_sends_nothing(record):
    recorded = record(ALWAYS_OFF)
    create_flow()

    assert (recorded.spans, recorded.logs) == ([], [])


def test_only_failed_checks_of_an_unsampled_action_are_sent(record):
    recorded = record(ALWAYS_OFF)
    several()

    assert recorded.log.attributes["deltaspan.check.metric"] == "rows"


def test_every_check_of_an_unsampled_action_is_sent_with_the_log_signal(record, environ):
    environ(DELTASPAN_EVENT_SIGNAL="log")
    recorded = record(ALWAYS_OFF)
    several()

    assert len(recorded.logs) == 3
