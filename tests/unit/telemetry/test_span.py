"""The span of a run: identity at its start, verdict and status at its end."""

import asyncio

import pytest
from opentelemetry import trace
from opentelemetry.processor.baggage import ALLOW_ALL_BAGGAGE_KEYS, BaggageSpanProcessor
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler
from opentelemetry.trace import SpanKind, StatusCode

from deltaspan import _workers as _background
from deltaspan import change, collect_reports, current_causal_tag, expects, observe, unchanged, window
from deltaspan._telemetry import _values as _state
from deltaspan._version import __version__
from support.active_flows import broken, count, flows
from support.reports import reports_of


@expects(change("active_flows", count).by(1))
def create_flow(name="new"):
    flows.append(name)
    return name


class Seen(SpanProcessor):
    """Remembers what a span has when it starts, and its parent context."""

    def __init__(self):
        self.attributes = []

    def on_start(self, span, parent_context=None):
        self.attributes.append(dict(span.attributes))


class AskedSampler(Sampler):
    """Remembers what a sampler is asked with."""

    def __init__(self):
        self.asked = []

    def should_sample(self, parent_context, trace_id, name, kind=None, attributes=None, *args, **kwargs):
        self.asked.append((name, kind, dict(attributes or {})))
        return ALWAYS_ON.should_sample(parent_context, trace_id, name, kind, attributes, *args, **kwargs)

    def get_description(self):
        return "asked"


def identity(tag, name="create_flow"):
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "code.function.name": f"{__name__}.{name}",
        "delta.action.name": name,
        "delta.causal_tag.id": tag,
        "delta.causal_tag.root_id": tag,
    }


def run(action, *args):
    return reports_of(action, *args)[-1]


def test_the_span_is_named_after_the_tool(recorded):
    create_flow()

    assert recorded.span.name == "execute_tool create_flow"


def test_the_span_is_internal(recorded):
    create_flow()

    assert recorded.span.kind is SpanKind.INTERNAL


def test_the_scope_is_deltaspan_with_version_and_schema(recorded):
    create_flow()
    scope = recorded.span.instrumentation_scope

    assert (scope.name, scope.version) == ("deltaspan", __version__)
    assert scope.schema_url.startswith("https://opentelemetry.io/schemas/")


def test_a_span_processor_sees_the_whole_identity_at_start(record):
    seen = Seen()
    record(processors=[seen])

    assert seen.attributes == [identity(run(create_flow).causal_tag)]


def test_a_sampler_decides_on_the_whole_identity(record):
    sampler = AskedSampler()
    record(sampler)
    tag = run(create_flow).causal_tag

    assert sampler.asked == [("execute_tool create_flow", SpanKind.INTERNAL, identity(tag))]


def test_a_nested_span_names_parent_and_root(recorded):
    with collect_reports() as reports, window("import", observe("flows", count)):
        create_flow()
    inner, outer = reports
    attributes = recorded.spans[0].attributes

    assert [attributes[f"delta.causal_tag.{name}"] for name in ("id", "parent_id", "root_id")] == [
        inner.causal_tag,
        outer.causal_tag,
        outer.causal_tag,
    ]


def test_an_outermost_span_names_no_parent(recorded):
    create_flow()

    assert "delta.causal_tag.parent_id" not in recorded.span.attributes


def test_a_baggage_processor_stamps_our_span_with_our_own_tag(record):
    recorded = record(processors=[BaggageSpanProcessor(ALLOW_ALL_BAGGAGE_KEYS)])
    with collect_reports() as reports, window("import", observe("flows", count)):
        create_flow()

    assert [span.attributes["delta.causal_tag.id"] for span in recorded.spans] == [
        report.causal_tag for report in reports
    ]


def test_a_baggage_processor_stamps_the_spans_inside(record):
    recorded = record(processors=[BaggageSpanProcessor(ALLOW_ALL_BAGGAGE_KEYS)])

    @expects(observe("flows", count))
    def action():
        with recorded.tracer.start_as_current_span("INSERT flows"):
            return current_causal_tag()

    tag = action()
    assert recorded.spans[0].attributes == {"delta.causal_tag.id": tag, "delta.causal_tag.root_id": tag}


def test_the_action_runs_inside_the_span(recorded):
    @expects(observe("flows", count))
    def action():
        return trace.get_current_span().get_span_context().span_id

    assert action() == recorded.span.context.span_id


def test_the_span_is_a_child_of_the_callers(recorded):
    with recorded.tracer.start_as_current_span("agent") as agent:
        create_flow()

    assert recorded.spans[0].parent.span_id == agent.get_span_context().span_id


