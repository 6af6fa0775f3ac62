"""The end of a run's span: status, rendering, and an end in every case."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from deltaspan import _workers as _background
from deltaspan import change, expects, observe, unchanged, window
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


def test_an_inconclusive_check_is_no_error(recorded):
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
        "ZeroDivisionError: division by zero",
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


def test_a_failure_on_an_unsampled_span_renders_nothing_for_nobody(record, monkeypatch):
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
        outcomes = [span.attributes["delta.action.outcome"] for span in recorded.spans]
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
    assert recorded.span.attributes["delta.action.outcome"] == "inconclusive"


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
    assert recorded.span.attributes["delta.action.outcome"] == "fail"


def test_a_window_opened_by_hand_ends_its_span_at_verify(recorded):
    w = window("import", observe("flows", count))
    w.capture_baseline()
    open_spans = recorded.spans
    w.verify()

    assert (open_spans, recorded.span.name) == ([], "delta.window import")


def test_a_window_that_is_never_verified_ends_its_span_when_collected(recorded):
    w = window("import", observe("flows", count))
    w.capture_baseline()
    del w
    _background.drain()

    assert recorded.span.attributes["delta.action.outcome"] == "inconclusive"
