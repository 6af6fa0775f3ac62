"""`configure_telemetry`: traces, metrics and logs over OTLP, for a script that has no SDK set up.

Everything is read from OpenTelemetry's own environment variables
(https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). A service that sets up
its SDK by itself needs nothing of this.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final

from opentelemetry import metrics, trace
from opentelemetry._logs import get_logger_provider, set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, ConsoleLogRecordExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

from deltaspan._exporters import otlp_exporter, warn_once_about_exports
from deltaspan.exceptions import DefinitionValueError

__all__ = ["Telemetry", "configure_telemetry"]

_log = logging.getLogger("deltaspan")
_EXIT_SECONDS: Final = 5.0
"""How long a process waits at its end for a collector that does not answer."""
_CONSOLE: Final[dict[str, Callable[[], Any]]] = {
    "TRACES": ConsoleSpanExporter,
    "METRICS": ConsoleMetricExporter,
    "LOGS": ConsoleLogRecordExporter,
}


@dataclass(slots=True)
class Telemetry:
    """What `configure_telemetry` set up.

    Attributes:
        configured: False when an SDK was set up already and was left alone.
    """

    configured: bool
    _providers: list[Any] = field(default_factory=list, repr=False)
    _exporters: list[Any] = field(default_factory=list, repr=False)
    _closing: threading.Event = field(default_factory=threading.Event, repr=False)

    def flush(self) -> None:
        """Send what is waiting; returns when it is sent or has failed."""
        for provider in self._providers:
            provider.force_flush()

    def shutdown(self) -> None:
        """Send what is waiting, within five seconds, and stop. Done by itself at exit and on SIGTERM."""
        if self._closing.is_set():
            return
        self._closing.set()
        for provider in self._providers:
            provider.shutdown()

    def _bound_shutdown(self) -> None:
        """Make exporters give up when a collector does not answer while the process ends.

        A thread that waits from the beginning, because no thread can be started at interpreter exit, and
        the SDK tells its exporters to stop only after they have finished.
        """

        def give_up() -> None:
            self._closing.wait()
            threading.Event().wait(_EXIT_SECONDS)
            for exporter in self._exporters:
                exporter.shutdown()

        threading.Thread(target=give_up, name="deltaspan-exit", daemon=True).start()


def configure_telemetry(service_name: str | None = None) -> Telemetry:
    """Set up traces, metrics and logs over OTLP, unless an SDK is set up already.

    Read from the environment, among others: `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_PROTOCOL`
    (`http/protobuf`, the default, or `grpc`; also for a port 4317 without a protocol),
    `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER`, `OTEL_LOGS_EXPORTER` (`otlp`, `console` or `none`),
    `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_SDK_DISABLED`.

    What is waiting is sent at exit and on SIGTERM: if nothing else handles SIGTERM, the process then exits
    by SystemExit (status 143), so that open windows close and nothing is lost. A collector that cannot be
    reached is logged once and never slows an action.

    Args:
        service_name: `service.name` when `OTEL_SERVICE_NAME` does not say.

    Returns:
        A handle to flush or shut down by hand, for scripts that cannot wait for their end.

    Raises:
        DefinitionValueError: the environment names an exporter or a protocol that does not exist.

    Example:
        >>> from deltaspan import configure_telemetry
        >>> telemetry = configure_telemetry("nightly-import")  # doctest: +SKIP
    """
    if _sdk_is_set_up():
        _log.info("an OpenTelemetry SDK is set up already; configure_telemetry leaves it alone")
        return Telemetry(configured=False)
    named = service_name if service_name and not os.environ.get("OTEL_SERVICE_NAME") else None
    resource = Resource.create({"service.name": named} if named else None)
    telemetry = Telemetry(configured=True)
    exporters = {signal_name: _exporter(signal_name) for signal_name in _CONSOLE}

    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    if (spans := exporters["TRACES"]) is not None:
        traces.add_span_processor(BatchSpanProcessor(spans))
    readers = [PeriodicExportingMetricReader(e) for e in (exporters["METRICS"],) if e is not None]
    meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
    if (records := exporters["LOGS"]) is not None:
        loggers.add_log_record_processor(BatchLogRecordProcessor(records))

    trace.set_tracer_provider(traces)
    metrics.set_meter_provider(meters)
    set_logger_provider(loggers)
    telemetry._providers += [traces, loggers, meters]  # noqa: SLF001  # made in this module only
    telemetry._exporters += [exporter for exporter in exporters.values() if exporter is not None]  # noqa: SLF001
    telemetry._bound_shutdown()  # noqa: SLF001
    warn_once_about_exports()
    atexit.register(telemetry.shutdown)
    _exit_on_sigterm(telemetry)
    return telemetry


def _sdk_is_set_up() -> bool:
    # The API's own proxies and no-ops live in the API's packages; whatever else is set, somebody chose.
    in_use = (trace.get_tracer_provider(), metrics.get_meter_provider(), get_logger_provider())
    api = ("opentelemetry.trace", "opentelemetry.metrics", "opentelemetry._logs")
    return any(not type(provider).__module__.startswith(api) for provider in in_use)


def _exporter(signal_name: str) -> Any:
    variable = f"OTEL_{signal_name}_EXPORTER"
    kind = os.environ.get(variable, "").strip().lower() or "otlp"
    if kind == "none":
        return None
    if kind == "console":
        return _CONSOLE[signal_name]()
    if kind == "otlp":
        return otlp_exporter(signal_name)
    raise DefinitionValueError(f"{variable}={kind!r} is not known to configure_telemetry; use otlp, console or none")


def _exit_on_sigterm(telemetry: Telemetry) -> None:
    if threading.current_thread() is not threading.main_thread():
        _log.info("configure_telemetry was called off the main thread; SIGTERM will not flush telemetry")
        return
    before = signal.getsignal(signal.SIGTERM)
    if before is None or before is signal.SIG_IGN:
        return

    def on_sigterm(number: int, frame: FrameType | None) -> None:
        if callable(before):
            # Somebody's handler decides how the process ends; flush beside it, since the interrupted
            # thread may hold a lock that flushing needs.
            flush = threading.Thread(target=telemetry.flush, name="deltaspan-sigterm", daemon=True)
            flush.start()
            flush.join(_EXIT_SECONDS)
            before(number, frame)
        else:
            raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, on_sigterm)
