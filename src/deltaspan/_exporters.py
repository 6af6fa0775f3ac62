"""Choosing exporters by the environment, and keeping an unreachable collector from flooding the log."""

from __future__ import annotations

import importlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from opentelemetry.sdk._logs.export import ConsoleLogRecordExporter
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter
from opentelemetry.sdk.trace.export import ConsoleSpanExporter

from deltaspan.exceptions import DefinitionValueError

__all__ = ["SIGNALS", "Outage", "exporters", "protocol_of"]

_log = logging.getLogger("deltaspan")

SIGNALS: Final = ("TRACES", "METRICS", "LOGS")
"""As OpenTelemetry's environment variables spell them."""
_GRPC: Final = "grpc"
_HTTP: Final = "http/protobuf"
_GRPC_PORT: Final = 4317
_PACKAGE: Final = "opentelemetry.exporter.otlp.proto"
_CLASSES: Final = {
    "TRACES": ("trace_exporter", "OTLPSpanExporter"),
    "METRICS": ("metric_exporter", "OTLPMetricExporter"),
    "LOGS": ("_log_exporter", "OTLPLogExporter"),
}
_CONSOLE: Final[dict[str, Callable[[], Any]]] = {
    "TRACES": ConsoleSpanExporter,
    "METRICS": ConsoleMetricExporter,
    "LOGS": ConsoleLogRecordExporter,
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


def exporters() -> dict[str, list[Any]]:
    """Return the exporters of each signal that the environment asks for; none are made if one is wrong.

    Raises:
        DefinitionValueError: the environment names an exporter or a protocol that does not exist, or gives
            an exporter a setting that it refuses.
    """
    makers = {signal_name: _makers(signal_name) for signal_name in SIGNALS}
    return {
        signal_name: [_made(signal_name, make) for make in chosen] for signal_name, chosen in makers.items()
    }


def _makers(signal_name: str) -> list[Callable[[], Any]]:
    variable = f"OTEL_{signal_name}_EXPORTER"
    kinds = [kind.strip().lower() for kind in os.environ.get(variable, "").split(",") if kind.strip()] or [
        "otlp"
    ]
    chosen: list[Callable[[], Any]] = []
    for kind in dict.fromkeys(kinds):
        if kind == "otlp":
            chosen.append(_otlp(signal_name))
        elif kind == "console":
            chosen.append(_CONSOLE[signal_name])
        elif kind != "none":
            raise DefinitionValueError(
                f"{variable}={kind!r} is not known to configure_telemetry; use otlp, console or none"
            )
    return chosen


def _made(signal_name: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except ValueError as error:
        # The SDK's own words say "could not convert string to float", and not what it was reading.
        raise DefinitionValueError(
            f"the exporter of {signal_name.lower()} does not understand one of the OTEL_EXPORTER_OTLP_* "
            f"environment variables: {error}"
        ) from error


def _otlp(signal_name: str) -> Callable[[], Any]:
    protocol = protocol_of(signal_name)
    module, name = _CLASSES[signal_name]
    # Only the transport that is used is imported: gRPC alone is a second of start-up.
    package = importlib.import_module(f"{_PACKAGE}.{'grpc' if protocol == _GRPC else 'http'}.{module}")
    return getattr(package, name)  # type: ignore[no-any-return]


def protocol_of(signal_name: str) -> str:
    """Return `grpc` or `http/protobuf`: what the environment says, or what its endpoint's port speaks.

    Raises:
        DefinitionValueError: it says something else.
    """
    own, common = f"OTEL_EXPORTER_OTLP_{signal_name}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    variable = own if os.environ.get(own, "").strip() else common
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


class Outage(logging.Filter):
    """Has a collector that cannot be reached logged once, not for every batch of every signal.

    The first complaint passes and the rest are kept for DEBUG, until every exporter that failed has
    succeeded again: the next outage is another one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._failing: set[int] = set()
        self._said = False

    def watch(self, exporters: Sequence[Any]) -> None:
        """Quieten the exporters' loggers, and notice when exporters succeed again."""
        for name in _NOISY_LOGGERS:
            logging.getLogger(name).addFilter(self)
        for exporter in exporters:
            exporter.export = self._watched(exporter.export, id(exporter))

    def complain(self, what: str) -> None:
        """Log a complaint of our own, unless this outage has been logged."""
        if self._is_first():
            _log.warning("%s (%s)", what, _ONCE)

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the first complaint through."""
        if record.levelno < logging.WARNING:
            return True
        if record.exc_info and isinstance(record.exc_info[1], OSError):
            record.exc_info = (
                None  # a refused connection says it all; a fault of another kind needs its traceback
            )
        if self._is_first():
            record.msg = f"{record.msg} ({_ONCE})"
            return True
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        return logging.getLogger(record.name).isEnabledFor(logging.DEBUG)

    def _watched(self, export: Callable[..., Any], who: int) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            result = export(*args, **kwargs)
            if getattr(result, "name", None) == "SUCCESS":
                self._succeeded(who)
            else:
                with self._lock:
                    self._failing.add(who)
            return result

        return watched

    def _is_first(self) -> bool:
        with self._lock:
            first, self._said = not self._said, True
        return first

    def _succeeded(self, who: int) -> None:
        with self._lock:
            self._failing.discard(who)
            over = self._said and not self._failing
            if over:
                self._said = False
        if over:
            _log.info("telemetry is arriving again")


_ONCE: Final = (
    "telemetry is not arriving; this is said once, actions are not affected; `deltaspan doctor`, run in the "
    "same environment, says why"
)
