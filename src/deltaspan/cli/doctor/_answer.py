"""Check that the answer to an HTTP export is an OTLP receiver's full success."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import requests
from google.protobuf import json_format  # type: ignore[import-untyped]  # it ships no types
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # nor here
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from deltaspan.cli.doctor._diagnosis import Diagnosis
from deltaspan.cli.doctor._endpoints import Target, without_secrets

_PROTOBUF: Final = "application/x-protobuf"
_JSON: Final = "application/json"
_RESPONSES: Final[dict[str, Any]] = {
    "traces": ExportTraceServiceResponse,
    "metrics": ExportMetricsServiceResponse,
    "logs": ExportLogsServiceResponse,
}
_REJECTED: Final = {
    "traces": "rejected_spans",
    "metrics": "rejected_data_points",
    "logs": "rejected_log_records",
}
_PORTS: Final = {"grpc": 4317, "http/protobuf": 4318}
_LONGEST: Final = 200
"""The most characters of a server's text that are shown."""


@contextmanager
def answers() -> Iterator[list[requests.Response]]:
    """Collect the answers to HTTP exporters, which check and keep only the status."""
    received: list[requests.Response] = []
    send = requests.Session.send

    def sending(self: requests.Session, *args: Any, **kwargs: Any) -> requests.Response:
        answer = send(self, *args, **kwargs)
        received.append(answer)
        return answer

    # The class is patched and not a session, because exporters keep their session in different attributes in
    # different releases, and the session of a credential provider must not be replaced.
    requests.Session.send = sending  # type: ignore[method-assign]
    try:
        yield received
    finally:
        requests.Session.send = send  # type: ignore[method-assign]


def answer_diagnosis(target: Target, export: str, answer: requests.Response) -> Diagnosis | None:
    """Return the fault of an answer that the exporter accepted, or None.

    Args:
        target: the target of the export.
        export: a description of the export, its protocol and its address.
        answer: the answer.
    """
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    response = _response(target.signal, kind, answer) if answer.ok and not answer.is_redirect else None
    if response is None:
        details = f"{answer.status_code}, {_short(kind) or 'no content type'}"
        problem = f"{export} was lost: the server is not an OTLP receiver ({details})"
        return Diagnosis("wrong", problem, receiver_remedy(target))
    partial = response.partial_success
    rejected, reason = getattr(partial, _REJECTED[target.signal]), _short(partial.error_message)
    if rejected:
        problem = f"{export} was answered, but not kept: {reason or 'the server gives no reason'}"
        return Diagnosis("wrong", problem, "check what the collector accepts, and how much of it")
    if reason:
        return Diagnosis("note", f"{export} was accepted with a warning: {reason}", "see the collector's log")
    if kind != _PROTOBUF:
        problem = f"{export} was answered {answer.status_code}, but not in OTLP ({kind or 'no content type'})"
        return Diagnosis(
            "note", problem, "check there that it arrived: some receivers answer so, such as Prometheus"
        )
    return None


def receiver_remedy(target: Target) -> str:
    """Return the remedy for an address that answers but is not an OTLP receiver."""
    own = f"OTEL_EXPORTER_OTLP_{target.signal.upper()}_ENDPOINT"
    if target.protocol != "grpc" and target.variable == own and not target.path.strip("/"):
        return f"let {own} end in /v1/{target.signal}; nothing is appended to this variable"
    usual = f"the usual port of OTLP over {target.protocol} is {_PORTS[target.protocol]}"
    return f"correct {target.variable}: {usual}"


def _response(signal: str, kind: str, answer: requests.Response) -> Any:
    """Parse the response of an OTLP receiver. None if it is not one."""
    if not answer.content:
        return _RESPONSES[signal]()  # no bytes mean an empty response
    try:
        if kind == _PROTOBUF:
            return _RESPONSES[signal].FromString(answer.content)
        if kind == _JSON:
            return json_format.Parse(answer.text, _RESPONSES[signal]())
    except (DecodeError, json_format.ParseError):
        pass
    return None


def _short(text: str) -> str:
    """Return a server's text as one short line without secrets."""
    return without_secrets(" ".join(text.split())[:_LONGEST])
