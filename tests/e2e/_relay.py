"""Three processes in a row, two of them over HTTP: `_relay.py serve PORT [NEXT]` and `_relay.py call NEXT`.

Each acts, stamps its spans with the causal tag from baggage, and asks the next one to act. The caller acts
twice: the second time in a trace of its own, as whatever is taken from a queue is.
"""

from __future__ import annotations

import sys

import httpx
import uvicorn
from opentelemetry import trace
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.processor.baggage import ALLOW_ALL_BAGGAGE_KEYS, BaggageSpanProcessor
from opentelemetry.trace import INVALID_SPAN, SpanKind, use_span
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from deltaspan import change, configure_telemetry, current_causal_tag, expects

telemetry = configure_telemetry()
trace.get_tracer_provider().add_span_processor(BaggageSpanProcessor(ALLOW_ALL_BAGGAGE_KEYS))
HTTPXClientInstrumentor().instrument()
tracer = trace.get_tracer("relay")
rows: list[str] = []


def write(row: str) -> None:
    """Write as a database client does: two spans, one in the other."""
    with (
        tracer.start_as_current_span("transaction"),
        tracer.start_as_current_span("INSERT rows", kind=SpanKind.CLIENT),
    ):
        rows.append(row)


def act_and_pass_on(next_one: str | None) -> str:
    """Write a row, pass on, and return the tags in use, from here to the last process."""
    tag = current_causal_tag()
    write(tag)
    return f"{tag} {httpx.post(next_one, timeout=60).text}" if next_one else tag


@expects(change("rows", lambda: len(rows)).by(1))
def serve(request: Request) -> PlainTextResponse:
    """Act for a caller."""
    return PlainTextResponse(act_and_pass_on(request.app.state.next_one))


@expects(change("rows", lambda: len(rows)).by(1))
def begin(next_one: str) -> str:
    """Act here first."""
    return act_and_pass_on(next_one)


@expects(change("rows", lambda: len(rows)).by(3))
def run(next_one: str) -> str:
    """Act twice, and claim three times."""
    at_once = begin(next_one)
    with use_span(INVALID_SPAN):
        later = begin(next_one)
    return "\n".join((f"{current_causal_tag()} {at_once}", f"{current_causal_tag()} {later}"))


if __name__ == "__main__":
    role, *where = sys.argv[1:]
    if role == "call":
        print(run(*where))  # noqa: T201  # for the test to read
        telemetry.shutdown()
    else:
        port, *rest = where
        app = Starlette(
            routes=[Route("/", serve, methods=["POST"]), Route("/", lambda _: PlainTextResponse(""))]
        )
        app.state.next_one = rest[0] if rest else None
        uvicorn.run(OpenTelemetryMiddleware(app), host="127.0.0.1", port=int(port))
