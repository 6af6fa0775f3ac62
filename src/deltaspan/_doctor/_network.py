"""Whether a collector is there, takes what is sent, and agrees on what time it is."""

from __future__ import annotations

import http.client
import logging
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any, Final

from opentelemetry.sdk.metrics.export import MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from deltaspan import semconv
from deltaspan._doctor._endpoints import Target, without_secrets
from deltaspan._doctor._finding import Finding

__all__ = ["SPAN_NAME", "network_findings"]

SPAN_NAME: Final = "deltaspan doctor"
"""The name of the span that is sent to see whether it is taken."""
_SECONDS: Final = 3.0
"""How long to wait for an answer."""
_SKEW_SECONDS: Final = 2.0
"""What two clocks may differ by; a Date header is exact to a second, and an answer takes its time."""
_HTTP_PORT: Final = 4318


def network_findings(targets: Sequence[Target], exporters: Mapping[str, Sequence[Any]]) -> Iterator[Finding]:
    """Look whether each target answers, and try each signal where it does."""
    answering = {}
    for address in dict.fromkeys(target.address for target in targets):
        target = next(each for each in targets if each.address == address)
        fault = _connection_fault(target)
        answering[address] = fault is None
        yield fault or Finding("well", f"{address} answers")
    reachable = [target for target in targets if answering[target.address]]
    for target in reachable:
        # One of several exporters may be a console, which has no endpoint.
        over_otlp = (each for each in exporters[target.signal.upper()] if "otlp" in type(each).__module__)
        yield _sent(target, next(over_otlp))
    for address in dict.fromkeys(target.address for target in reachable):
        yield _clock(next(target for target in reachable if target.address == address))


def _connection_fault(target: Target) -> Finding | None:
    try:
        socket.create_connection((target.host, target.port), _SECONDS).close()
    except (socket.gaierror, UnicodeError):  # the latter of what could be no name anywhere
        said = f"the name {target.host} is not known here"
        cure = f"correct {target.variable}, or the DNS of this machine"
    except ConnectionRefusedError:
        said = f"nothing listens on {target.address}"
        cure = f"start the collector, or correct {target.variable}"
    except TimeoutError:
        said = f"{target.address} did not answer within {_SECONDS:g} s"
        cure = f"look for a firewall in between, or correct {target.variable}"
    except OSError as error:
        said = f"{target.address} cannot be reached: {error.strerror or error}"
        cure = f"correct {target.variable}"
    else:
        return None
    return Finding("wrong", said, cure)


def _sent(target: Target, exporter: Any) -> Finding:
    samples: dict[str, Callable[[], Any]] = {
        "traces": _span,
        "metrics": lambda: MetricsData(resource_metrics=[]),
        "logs": list,
    }
    what = {"traces": "a test span", "metrics": "an export of metrics", "logs": "an export of logs"}
    with _complaints() as complaints:
        result = exporter.export(samples[target.signal]())
        exporter.shutdown()
    over = f"{what[target.signal]} over {target.protocol} to {target.address}"
    if getattr(result, "name", "") == "SUCCESS":
        return Finding("well", f"{over} was accepted")
    why = without_secrets(complaints[-1]) if complaints else "the exporter does not say why"
    return Finding("wrong", f"{over} was refused: {why}", _cure(target, why))


def _cure(target: Target, why: str) -> str:
    signal = target.signal.upper()
    if "401" in why or "403" in why or "UNAUTHENTICATED" in why or "PERMISSION_DENIED" in why:
        return "set OTEL_EXPORTER_OTLP_HEADERS to what the collector asks for"
    if target.signal != "traces" and ("404" in why or "UNIMPLEMENTED" in why):
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


def _clock(target: Target) -> Finding:
    port = target.port if target.protocol != "grpc" else _HTTP_PORT
    there = _date_of(target, port)
    if there is None:
        said = f"the clock at {target.address} could not be compared: it sends no Date over HTTP"
        return Finding("note", said, "see that both machines keep their time by NTP")
    skew = time.time() - there
    if abs(skew) <= _SKEW_SECONDS:
        return Finding("well", f"the clocks of this machine and {target.address} agree")
    which = "ahead of" if skew > 0 else "behind"
    said = f"the clock of this machine is {abs(skew):.0f} s {which} that of {target.address}"
    return Finding("wrong", said, "keep both by NTP: spans, samples and alerts are placed by these clocks")


def _date_of(target: Target, port: int) -> float | None:
    kind = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
    options: dict[str, Any] = {}
    if target.scheme == "https":
        # Only the time is asked for; whether the certificate is trusted is for the exporter to say.
        options["context"] = unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    connection = kind(target.host, port, timeout=_SECONDS, **options)
    try:
        connection.request("GET", "/")
        date = connection.getresponse().getheader("Date")
        return parsedate_to_datetime(date).timestamp() if date else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


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
