"""Choosing an OTLP exporter by the environment, and keeping an unreachable collector from flooding the log."""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any, Final
from urllib.parse import urlsplit

from deltaspan.exceptions import DefinitionValueError

__all__ = ["otlp_exporter", "warn_once_about_exports"]

_GRPC: Final = "grpc"
_HTTP: Final = "http/protobuf"
_GRPC_PORT: Final = 4317
_PACKAGE: Final = "opentelemetry.exporter.otlp.proto"
_CLASSES: Final = {
    "TRACES": ("trace_exporter", "OTLPSpanExporter"),
    "METRICS": ("metric_exporter", "OTLPMetricExporter"),
    "LOGS": ("_log_exporter", "OTLPLogExporter"),
}
_NOISY_LOGGERS: Final = (
    f"{_PACKAGE}.grpc.exporter",
    f"{_PACKAGE}.http.trace_exporter",
    f"{_PACKAGE}.http.metric_exporter",
    f"{_PACKAGE}.http._log_exporter",
    f"{_PACKAGE}.http._common",
    "opentelemetry.exporter.otlp.common.http",
    "opentelemetry.sdk._shared_internal",
    "opentelemetry.sdk.metrics._internal.export",
)


def otlp_exporter(signal_name: str) -> Any:
    """Return the OTLP exporter of one signal, `TRACES`, `METRICS` or `LOGS`.

    Raises:
        DefinitionValueError: the environment names a protocol that does not exist.
    """
    protocol = _protocol(signal_name)
    module, name = _CLASSES[signal_name]
    # Only the transport that is used is imported: gRPC alone is a second of start-up.
    package = importlib.import_module(f"{_PACKAGE}.{'grpc' if protocol == _GRPC else 'http'}.{module}")
    return getattr(package, name)()


def _protocol(signal_name: str) -> str:
    own, common = f"OTEL_EXPORTER_OTLP_{signal_name}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    variable = own if os.environ.get(own) else common
    protocol = os.environ.get(variable, "").strip().lower()
    if not protocol:
        endpoint = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal_name}_ENDPOINT") or os.environ.get(
            "OTEL_EXPORTER_OTLP_ENDPOINT", ""
        )
        # 4317 is the port of OTLP over gRPC; HTTP never answers there.
        return _GRPC if _port(endpoint) == _GRPC_PORT else _HTTP
    if protocol not in (_GRPC, _HTTP):
        raise DefinitionValueError(f"{variable}={protocol!r} is not supported; use {_GRPC} or {_HTTP}")
    return protocol


def _port(endpoint: str) -> int | None:
    try:
        return urlsplit(endpoint if "//" in endpoint else f"//{endpoint}").port
    except ValueError:
        return None


class _WarnOnce(logging.Filter):
    """Lets the first complaint of the exporters through and keeps the rest for DEBUG."""

    def __init__(self) -> None:
        super().__init__()
        self._said = False

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        if self._said:
            return False
        self._said = True
        record.msg = f"{record.msg} (telemetry is not arriving; this is said once, actions are not affected)"
        record.exc_info = None
        return True


def warn_once_about_exports() -> None:
    """Have an unreachable collector logged once, not for every batch of every signal."""
    once = _WarnOnce()
    for name in _NOISY_LOGGERS:
        logging.getLogger(name).addFilter(once)
