"""Choosing exporters by the environment, and keeping an unreachable collector from flooding the log."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any, Final
from urllib.parse import urlsplit

from deltaspan._concurrency import Once
from deltaspan.exceptions import DefinitionValueError

__all__ = ["SIGNALS", "Outage", "exporters", "protocol_of"]

_log = logging.getLogger("deltaspan")

SIGNALS: Final = ("TRACES", "METRICS", "LOGS")
"""As OpenTelemetry's environment variables spell them."""
_GRPC: Final = "grpc"
_HTTP: Final = "http/protobuf"
_GRPC_PORT: Final = 4317
_PROTOCOLS: Final = {_GRPC: "otlp_proto_grpc", _HTTP: "otlp_proto_http", "http/json": "otlp_json_http"}
"""The protocols of OTLP, and by which name their exporters are installed."""
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
    """Return the exporters of each signal that the environment asks for; none are made if one is wrong.

    Each is what a package installed under that name, as OpenTelemetry's own entry points list it. One of
    metrics may be a reader, which needs no exporter.

    Args:
        only: make those of this name alone; all are looked up.

    Raises:
        DefinitionValueError: the environment names an exporter or a protocol that is not installed, or gives
            an exporter a setting that it refuses.
    """
    makers = {signal_name: _makers(signal_name) for signal_name in SIGNALS}
    return {
        signal_name: [_made(signal_name, kind, make) for kind, make in chosen if only in (None, kind)]
        for signal_name, chosen in makers.items()
    }


def _makers(signal_name: str) -> list[tuple[str, Callable[[], Any]]]:
    variable = f"OTEL_{signal_name}_EXPORTER"
    kinds = [kind.strip().lower() for kind in os.environ.get(variable, "").split(",") if kind.strip()]
    return [
        (kind, _installed(signal_name, kind, variable))
        for kind in dict.fromkeys(kinds or ["otlp"])
        if kind != "none"
    ]


def _installed(signal_name: str, kind: str, variable: str) -> Callable[[], Any]:
    """Return what makes an exporter."""
    # Only the transport that is used is imported: gRPC alone is a second of start-up.
    group = f"opentelemetry_{signal_name.lower()}_exporter"
    name, said = kind, f"{variable}={kind!r}"
    if kind == "otlp":
        protocol = protocol_of(signal_name)
        name, said = _PROTOCOLS[protocol], f"the OTLP protocol {protocol!r} of {signal_name.lower()}"
    found = list(entry_points(group=group, name=name))
    if not found:
        known = sorted({each.name for each in entry_points(group=group)} | {"none"})
        raise DefinitionValueError(
            f"{said} needs an exporter that is not installed; there are {', '.join(known)}"
        )
    try:
        return found[0].load()  # type: ignore[no-any-return]
    except Exception as error:
        raise DefinitionValueError(f"the exporter for {said} cannot be loaded: {error}") from error


def _made(signal_name: str, kind: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (ValueError, OSError) as error:
        # The SDK's own words say "could not convert string to float", and not what it was reading.
        what = f"the exporter of {signal_name.lower()}"
        if kind == "otlp":
            said = f"{what} does not understand one of the OTEL_EXPORTER_OTLP_* environment variables"
        else:
            said = f"{what} {kind!r} cannot start"
        raise DefinitionValueError(f"{said}: {error}") from error


def protocol_of(signal_name: str) -> str:
    """Return the protocol of OTLP that the environment says, or that its endpoint's port speaks.

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
    """Has a collector that cannot be reached logged once, not for every batch of every signal.

    The first complaint passes and the rest are kept for DEBUG, until every exporter that failed has
    succeeded again: the next outage is another one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._failing: set[int] = set()
        self._said = Once()

    def watch(self, exporters: Sequence[Any]) -> None:
        """Quieten the exporters' loggers, and notice when exporters succeed again."""
        for name in _NOISY_LOGGERS:
            logging.getLogger(name).addFilter(self)
        for exporter in exporters:
            exporter.export = self._watched(exporter.export, id(exporter))

    def complain(self, what: str) -> None:
        """Log a complaint of our own, unless this outage has been logged."""
        if self._said.take():
            _log.warning("%s (%s)", what, _ONCE)

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the first complaint through."""
        if record.levelno < logging.WARNING:
            return True
        if record.exc_info and isinstance(record.exc_info[1], OSError):
            record.exc_info = (
                None  # a refused connection says it all; a fault of another kind needs its traceback
            )
        if self._said.take():
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
                self._failing.add(who)
            return result

        return watched

    def _succeeded(self, who: int) -> None:
        self._failing.discard(who)
        if not self._failing and self._said.give_back():
            _log.info("telemetry is arriving again")


_ONCE: Final = (
    "telemetry is not arriving; this is said once, actions are not affected; `deltaspan doctor`, run in the "
    "same environment, says why"
)
