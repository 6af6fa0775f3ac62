"""Reads of probes and locks, which are not effects of the action."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager

import pytest
from opentelemetry import baggage, context, propagate
from opentelemetry.processor.baggage import ALLOW_ALL_BAGGAGE_KEYS, BaggageSpanProcessor
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import SpanKind, get_current_span

from deltaspan import change, current_causal_tag, expects, observe, override, probe, window
from deltaspan._engine import _deferred
from deltaspan.tree import Span, causal_tree

TAG = "deltaspan.causal_tag.id"


class Client:
    """A client that is instrumented as OpenTelemetry's instrumentation libraries do it."""

    def __init__(self, recorded):
        self._tracer = recorded.tracer
        self.sent = []

    def get(self, value=0):
        """Send a request, with a span and headers unless instrumentation is suppressed."""
        if context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY):
            self.sent.append({})
            return value
        with self._tracer.start_as_current_span("GET", kind=SpanKind.CLIENT):
            headers = {}
            propagate.inject(headers)
            self.sent.append(headers)
        return value

    @contextmanager
    def lock(self):
        self.get()
        yield
        self.get()


@pytest.fixture
def recorded(record):
    return record(processors=[BaggageSpanProcessor(ALLOW_ALL_BAGGAGE_KEYS)])


@pytest.fixture
def client(recorded):
    return Client(recorded)


def call(action):
    result = action()
    if asyncio.iscoroutine(result):
        asyncio.run(result)
    assert _deferred.drain(10)


def plain(client):
    return expects(observe("n", client.get))(lambda: None)


def polled(client):
    return expects(change("n", client.get).by(1).eventually(0.03, every=0.01))(lambda: None)


def deferred(client):
    return expects(change("n", client.get).by(1).eventually(0.03, every=0.01), deferred=True)(lambda: None)


def in_a_thread(client):
    return expects(observe("n", probe(blocking=True)(lambda: client.get())).timeout(5))(lambda: None)


def asynchronous(client):
    async def read():
        await asyncio.sleep(0)
        return client.get()

    async def act():
        await asyncio.sleep(0)

    return expects(observe("n", read), change("m", read).by(1).eventually(0.03, every=0.01))(act)


def deferred_async(client):
    async def read():
        return client.get()

    async def act():
        return None

    async def wait():
        await expects(change("n", read).by(1).eventually(0.03, every=0.01), deferred=True)(act)()
        await asyncio.sleep(0.2)

    return wait


def thread_of_an_event_loop(client):
    async def act():
        return None

    return expects(observe("n", probe(blocking=True)(lambda: client.get())))(act)


def locked(client):
    return expects(observe("n", lambda: 0).exclusively(client.lock()))(lambda: None)


def locked_async(client):
    async def act():
        return None

    return expects(observe("n", lambda: 0).exclusively(client.lock()))(act)


def by_hand(client):
    def act():
        opened = window("w", observe("n", client.get))
        opened.capture_baseline()
        opened.verify()

    return act


def generated(client):
    def numbers():
        yield 1

    return lambda: list(expects(observe("n", client.get))(numbers)())


EVERY_WAY = [
    plain,
    polled,
    deferred,
    in_a_thread,
    asynchronous,
    deferred_async,
    thread_of_an_event_loop,
    locked,
    locked_async,
    by_hand,
    generated,
]


@pytest.mark.parametrize("way", EVERY_WAY)
def test_a_read_of_the_verifier_has_no_span_and_no_headers(recorded, client, way):
    call(way(client))

    assert [span.name for span in recorded.spans if span.name == "GET"] == []
    assert client.sent
    assert not any(client.sent)


@pytest.mark.parametrize("way", EVERY_WAY)
def test_a_run_leaves_the_context_of_its_caller_as_it_was(recorded, client, way):
    before = context.get_current()
    call(way(client))

    assert context.get_current() == before


def test_a_request_of_the_action_has_a_span_with_its_tag(recorded, client):
    expects(observe("n", client.get))(client.get)()
    tags = [span.attributes.get(TAG) for span in recorded.spans]

    assert len(tags) == 2
    assert tags[0] == tags[1] is not None


def test_a_probe_still_knows_the_tag_of_its_run(recorded):
    tags = []
    expects(observe("n", lambda: tags.append(current_causal_tag())))(
        lambda: tags.append(current_causal_tag())
    )()

    assert len(set(tags)) == 1


def test_a_value_that_the_action_attaches_reaches_the_caller(recorded, client):
    key = context.create_key("kept")

    def act():
        context.attach(context.set_value(key, "yes"))

    token = context.attach(context.get_current())
    expects(observe("n", client.get))(act)()

    assert context.get_value(key) == "yes"
    assert not context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY)
    context.detach(token)


