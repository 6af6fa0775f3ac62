"""What arrives over OTLP, held against the registry of names: names, types, levels and enumerations."""

import asyncio
import contextlib
import functools
import math
import threading
from decimal import Decimal

import pytest
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import deltaspan
from deltaspan import Window, change, expects, observe, override, tagged, unchanged, window
from deltaspan._engine._deferred import drain
from integration._otlp import http_receiver
from support.registry import Facts, Registry

REGISTRY = Registry.load()
CASES = []


class Sent:
    """An SDK that sends over OTLP, and what its receiver got."""

    def __init__(self, url, received, sampler=None, *, logs=True):
        resource = Resource.get_empty()
        self._received = received
        self.tracers = TracerProvider(sampler, resource, shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces")))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{url}/v1/metrics"), math.inf)
        self.meters = MeterProvider([reader], resource, shutdown_on_exit=False)
        self.loggers = LoggerProvider(resource, shutdown_on_exit=False)
        if logs:
            self.loggers.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(f"{url}/v1/logs")))
        deltaspan.configure(
            tracer_provider=self.tracers, meter_provider=self.meters, logger_provider=self.loggers
        )

    def requests(self):
        """Send the metrics, and return every request that arrived."""
        assert drain(10)
        self.meters.force_flush()
        return list(self._received.requests)

    def end(self):
        for provider in (self.tracers, self.meters, self.loggers):
            provider.shutdown()


@pytest.fixture
def send():
    with contextlib.ExitStack() as ends:
        url, received = ends.enter_context(http_receiver())

        def start(**options):
            sent = Sent(url, received, **options)
            ends.callback(sent.end)
            return sent

        yield start


def case(**options):
    """Register a case. It gets the tracer of a framework, and returns the facts."""

    def register(function):
        CASES.append(pytest.param(function, options, id=function.__name__))
        return function

    return register


def functions(*actions, **others):
    return Facts(functions=frozenset(actions), **{key: frozenset(names) for key, names in others.items()})


def grow(rows):
    rows.append("new")


def lie(rows):
    pass


def verified(rows, action=grow, *, name="act", check=None, **options):
    """Return an action that is verified on the number of rows."""
    checks = (check or change("rows", lambda: len(rows)).by(1),)
    return expects(*checks, name=name, **options)(functools.partial(action, rows))


# Verdicts ---------------------------------------------------------------------------------------------------


@case()
def passes(tracer):
    """Pass."""
    verified([])()
    return functions("act")


@case()
def fails(tracer):
    verified([], lie)()
    return functions("act")


@case()
def is_inconclusive(tracer):
    verified([], check=change("rows", lambda: 1 / 0).by(1))()
    return functions("act")


@case()
def fails_to_read_afterwards(tracer):
    reads = iter([1])
    verified([], check=change("rows", lambda: next(reads)).by(1))()
    return functions("act")


@case()
def cannot_be_compared(tracer):
    reads = iter([1, "two"])
    verified([], check=change("rows", lambda: next(reads)).by(1))()
    return functions("act")


@case()
def computes_an_expectation_that_raises(tracer):
    verified([], check=change("rows", lambda: 1).by(lambda result: result["n"]))()
    return functions("act")


@case()
def observes(tracer):
    verified([], check=observe("rows", lambda: 1))()
    return functions("act")


@case()
def is_skipped(tracer):
    verified([], check=change("rows", lambda: 1).by(1).sampled(0.0))()
    return functions("act")


@case()
def claims_success(tracer):
    rows = []
    verified(rows, lie, claim=lambda result: True)()
    verified(rows, name="honest", claim=lambda result: False)()
    return functions("act", "honest", claims=("act", "honest"))


# Runs -------------------------------------------------------------------------------------------------------


@case()
def is_nested(tracer):
    rows = []
    inner = verified(rows, name="inner")
    tool = verified(rows, name="tool", tool=True)

    @expects(change("rows", lambda: len(rows)).by(5))
    def outer():
        inner()
        inner()
        tool()
        tool()
        inner()

    outer()
    return functions("outer", "inner", "tool")


@case()
def is_a_coroutine(tracer):
    rows = []

    @expects(change("rows", lambda: len(rows)).by(1))
    async def act():
        """Do it."""
        await asyncio.sleep(0)
        rows.append(1)

    asyncio.run(act())
    return functions("act")


@case()
def is_a_generator(tracer):
    rows = []

    @expects(change("rows", lambda: len(rows)).by(lambda yielded: yielded))
    def act():
        for n in range(3):
            rows.append(n)
            yield n

    list(act())
    next(act())  # and one that is abandoned
    return functions("act")


@case()
def is_an_async_generator(tracer):
    rows = []

    @expects(change("rows", lambda: len(rows)).by(2))
    async def act():
        for n in range(2):
            rows.append(n)
            yield n

    async def consume():
        return [n async for n in act()]

    asyncio.run(consume())
    return functions("act")


