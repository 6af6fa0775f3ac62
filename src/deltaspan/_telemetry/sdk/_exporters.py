"""Choose exporters by the environment, and log an unreachable collector once."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any, Final
from urllib.parse import urlsplit

from deltaspan._concurrency import Once
from deltaspan.exceptions import DefinitionValueError

_log = logging.getLogger("deltaspan")

SIGNALS: Final = ("TRACES", "METRICS", "LOGS")
"""The signals, spelled as in OpenTelemetry's environment variables."""
_GRPC: Final = "grpc"
_HTTP: Final = "http/protobuf"
_GRPC_PORT: Final = 4317
_PROTOCOLS: Final = {_GRPC: "otlp_proto_grpc", _HTTP: "otlp_proto_http", "http/json": "otlp_json_http"}
"""The OTLP protocols, and the entry point names of their exporters."""
_PACKAGE: Final = "opentelemetry.exporter.otlp.proto"
_JSON: Final = "opentelemetry.exporter.otlp.json.http"
_NOISY_LOGGERS: Final = (
    f"{_PACKAGE}.grpc.exporter",
    f"{_PACKAGE}.http.trace_exporter",
    f"{_PACKAGE}.http.metric_exporter",
    f"{_PACKAGE}.http._log_exporter",
    f"{_PACKAGE}.http._common",
    f"{_JSON}.trace_exporter",
    f"{_JSON}.metric_exporter",
    f"{_JSON}._log_exporter",
    f"{_JSON}._internal",
    "opentelemetry.exporter.otlp.common.http",
    "opentelemetry.sdk._shared_internal",
    "opentelemetry.sdk.metrics._internal.export",
)


def exporters(only: str | None = None) -> dict[str, list[Any]]:
    """Create the exporters that the environment names, by signal.

    Exporters are found by OpenTelemetry's entry points. For metrics, one may be a reader, which needs no
    exporter. If one name is wrong, none is created.

    Args:
        only: create only exporters of this name. The others are still looked up.

    Raises:
        DefinitionValueError: the environment names an exporter or a protocol that is not installed, or an
            exporter rejects one of its settings.
    """
    makers = {signal_name: _load_all(signal_name) for signal_name in SIGNALS}
    return {
        signal_name: [_make(signal_name, kind, make) for kind, make in chosen if only in (None, kind)]
        for signal_name, chosen in makers.items()
    }


def _load_all(signal_name: str) -> list[tuple[str, Callable[[], Any]]]:
    variable = f"OTEL_{signal_name}_EXPORTER"
    kinds = [kind.strip().lower() for kind in os.environ.get(variable, "").split(",") if kind.strip()]
    return [
        (kind, _load(signal_name, kind, variable))
        for kind in dict.fromkeys(kinds or ["otlp"])
        if kind != "none"
    ]


def _load(signal_name: str, kind: str, variable: str) -> Callable[[], Any]:
    """Return the factory of an exporter."""
    # Only the chosen transport is imported, because gRPC takes a second to load.
    group = f"opentelemetry_{signal_name.lower()}_exporter"
    name, requested = kind, f"{variable}={kind!r}"
    if kind == "otlp":
        protocol = protocol_of(signal_name)
        name, requested = _PROTOCOLS[protocol], f"the OTLP protocol {protocol!r} of {signal_name.lower()}"
    candidates = list(entry_points(group=group, name=name))
    if not candidates:
        known = sorted({each.name for each in entry_points(group=group)} | {"none"})
        raise DefinitionValueError(
            f"{requested} needs an exporter that is not installed; there are {', '.join(known)}"
        )
    try:
        return candidates[0].load()  # type: ignore[no-any-return]
    except Exception as error:
        raise DefinitionValueError(f"the exporter for {requested} cannot be loaded: {error}") from error


def _make(signal_name: str, kind: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (ValueError, OSError) as error:
        # The SDK's error is "could not convert string to float" without the name of the variable.
        name = f"the exporter of {signal_name.lower()}"
        if kind == "otlp":
            problem = f"{name} does not understand one of the OTEL_EXPORTER_OTLP_* environment variables"
        else:
            problem = f"{name} {kind!r} cannot start"
        raise DefinitionValueError(f"{problem}: {error}") from error


def protocol_of(signal_name: str) -> str:
    """Return the OTLP protocol that the environment or the endpoint's port implies.

    Raises:
        DefinitionValueError: the environment names another protocol.
    """
    own, common = f"OTEL_EXPORTER_OTLP_{signal_name}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    variable = own if os.environ.get(own, "").strip() else common
    protocol = os.environ.get(variable, "").strip().lower()
    if not protocol:
        endpoint = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal_name}_ENDPOINT") or os.environ.get(
            "OTEL_EXPORTER_OTLP_ENDPOINT", ""
        )
        # 4317 is the port of OTLP over gRPC. HTTP is never served there.
        return _GRPC if _port(endpoint) == _GRPC_PORT else _HTTP
    if protocol not in _PROTOCOLS:
        raise DefinitionValueError(
            f"{variable}={protocol!r} is not a protocol of OTLP; use {', '.join(_PROTOCOLS)}"
        )
    return protocol


def _port(endpoint: str) -> int | None:
    try:
        return urlsplit(endpoint if "//" in endpoint else f"//{endpoint}").port
    except ValueError:
        return None


class Outage(logging.Filter):
    """Logs an unreachable collector once, not for every batch of every signal.

    The first complaint passes, and the others become DEBUG records. When every exporter that failed has
    succeeded again, the outage is over.
    """

    def __init__(self) -> None:
        super().__init__()
        self._failing: set[int] = set()
        self._is_logged = Once()

    def watch(self, exporters: Sequence[Any]) -> None:
        """Filter the exporters' loggers, and detect when exporters succeed again."""
        for name in _NOISY_LOGGERS:
            logging.getLogger(name).addFilter(self)
        for exporter in exporters:
            exporter.export = self._observe(exporter.export, id(exporter))

    def complain(self, complaint: str) -> None:
        """Log a complaint of deltaspan, unless this outage was logged."""
        if self._is_logged.take():
            _log.warning("%s (%s)", complaint, _ONCE)

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass the first complaint of an outage."""
        if record.levelno < logging.WARNING:
            return True
        if record.exc_info and isinstance(record.exc_info[1], OSError):
            record.exc_info = None  # a connection error needs no traceback, other faults do
        if self._is_logged.take():
            record.msg = f"{record.msg} ({_ONCE})"
            return True
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        return logging.getLogger(record.name).isEnabledFor(logging.DEBUG)

    def _observe(self, export: Callable[..., Any], exporter_id: int) -> Callable[..., Any]:
        def observed(*args: Any, **kwargs: Any) -> Any:
            result = export(*args, **kwargs)
            if getattr(result, "name", None) == "SUCCESS":
                self._succeeded(exporter_id)
            else:
                self._failing.add(exporter_id)
            return result

        return observed

    def _succeeded(self, exporter_id: int) -> None:
        self._failing.discard(exporter_id)
        if not self._failing and self._is_logged.give_back():
            _log.info("telemetry is arriving again")


_ONCE: Final = (
    "telemetry is not arriving; this is said once, actions are not affected; `deltaspan doctor`, run in the "
    "same environment, says why"
)