def test_a_value_that_a_probe_attaches_stays_in_the_read(recorded):
    key = context.create_key("lost")
    expects(observe("n", lambda: context.attach(context.set_value(key, "yes")) and 0))(lambda: None)()

    assert context.get_value(key) is None


def tree_of(recorded):
    return causal_tree(
        Span(
            f"{span.context.trace_id:032x}",
            f"{span.context.span_id:016x}",
            "" if span.parent is None else f"{span.parent.span_id:016x}",
            span.name,
            span.kind.name.lower(),
            "shop",
            span.start_time,
            span.end_time,
            dict(span.attributes),
        )
        for span in recorded.spans
    )


@pytest.mark.parametrize("spans", ["off", "on"])
@pytest.mark.parametrize("way", EVERY_WAY)
def test_the_tree_shows_no_read_as_an_effect(recorded, client, environ, way, spans):
    environ(DELTASPAN_PROBE_SPANS=spans)
    call(expects(observe("sent", lambda: 0), name="stamped")(client.get))  # an effect, so that tags are known
    call(way(client))
    tree = tree_of(recorded)

    assert [len(run.effects) for run in tree] == [1] + [0] * (len(tree) - 1)
    assert tree.findings == ()


def test_each_read_is_a_span_below_the_action_with_probe_spans(recorded, client, environ):
    environ(DELTASPAN_PROBE_SPANS="on")
    expects(observe("n", client.get), observe("m", lambda: 0))(lambda: None)()
    names = {span.context.span_id: span.name for span in recorded.spans}
    read, *_ = [span for span in recorded.spans if span.name == "read n"]

    assert sorted((span.name, names.get(span.parent and span.parent.span_id)) for span in recorded.spans) == [
        ("GET", "read n"),
        ("GET", "read n"),
        ("execute_tool <lambda>", None),
        ("read m", "execute_tool <lambda>"),
        ("read m", "execute_tool <lambda>"),
        ("read n", "execute_tool <lambda>"),
        ("read n", "execute_tool <lambda>"),
    ]
    assert dict(read.attributes) == {"deltaspan.check.metric": "n"}
    assert not any("baggage" in headers for headers in client.sent)


def test_an_async_probe_has_its_span_current_while_it_is_awaited(recorded, environ):
    environ(DELTASPAN_PROBE_SPANS="on")
    names = []

    async def read():
        await asyncio.sleep(0)
        names.append(get_current_span().name)
        return 0

    async def act():
        return None

    asyncio.run(expects(observe("n", read), observe("m", read))(act)())

    assert sorted(names) == ["read m", "read m", "read n", "read n"]


def test_other_baggage_reaches_the_probe(recorded):
    seen = []
    token = context.attach(baggage.set_baggage("tenant", "acme"))
    expects(observe("n", lambda: seen.append(dict(baggage.get_all()))))(lambda: None)()
    context.detach(token)

    assert seen == [{"tenant": "acme"}] * 2


def test_the_thread_of_a_lock_has_no_span(recorded, client):
    names = []

    @contextmanager
    def lock():
        names.append(threading.current_thread().name)
        client.get()
        yield
        client.get()

    async def act():
        return None

    asyncio.run(expects(observe("n", lambda: 0).exclusively(lock()))(act)())

    assert names == ["deltaspan-lock"]
    assert not any(client.sent)


class RaisingProcessor(SpanProcessor):
    """A span processor with a fault in one of its methods."""

    def __init__(self, method, error):
        self._method = method
        self._error = error

    def on_start(self, span, parent_context=None):
        if self._method == "on_start":
            raise self._error

    def on_end(self, span):
        if self._method == "on_end":
            raise self._error


@pytest.mark.parametrize("error", [RuntimeError("x"), MemoryError(), SystemExit(2)], ids=repr)
@pytest.mark.parametrize("method", ["on_start", "on_end"])
def test_a_span_processor_that_raises_costs_no_verdict(record, method, error):
    record(processors=[RaisingProcessor(method, error)])
    rows = []
    reports = []

    async def count():
        return len(rows)

    @expects(change("rows", lambda: len(rows)).by(1), on_report=reports.append)
    def add():
        rows.append(1)

    @expects(change("rows", count).by(1), on_report=reports.append)
    async def add_later():
        rows.append(1)

    with override(probe_spans=True):
        add()
        asyncio.run(add_later())
    assert [report.outcome for report in reports] == ["pass", "pass"]
