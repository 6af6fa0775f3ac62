"""Whether what is sent is taken, by the exporter that an agent would use."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry.sdk.metrics.export import MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from deltaspan import semconv
from deltaspan.cli.doctor._answer import answer_finding, answers, receiver_cure
from deltaspan.cli.doctor._endpoints import Target, without_secrets
from deltaspan.cli.doctor._finding import Finding

__all__ = ["SPAN_NAME", "sent"]

SPAN_NAME: Final = "deltaspan doctor"
"""The name of the span that is sent to see whether it is taken."""
_UNTRUSTED: Final = "CERTIFICATE_VERIFY_FAILED"
_SILENT: Final = "the exporter does not say why"


def sent(target: Target, exporter: Any) -> Finding:
    """Send a sample of a signal, and say whether it was taken."""
    samples: dict[str, Callable[[], Any]] = {
        "traces": _span,
        "metrics": lambda: MetricsData(resource_metrics=[]),
        "logs": list,
    }
    what = {"traces": "a test span", "metrics": "an export of metrics", "logs": "an export of logs"}
    with _complaints() as complaints, answers() as answered:
        result = exporter.export(samples[target.signal]())
        exporter.shutdown()
    over = f"{what[target.signal]} over {target.protocol} to {target.address}"
    if getattr(result, "name", "") == "SUCCESS":
        # Over gRPC there is none: what is no OTLP receiver cannot answer a call of its service.
        amiss = answer_finding(target, over, answered[-1]) if answered else None
        return amiss or Finding("well", f"{over} was accepted")
    # The last one sums up; a certificate that is not trusted is named when it is tried, and not there.
    cause = next((each for each in complaints if _UNTRUSTED in each), (complaints or [_SILENT])[-1])
    why = without_secrets(cause)
    return Finding("wrong", f"{over} was refused: {why}", _cure(target, why))


def _cure(target: Target, why: str) -> str:
    signal = target.signal.upper()
    if _UNTRUSTED in why:
        return (
            "name the authority's file in OTEL_EXPORTER_OTLP_CERTIFICATE; REQUESTS_CA_BUNDLE goes before it"
        )
    # Whole numbers: a port may hold the same digits.
    if re.search(r"\b40[13]\b", why) or "UNAUTHENTICATED" in why or "PERMISSION_DENIED" in why:
        return "set OTEL_EXPORTER_OTLP_HEADERS to what the collector asks for"
    if re.search(r"\b404\b", why) or "UNIMPLEMENTED" in why:
        if target.signal == "traces":
            return receiver_cure(target)
        return (
            f"send {target.signal} to a collector that takes them (OTEL_EXPORTER_OTLP_{signal}_ENDPOINT), or "
            f"set OTEL_{signal}_EXPORTER=none; a Jaeger alone takes traces only"
        )
    other = "http/protobuf" if target.protocol == "grpc" else "grpc"
    return f"see that the port speaks {target.protocol}; if not, set OTEL_EXPORTER_OTLP_PROTOCOL={other}"


def _span() -> Any:
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create(), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    provider.get_tracer(semconv.SCOPE_NAME).start_span(SPAN_NAME).end()
    return memory.get_finished_spans()


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """Collect what exporters log, instead of having it logged."""
    said: list[str] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    log, collecting = logging.getLogger("opentelemetry"), Collecting(logging.WARNING)
    propagates, log.propagate = log.propagate, False
    log.addHandler(collecting)
    # OpenTelemetry filters out a complaint that repeats the one before in all but its arguments: of two
    # signals that are refused alike, the second would not say why.
    filtered = [(each, each.filters) for each in _loggers_below(log) if each.filters]
    for each, _ in filtered:
        each.filters = []
    try:
        yield said
    finally:
        for each, filters in filtered:
            each.filters = filters
        log.removeHandler(collecting)
        log.propagate = propagates


def _loggers_below(log: logging.Logger) -> list[logging.Logger]:
    known = list(log.manager.loggerDict.items())
    return [
        each for name, each in known if name.startswith(f"{log.name}.") and isinstance(each, logging.Logger)
    ]
