"""The end of a run's span: status, rendering, and an end in every case."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from deltaspan import _workers as _background
from deltaspan import change, collect_reports, expects, observe, unchanged, window
from deltaspan._engine import _deferred
from deltaspan._telemetry import _values as _state

flows: list[str] = []


@pytest.fixture(autouse=True)
def three_flows():
    flows[:] = ["a", "b", "c"]


def count():
    return len(flows)


@expects(change("active_flows", count).by(1))
def create_flow(name="new"):
    flows.append(name)
    return name


@expects(change("active_flows", count).by(1))
def lie():
    return "created"


@expects(change("active_flows", count).by(1))
def explode():
    raise ZeroDivisionError("division by zero")


def broken():
    raise LookupError("no such table")


@expects(change("active_flows", broken).by(1))
def unverifiable():
    return "done"


def test_a_failed_check_sets_error_with_the_explanation(recorded):
    lie()
    status = recorded.span.status

    assert (status.status_code, status.description) == (
        StatusCode.ERROR,
        "expected active_flows to change by 1, but it changed by 0 (3 → 3)",
    )


def test_a_failed_check_is_an_error_of_its_own_type(recorded):
    lie()

    assert recorded.span.attributes["error.type"] == "delta_check_failed"


def test_a_passed_run_has_no_error(recorded):
    create_flow()

    assert (recorded.span.status.status_code, "error.type" in recorded.span.attributes) == (
        StatusCode.UNSET,
        False,
    )


def test_an_inconclusive_check_is_not_an_error(recorded):
    unverifiable()

    assert (recorded.span.status.status_code, "error.type" in recorded.span.attributes) == (
        StatusCode.UNSET,
        False,
    )


def test_an_exception_of_the_action_is_the_type_of_the_error(recorded):
    with pytest.raises(ZeroDivisionError):
        explode()

    assert recorded.span.attributes["error.type"] == "ZeroDivisionError"


def test_an_exception_of_the_action_is_an_error(recorded):
    with pytest.raises(ZeroDivisionError):
        explode()

    assert (recorded.span.status.status_code, recorded.span.status.description) == (
        StatusCode.ERROR,
        "division by zero",
    )


def test_the_type_of_an_exception_outside_builtins_names_its_module(recorded):
    class FlowError(Exception):
        pass

    @expects(observe("flows", count))
    def action():
        raise FlowError

    with pytest.raises(FlowError):
        action()
    assert recorded.span.attributes["error.type"] == f"{__name__}.{FlowError.__qualname__}"


def test_an_exception_that_left_a_trace_is_still_the_exception(recorded):
    @expects(unchanged("flows", count))
    def action():
        flows.append("half")
        raise TimeoutError

    with pytest.raises(TimeoutError):
        action()
    assert recorded.span.attributes["error.type"] == "TimeoutError"
    assert recorded.span.status.description == "expected flows to stay unchanged, but it changed by 1 (3 → 4)"


@pytest.mark.parametrize("code", [StatusCode.OK, StatusCode.ERROR])
def test_a_status_that_the_action_set_is_kept(recorded, code):
    @expects(change("flows", count).by(1))
    def action():
        trace.get_current_span().set_status(code, "mine" if code is StatusCode.ERROR else None)

    action()
    assert recorded.span.status.status_code is code
    assert recorded.span.status.description == ("mine" if code is StatusCode.ERROR else None)


def test_an_unsampled_span_renders_no_state(record, monkeypatch):
    rendered = []
    monkeypatch.setattr(_state, "wire", lambda *args: rendered.append(args))
    record(ALWAYS_OFF)
    create_flow()

    assert rendered == []


def test_a_failure_on_an_unsampled_span_renders_nothing(record, monkeypatch):
    rendered = []
    monkeypatch.setattr(_state, "wire", lambda *args: rendered.append(args))
    record(ALWAYS_OFF, logs=False)
    lie()

    assert rendered == []


def test_a_sampled_span_renders_by_the_same_spy(record, monkeypatch):
    rendered = []
    monkeypatch.setattr(_state, "wire", lambda value, _: rendered.append(value) or 0)
    record()
    create_flow()

    assert {3, 4, 1} <= set(rendered)


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (ValueError("no"), "ValueError"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (SystemExit(2), "SystemExit"),
        (SystemExit(0), None),
        (SystemExit(), None),
        (asyncio.CancelledError(), None),
    ],
    ids=repr,
)
def test_the_span_ends_when_the_action_raises(recorded, error, error_type):
    @expects(observe("flows", count))
    def action():
        raise error

    with pytest.raises(type(error)):
        action()
    (duration,) = recorded.points("gen_ai.execute_tool.duration")
    assert recorded.span.attributes.get("error.type") == error_type
    assert duration.attributes.get("error.type") == error_type
    assert recorded.span.status.is_unset == (error_type is None)


@pytest.mark.parametrize("interrupted_read", [1, 2])
def test_the_span_has_ended_when_an_interrupted_probe_reaches_the_caller(recorded, interrupted_read):
    reads = []

    def probe():
        reads.append(1)
        if len(reads) == interrupted_read:
            raise KeyboardInterrupt
        return 0

    @expects(observe("flows", probe))
    def action():
        return None

    try:
        action()
    except KeyboardInterrupt:
        # Here the traceback still holds every frame alive: the span was not ended by a garbage collector.
        outcomes = [span.attributes["deltaspan.action.outcome"] for span in recorded.spans]
    assert outcomes == ["inconclusive"]


async def test_the_span_ends_when_the_task_is_cancelled(recorded):
    @expects(observe("flows", count))
    async def action():
        await asyncio.sleep(60)

    task = asyncio.create_task(action())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert recorded.span.name == "execute_tool action"


async def test_the_span_ends_when_an_async_probe_is_cancelled(recorded):
    async def probe():
        await asyncio.sleep(60)

    @expects(observe("flows", probe))
    async def action():
        return None

    task = asyncio.create_task(action())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert recorded.span.attributes["deltaspan.action.outcome"] == "inconclusive"


async def test_the_span_of_an_async_action_covers_its_waiting(recorded):
    @expects(observe("flows", count))
    async def action():
        await asyncio.sleep(0.02)

    await action()
    assert recorded.span.end_time - recorded.span.start_time >= 20_000_000


def test_the_span_ends_when_raise_is_the_policy(recorded):
    @expects(change("flows", count).by(1), on_failure="raise")
    def action():
        return None

    with pytest.raises(Exception, match="changed by 0"):
        action()
    assert recorded.span.attributes["deltaspan.action.outcome"] == "fail"


def test_a_window_opened_by_hand_ends_its_span_at_verify(recorded):
    w = window("import", observe("flows", count))
    w.capture_baseline()
    open_spans = recorded.spans
    w.verify()

    assert (open_spans, recorded.span.name) == ([], "verify import")


def test_a_window_that_is_never_verified_ends_its_span_when_collected(recorded):
    w = window("import", observe("flows", count))
    w.capture_baseline()
    del w
    _background.drain()

    assert recorded.span.attributes["deltaspan.action.outcome"] == "inconclusive"


def slow_probe():
    time.sleep(0.1)
    return 0


def act():
    time.sleep(0.02)


async def act_async():
    await asyncio.sleep(0.02)


def act_in_steps():
    time.sleep(0.01)
    yield 1
    time.sleep(0.01)


@pytest.mark.parametrize(
    "call",
    [
        lambda checks: expects(*checks)(act)(),
        lambda checks: expects(*checks, deferred=True)(act)(),
        lambda checks: asyncio.run(expects(*checks)(act_async)()),
        lambda checks: list(expects(*checks)(act_in_steps)()),
    ],
    ids=["sync", "deferred", "async", "generator"],
)
def test_the_span_lasts_as_long_as_the_action(recorded, call):
    with collect_reports() as reports:
        call([observe("n", slow_probe), change("m", lambda: 0).by(1).eventually(0.1, every=0.05)])
        assert _deferred.drain(10)
    span = recorded.spans[0]
    seconds = (span.end_time - span.start_time) / 1e9

    assert seconds == pytest.approx(reports[0].action_seconds, abs=0.005)
    assert recorded.spans[-1].attributes["deltaspan.verification.duration"] == reports[0].verification_seconds
    assert reports[0].verification_seconds > 0.2


def test_a_window_is_as_long_as_its_block(recorded):
    with window("w", observe("n", slow_probe)):
        act()

    assert 0.02 <= (recorded.span.end_time - recorded.span.start_time) / 1e9 < 0.1


def raising(error):
    def act():
        raise error

    return act


def run(action, *checks):
    with pytest.raises(BaseException):  # noqa: B017, PT011  # any exception of the action
        expects(*(checks or [observe("n", lambda: 0)]), name="act")(action)()


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (SystemExit(0), "exited"),
        (SystemExit(None), "exited"),
        (asyncio.CancelledError(), "cancelled"),
        (GeneratorExit(), "cancelled"),
    ],
)
def test_a_cancellation_and_an_exit_without_error_are_not_errors(recorded, error, ended):
    run(raising(error))
    attributes = recorded.span.attributes

    assert recorded.span.status.status_code is StatusCode.UNSET
    assert (attributes["deltaspan.action.ended"], "error.type" in attributes) == (ended, False)
    assert recorded.logs == []


@pytest.mark.parametrize("error", [SystemExit(1), SystemExit("no"), KeyboardInterrupt(), ValueError("no")])
def test_an_action_that_raised_an_error_is_not_marked_as_ended(recorded, error):
    run(raising(error))

    assert recorded.span.status.status_code is StatusCode.ERROR
    assert recorded.span.attributes["error.type"] == type(error).__name__
    assert "deltaspan.action.ended" not in recorded.span.attributes


def test_an_error_of_a_library_about_cancelled_work_is_an_error(recorded):
    run(raising(concurrent.futures.CancelledError()))

    assert recorded.span.status.status_code is StatusCode.ERROR


def test_a_failed_check_of_a_cancelled_action_is_still_an_error(recorded):
    run(raising(asyncio.CancelledError()), change("n", iter([1, 2]).__next__).by(1).or_unchanged_on_error())

    assert recorded.span.attributes["error.type"] == "delta_check_failed"


def test_the_status_is_the_message_without_the_class(recorded):
    run(raising(ValueError("no such flow")))

    assert recorded.span.status.description == "no such flow"


def test_the_exception_of_a_tool_is_one_log_event(recorded):
    error = ValueError("no such flow")
    run(raising(error), *[change(f"m{i}", lambda: 0).by(1) for i in range(5)])
    attributes = recorded.log.attributes

    assert (recorded.log.event_name, recorded.log.severity_text or recorded.log.severity_number.name) == (
        "gen_ai.execute_tool.exception",
        "WARN",
    )
    assert attributes["gen_ai.tool.name"] == "act"
    assert (attributes["exception.type"], attributes["exception.message"]) == ("ValueError", "no such flow")
    assert "raise error" in attributes["exception.stacktrace"]
    assert recorded.log.span_id == recorded.span.context.span_id
    assert "exception" not in [event.name for event in recorded.events]


def test_the_exception_of_a_block_is_a_log_event_of_deltaspan(recorded):
    with pytest.raises(ValueError, match="no"), window("w", observe("n", lambda: 0)):
        raise ValueError("no")

    assert recorded.log.event_name == "deltaspan.action.exception"


def test_the_exception_is_one_event_of_the_span_without_a_logger(recorded, monkeypatch):
    monkeypatch.setattr(type(recorded.instruments.logger), "enabled", lambda *_, **__: False)
    run(raising(ValueError("no such flow")))
    events = [event for event in recorded.events if event.name == "exception"]

    assert [event.attributes["exception.message"] for event in events] == ["no such flow"]


@pytest.mark.parametrize("capture", ["summary", "none"])
@pytest.mark.parametrize("has_logger", [True, False])
def test_an_exception_without_capture_is_its_type(recorded, environ, monkeypatch, capture, has_logger):
    environ(DELTASPAN_CAPTURE_STATE=capture)
    monkeypatch.setattr(type(recorded.instruments.logger), "enabled", lambda *_, **__: has_logger)
    run(raising(ValueError("secret")))
    records = [log.attributes for log in recorded.logs] + [event.attributes for event in recorded.events]

    assert {attributes.get("exception.type") for attributes in records} == {"ValueError", None}
    assert "secret" not in str([dict(attributes) for attributes in records])
    assert not recorded.span.status.description


def limited(record, **limits):
    recorded = record(limits=SpanLimits(**limits))
    checks = [change(f"m{i}", lambda: 0).by(1 if i == 0 else 0) for i in range(9)]
    expects(*checks, name="act")(lambda: None)()
    return recorded


def test_identity_and_verdict_survive_a_limit_of_attributes(record):
    span = limited(record, max_span_attributes=32).span

    assert len(span.attributes) == 32
    assert {
        "gen_ai.tool.name",
        "deltaspan.action.name",
        "deltaspan.causal_tag.id",
        "deltaspan.causal_tag.root_id",
        "deltaspan.action.outcome",
        "error.type",
    } <= span.attributes.keys()


def test_a_failed_check_survives_a_limit_of_events(record):
    events = limited(record, max_events=2).events

    assert [event.attributes["deltaspan.check.outcome"] for event in events] == ["pass", "fail"]


def test_a_limit_that_cuts_causal_tags_is_logged_once(record, caplog):
    limited(record, max_span_attribute_length=32)
    expects(observe("n", lambda: 0))(lambda: None)()

    [message] = [each.message for each in caplog.records if "cuts causal tags" in each.message]
    assert message.endswith("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT to 36 or more")


def test_the_exception_of_a_deferred_action_is_on_its_own_span(recorded):
    @expects(change("n", lambda: 0).by(1), deferred=True)
    def explode():
        raise ValueError("no such flow")

    with pytest.raises(ValueError, match="no such flow"):
        explode()
    assert _deferred.drain(10)
    action, verdict = recorded.spans
    by_name = {log.event_name: log for log in recorded.logs}

    assert action.attributes["error.type"] == "ValueError"
    assert (action.status.status_code, action.status.description) == (StatusCode.ERROR, "no such flow")
    assert by_name["gen_ai.execute_tool.exception"].span_id == action.context.span_id
    assert "error.type" not in verdict.attributes
    assert verdict.status.status_code is StatusCode.UNSET
    assert len(recorded.logs) == len(by_name)
