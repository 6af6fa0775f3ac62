"""Send samples with the exporter that an agent would use."""

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
from deltaspan.cli.doctor._answer import answer_diagnosis, answers, receiver_remedy
from deltaspan.cli.doctor._diagnosis import Diagnosis
from deltaspan.cli.doctor._endpoints import Target, without_secrets

SPAN_NAME: Final = "deltaspan doctor"
"""The name of the test span."""
_UNTRUSTED: Final = "CERTIFICATE_VERIFY_FAILED"
_SILENT: Final = "the exporter gives no reason"


def send_sample(target: Target, exporter: Any) -> Diagnosis:
    """Send a sample of a signal, and return whether it was accepted."""
    samples: dict[str, Callable[[], Any]] = {
        "traces": _span,
        "metrics": lambda: MetricsData(resource_metrics=[]),
        "logs": list,
    }
    names = {"traces": "a test span", "metrics": "an export of metrics", "logs": "an export of logs"}
    with _complaints() as complaints, answers() as received:
        result = exporter.export(samples[target.signal]())
        exporter.shutdown()
    export = f"{names[target.signal]} over {target.protocol} to {target.address}"
    if getattr(result, "name", "") == "SUCCESS":
        # gRPC has no such answers: only an OTLP receiver can answer a call of its service.
        fault = answer_diagnosis(target, export, received[-1]) if received else None
        return fault or Diagnosis("well", f"{export} was accepted")
    # The last complaint is the summary. It does not name an untrusted certificate, but an earlier one does.
    cause = next((each for each in complaints if _UNTRUSTED in each), (complaints or [_SILENT])[-1])
    reason = without_secrets(cause)
    return Diagnosis("wrong", f"{export} was refused: {reason}", _remedy(target, reason))


def _remedy(target: Target, reason: str) -> str:
    signal = target.signal.upper()
    if _UNTRUSTED in reason:
        return "set OTEL_EXPORTER_OTLP_CERTIFICATE to the authority's file; REQUESTS_CA_BUNDLE overrides it"
    # Only whole numbers, because a port may contain the same digits.
    if re.search(r"\b40[13]\b", reason) or "UNAUTHENTICATED" in reason or "PERMISSION_DENIED" in reason:
        return "set OTEL_EXPORTER_OTLP_HEADERS to the credentials that the collector requires"
    if re.search(r"\b404\b", reason) or "UNIMPLEMENTED" in reason:
        if target.signal == "traces":
            return receiver_remedy(target)
        return (
            f"send {target.signal} to a collector that accepts them (OTEL_EXPORTER_OTLP_{signal}_ENDPOINT), "
            f"or set OTEL_{signal}_EXPORTER=none; Jaeger alone accepts traces only"
        )
    other = "http/protobuf" if target.protocol == "grpc" else "grpc"
    return f"check that the port speaks {target.protocol}; if not, set OTEL_EXPORTER_OTLP_PROTOCOL={other}"


def _span() -> Any:
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create(), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    provider.get_tracer(semconv.SCOPE_NAME).start_span(SPAN_NAME).end()
    return memory.get_finished_spans()


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """Collect the log messages of exporters, without logging them."""
    messages: list[str] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    log, collecting = logging.getLogger("opentelemetry"), Collecting(logging.WARNING)
    propagates, log.propagate = log.propagate, False
    log.addHandler(collecting)
    # OpenTelemetry filters out a message that repeats the one before except for its arguments. If two signals
    # are refused for the same reason, the second would have no message.
    filtered = [(each, each.filters) for each in _loggers_below(log) if each.filters]
    for each, _ in filtered:
        each.filters = []
    try:
        yield messages
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