@case()
def is_a_window(tracer):
    rows = []
    with window("load", change("rows", lambda: len(rows)).by(1)):
        rows.append(1)
    with window("load", unchanged("rows", lambda: len(rows))):
        rows.append(1)
    return Facts()


@case()
def is_no_tool(tracer):
    rows = []
    verified(rows, tool=False, claim=lambda result: True)()
    verified(rows, name="late", tool=False, deferred=True)()

    def leave(rows):
        raise SystemExit(0)

    with pytest.raises(SystemExit):
        verified(rows, leave, name="last", tool=False)()
    return functions("act", "late", "last", claims=("act",), ended=("last",))


@case()
def is_deferred(tracer):
    rows = []
    act = verified(rows, deferred=True)
    act()
    assert drain(10)
    verified(rows, lie, name="late", deferred=True)()
    return functions("act", "late")


@case()
def is_handed_over(tracer):
    rows = []
    check = change("rows", lambda: len(rows)).by(1)
    first = window("load", check)
    first.capture_baseline()
    text = first.to_json()
    rows.append(1)
    Window.from_json(text, check).verify()
    return functions(captured_elsewhere=("rows",))


@case()
def raises(tracer):
    def explode(rows):
        raise ValueError("no quota")

    act = verified([], explode)
    with pytest.raises(ValueError, match="no quota"):
        act()
    with pytest.raises(ValueError, match="no quota"), window("load", observe("rows", lambda: 1)):
        explode([])
    return functions("act", raised=("act", "load"))


@case(logs=False)
def raises_without_a_logger(tracer):
    return raises(tracer)


@case(settings={"capture_state": "none"})
def raises_with_hidden_content(tracer):
    return raises(tracer)


@case()
def raises_while_deferred(tracer):
    def explode(rows):
        raise ValueError("no quota")

    with pytest.raises(ValueError, match="no quota"):
        verified([], explode, deferred=True)()
    return functions("act", raised=("act",))


@case()
def is_cancelled(tracer):
    @expects(observe("rows", lambda: 1))
    async def act():
        await asyncio.sleep(60)

    async def cancel():
        with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
            await asyncio.wait_for(act(), 0.01)

    asyncio.run(cancel())
    return functions("act", ended=("act",))


@case()
def exits(tracer):
    def leave(rows):
        raise SystemExit(0)

    with pytest.raises(SystemExit):
        verified([], leave)()
    return functions("act", ended=("act",))


@case(sampler=ALWAYS_OFF)
def is_not_sampled(tracer):
    fails(tracer)
    is_inconclusive(tracer)
    return functions("act")


# Events -----------------------------------------------------------------------------------------------------


@case(settings={"event_signal": "log"})
def leaves_as_log_events(tracer):
    fails(tracer)
    return passes(tracer)


@case(settings={"event_signal": "both", "events": ("check", "evaluation")})
def leaves_as_evaluations(tracer):
    fails(tracer)
    observes(tracer)
    is_inconclusive(tracer)
    return passes(tracer)


@case(settings={"action_duration": "all"})
def has_the_duration_of_each_action(tracer):
    fails(tracer)
    return passes(tracer)


# Checks -----------------------------------------------------------------------------------------------------


@case()
def has_twenty_checks(tracer):
    rows = []
    checks = [change(f"rows-{n}", lambda: len(rows)).by(n % 2) for n in range(20)]
    expects(*checks, name="act")(functools.partial(grow, rows))()
    return functions("act")


@case(settings={"event_signal": "both"})
def polls(tracer):
    rows = []
    check = change("rows", lambda: len(rows)).by(2).eventually(0.05, every=0.01)
    verified(rows, check=check)()
    return functions("act", polling=("rows",))


@case(settings={"event_signal": "both"})
def holds_a_lock(tracer):
    rows = []
    verified(rows, check=change("rows", lambda: len(rows)).by(1).exclusively(threading.Lock()))()
    return functions("act", locked=("rows",))


@case(settings={"event_signal": "both"})
def reads_tagged_rows(tracer):
    rows = []
    probe = tagged(lambda: list(rows), key="id", tag="tag")

    @expects(change("rows", probe).adding(count=1))
    def act():
        rows.append({"id": 1, "tag": deltaspan.current_causal_tag()})
        rows.append({"id": 2, "tag": None})
        rows.append({"id": 3, "tag": "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"})

    act()
    return functions("act", tagged=("rows",))


def read_in_turn(*states):
    return iter(states).__next__


@case(settings={"event_signal": "both"})
def has_long_states(tracer):
    verified([], check=observe("rows", read_in_turn("a" * 10_000, {f"k{n}": n for n in range(1_000)})))()
    return functions("act")