def test_a_passing_run_ends_with_the_whole_verdict(recorded):
    tag = run(create_flow).causal_tag

    assert dict(recorded.span.attributes) == {
        **identity(tag),
        "delta.action.outcome": "pass",
        "delta.checks.total": 1,
        "delta.checks.failed": (),
        "delta.pre_state.active_flows": 3,
        "delta.post_state.active_flows": 4,
        "delta.expected_delta.active_flows": 1,
        "delta.actual_delta.active_flows": 1,
    }


def test_each_metric_has_its_own_attributes(recorded):
    @expects(
        change("ratio", lambda: len(flows) / 2).by_at_least(0.5),
        unchanged("open", lambda: True),
        observe("names", lambda: list(flows)),
    )
    def action():
        flows.append("d")

    action()
    attributes = recorded.span.attributes

    assert [
        attributes[f"delta.{what}.{metric}"]
        for metric in ("ratio", "open", "names")
        for what in ("pre_state", "post_state")
    ] == [1.5, 2.0, True, True, '["a","b","c"]', '["a","b","c","d"]']


def test_expected_deltas_without_a_value_are_words(recorded):
    @expects(
        change("a", count).by_at_least(1), unchanged("b", lambda: 0), change("c", count), observe("d", count)
    )
    def action():
        flows.append("d")

    action()
    attributes = recorded.span.attributes

    assert [attributes.get(f"delta.expected_delta.{metric}") for metric in "abc"] == [
        "at least 1",
        "no change",
        "some change",
    ]


def test_failed_checks_are_listed_in_the_order_declared(recorded):
    @expects(change("z", count).by(1), unchanged("ok", count), change("a", count).by(2))
    def action():
        return None

    action()
    attributes = recorded.span.attributes

    assert (attributes["delta.checks.total"], attributes["delta.checks.failed"]) == (3, ("z", "a"))


def test_the_outcome_is_the_worst_of_the_checks(recorded):
    @expects(observe("a", count), change("b", broken).by(1), unchanged("c", count))
    def action():
        return None

    action()
    assert recorded.span.attributes["delta.action.outcome"] == "inconclusive"


def many(number):
    @expects(*[unchanged(f"metric_{i}", count) for i in range(number)])
    def action():
        return None

    return action


def test_sixteen_checks_have_their_details_on_the_span(recorded):
    many(16)()

    assert recorded.span.attributes["delta.pre_state.metric_15"] == 3


def test_beyond_sixteen_checks_no_details_are_on_the_span(recorded):
    many(17)()

    assert [name for name in recorded.span.attributes if ".metric_" in name] == []


def test_beyond_sixteen_checks_the_details_stay_in_the_events(recorded):
    many(17)()

    assert [event.attributes["delta.check.pre_state"] for event in recorded.events] == [3] * 17


def test_beyond_sixteen_checks_identity_and_outcome_stay_on_the_span(recorded):
    many(100)()
    attributes = recorded.span.attributes

    assert (attributes["delta.action.name"], attributes["delta.action.outcome"]) == ("action", "pass")
    assert recorded.span.dropped_attributes == 0


def test_a_window_has_its_own_span_name(recorded):
    with window("nightly_import", change("active_flows", count).by(1)):
        flows.append("new")

    assert recorded.span.name == "delta.window nightly_import"


def test_a_window_is_no_tool(recorded):
    with window("nightly_import", change("active_flows", count).by(1)):
        flows.append("new")

    assert [name for name in recorded.span.attributes if name.startswith(("gen_ai.", "code."))] == []


def test_a_window_is_named_as_an_action(recorded):
    with window("nightly_import", observe("active_flows", count)):
        pass

    assert recorded.span.attributes["delta.action.name"] == "nightly_import"


# End of the span ----------------------------------------------------------------------------------------


@expects(change("active_flows", count).by(1))
def lie():
    return "created"


@expects(change("active_flows", count).by(1))
def explode():
    raise ZeroDivisionError("division by zero")


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


@pytest.mark.parametrize("action", [create_flow, unverifiable], ids=["pass", "inconclusive"])
def test_a_run_without_a_failed_check_has_no_error(recorded, action):
    action()

    assert recorded.span.status.status_code is StatusCode.UNSET
    assert "error.type" not in recorded.span.attributes


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


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_the_span_ends_when_the_action_raises(recorded, error):
    @expects(observe("flows", count))
    def action():
        raise error

    with pytest.raises(error):
        action()
    assert recorded.span.attributes["error.type"].endswith(error.__name__)


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
