"""Whether what answers an export over HTTP is an OTLP receiver, and whether it took all of it."""

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

from deltaspan.cli.doctor._endpoints import Target, without_secrets
from deltaspan.cli.doctor._finding import Finding

__all__ = ["answer_finding", "answers", "receiver_cure"]

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
"""Characters of what a server says about itself."""


@contextmanager
def answers() -> Iterator[list[requests.Response]]:
    """Collect what HTTP exporters are answered; they look at the status alone, and keep nothing."""
    seen: list[requests.Response] = []
    send = requests.Session.send

    def sending(self: requests.Session, *args: Any, **kwargs: Any) -> requests.Response:
        answer = send(self, *args, **kwargs)
        seen.append(answer)
        return answer

    # The class and not a session: where an exporter keeps its own differs from release to release, and
    # that of a credential provider must not be replaced.
    requests.Session.send = sending  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        requests.Session.send = send  # type: ignore[method-assign]


def answer_finding(target: Target, over: str, answer: requests.Response) -> Finding | None:
    """Return what is amiss in the answer to an export that the exporter calls a success, if anything is.

    Args:
        target: where it was sent.
        over: what was sent, how and where to.
        answer: what came back.
    """
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    response = _response(target.signal, kind, answer) if answer.ok and not answer.is_redirect else None
    if response is None:
        named = _told(kind) or "no content type"
        said = f"{over} went nowhere: what answers is no OTLP receiver ({answer.status_code}, {named})"
        return Finding("wrong", said, receiver_cure(target))
    partial = response.partial_success
    rejected, why = getattr(partial, _REJECTED[target.signal]), _told(partial.error_message)
    if rejected:
        said = f"{over} was answered, and not kept: {why or 'the server does not say why'}"
        return Finding("wrong", said, "see what the collector accepts, and how much of it")
    if why:
        return Finding("note", f"{over} was accepted with a warning: {why}", "see the collector's log")
    if kind != _PROTOBUF:
        said = (
            f"{over} was answered {answer.status_code}, and not as OTLP has it ({kind or 'no content type'})"
        )
        return Finding(
            "note", said, "look there whether it arrived: some receivers answer so, a Prometheus for one"
        )
    return None


def receiver_cure(target: Target) -> str:
    """Return what to do about an address that is there and takes no OTLP."""
    own = f"OTEL_EXPORTER_OTLP_{target.signal.upper()}_ENDPOINT"
    if target.protocol != "grpc" and target.variable == own and not target.path.strip("/"):
        return f"let {own} end in /v1/{target.signal}; to this one nothing is appended"
    usual = f"OTLP over {target.protocol} is taken at port {_PORTS[target.protocol]} as a rule"
    return f"correct {target.variable}: {usual}"


def _response(signal: str, kind: str, answer: requests.Response) -> Any:
    """Return the response that an OTLP receiver has sent, or None where none can be read."""
    if not answer.content:
        return _RESPONSES[signal]()  # which is what no bytes at all mean
    try:
        if kind == _PROTOBUF:
            return _RESPONSES[signal].FromString(answer.content)
        if kind == _JSON:
            return json_format.Parse(answer.text, _RESPONSES[signal]())
    except (DecodeError, json_format.ParseError):
        pass
    return None


def _told(text: str) -> str:
    """Return what a server says, on one line of bearable length and without our secrets."""
    return without_secrets(" ".join(text.split())[:_LONGEST])