@case(settings={"event_signal": "both"})
def has_states_beyond_ascii(tracer):
    before, after = {"größe": "ä", "名前": "\ud800"}, {"größe": "ö\x00", "名前": b"\xff"}
    verified([], check=change("rows", read_in_turn(before, after)).to(after))()
    return functions("act")


@case(settings={"event_signal": "both"})
def has_numbers_that_are_not_finite(tracer):
    states = (math.nan, math.inf, 2**80, Decimal("NaN"))
    verified([], check=observe("rows", read_in_turn(math.nan, -math.inf)))()
    verified([], check=observe("rows", read_in_turn([], states)))()
    verified([], check=change("rows", read_in_turn(2**80, 2**81)).by(2**80))()
    return functions("act")


@case(settings={"event_signal": "both"})
def is_redacted(tracer):
    rows = []
    verified(rows, check=change("rows", lambda: len(rows)).by(1).redacted())()
    return functions("act")


@case(settings={"capture_state": "summary", "event_signal": "both"})
def is_summarized(tracer):
    verified([], check=observe("rows", read_in_turn([1], [1, 2])))()
    return fails(tracer)


@case(settings={"capture_state": "none", "event_signal": "both"})
def is_hidden(tracer):
    is_inconclusive(tracer)
    return fails(tracer)


@case(settings={"probe_spans": True})
def reads_in_spans(tracer):
    verified([])()
    with window("load", observe("rows", lambda: 1)):
        pass
    return functions("act")


@case()
def shows_its_call(tracer):
    rows = []

    @expects(change("rows", lambda: len(rows)).by(1), capture_arguments=True)
    def act(password, kind):
        """Do it."""
        rows.append(kind)
        return {"kind": kind}

    call = {"gen_ai.agent.name": "a", "gen_ai.conversation.id": "c", "gen_ai.tool.call.id": "i"}
    with tracer.start_as_current_span("invoke_agent a", attributes=call):
        act("secret", "new")
    return functions("act", opted_in=("gen_ai.tool.call.arguments", "gen_ai.tool.call.result"))


# Spans of frameworks ----------------------------------------------------------------------------------------

DIALECTS = {
    "execute_tool act": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "act"},
    "act": {"openinference.span.kind": "TOOL", "tool.name": "act"},
    "act.tool": {"traceloop.span.kind": "tool", "traceloop.entity.name": "act"},
}


def on_foreign_spans(tracer, action):
    for name, attributes in DIALECTS.items():
        with tracer.start_as_current_span(name, attributes=attributes), contextlib.suppress(ValueError):
            action()
    return Facts(functions=frozenset({"act"}), foreign=DIALECTS)


@case()
def is_on_spans_of_frameworks(tracer):
    return on_foreign_spans(tracer, verified([]))


@case(settings={"event_signal": "both", "events": ("check", "evaluation")})
def fails_on_spans_of_frameworks(tracer):
    return on_foreign_spans(tracer, verified([], lie, claim=lambda result: True, name="act")) and Facts(
        functions=frozenset({"act"}), claims=frozenset({"act"}), foreign=DIALECTS
    )


@case()
def raises_on_spans_of_frameworks(tracer):
    def explode(rows):
        raise ValueError("no quota")

    return on_foreign_spans(tracer, verified([], explode))


@case()
def is_deferred_on_spans_of_frameworks(tracer):
    rows = []
    check = change("rows", lambda: len(rows)).by_at_least(1)
    facts = on_foreign_spans(tracer, verified(rows, check=check, deferred=True))
    assert drain(10)
    return facts


# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("run", "options"), CASES)
def test_what_arrives_keeps_to_the_registry(send, run, options):
    options = dict(options)
    settings = options.pop("settings", {})
    sent = send(**options)
    tracer = sent.tracers.get_tracer("a framework")
    with override(**settings):
        facts = run(tracer)
        requests = sent.requests()

    assert requests
    assert REGISTRY.violations(requests, facts) == []


# Attributes that both spans of runs share in the model, but that one of them never has.
NEVER = {
    ("execute_tool", "deltaspan.window.handed_over"),
    ("verify", "gen_ai.operation.name"),
    ("verify", "gen_ai.tool.name"),
    ("verify", "gen_ai.tool.type"),
    ("verify", "gen_ai.tool.description"),
    ("verify", "gen_ai.tool.call.id"),
    ("verify", "gen_ai.tool.call.arguments"),
    ("verify", "gen_ai.tool.call.result"),
    ("verify", "gen_ai.agent.name"),
    ("verify", "gen_ai.conversation.id"),
}


def test_each_name_of_the_registry_arrives_in_a_case(send):
    sent = send()
    for each in CASES:
        run, options = each.values
        with override(**options.get("settings", {})):
            run(sent.tracers.get_tracer("a framework"))
    arrived = set(REGISTRY.names_in(sent.requests()))

    assert REGISTRY.names() - arrived == NEVER
