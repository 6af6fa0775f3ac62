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
import time
from types import FrameType
from typing import Any, Final

from opentelemetry import metrics, trace
from opentelemetry._logs import get_logger_provider, set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from deltaspan._process import on_fork
from deltaspan._telemetry import Outage, add_baggage_processors, exporters

__all__ = ["Telemetry", "configure_telemetry"]

_log = logging.getLogger("deltaspan")
_EXIT_SECONDS: Final = 5.0
"""How long a process waits at its end for a collector that does not answer."""
_SERVICE_NAME: Final = "service.name"


class _Pipeline:
    """One signal: its provider, its exporters, and a thread that waits from the beginning to close them.

    It waits from the beginning because no thread can be started at interpreter exit; there is one for each
    signal because an export cannot be interrupted, and one that hangs must not keep the others from theirs.
    """

    def __init__(self, name: str, provider: Any, its_exporters: list[Any]) -> None:
        self.name = name
        self.provider = provider
        self.exporters = its_exporters
        self.wait_to_close()

    def wait_to_close(self) -> None:
        """Start the waiting thread; again in a forked child, where no thread of the parent lives."""
        self._asked, self._closed = threading.Event(), threading.Event()
        threading.Thread(target=self._run, name=f"deltaspan-exit-{self.name}", daemon=True).start()

    def ask_to_close(self) -> None:
        self._asked.set()

    def closes_within(self, seconds: float) -> bool:
        """Wait, and return whether everything was sent; an exporter that is still at it is told to stop."""
        if self._closed.wait(max(seconds, 0.0)):
            return True
        for exporter in self.exporters:
            exporter.shutdown()
        return False

    def _run(self) -> None:
        self._asked.wait()
        try:
            self.provider.shutdown()
        finally:
            self._closed.set()


class Telemetry:
    """What `configure_telemetry` set up.

    Attributes:
        configured: False when nothing was set up: an SDK was there already and was left alone, or
            `OTEL_SDK_DISABLED` says true.
    """

    def __init__(self, pipelines: tuple[_Pipeline, ...] = (), outage: Outage | None = None) -> None:
        self.configured = bool(pipelines)
        self._pipelines = pipelines
        self._outage = outage or Outage()
        self._closing = False

    def __repr__(self) -> str:
        return f"Telemetry(configured={self.configured})"

    def flush(self) -> None:
        """Send what is waiting; returns when it is sent or has failed."""
        if self._closing:
            return
        for pipeline in self._pipelines:
            pipeline.provider.force_flush()

    def shutdown(self) -> None:
        """Send what is waiting, within five seconds, and stop. Done by itself at exit and on SIGTERM."""
        if self._closing:
            return
        self._closing = True
        deadline = time.monotonic() + _EXIT_SECONDS
        for pipeline in self._pipelines:
            pipeline.ask_to_close()
        late = [p.name for p in self._pipelines if not p.closes_within(deadline - time.monotonic())]
        if late:
            self._outage.complain(f"{', '.join(late)} could not be sent within {_EXIT_SECONDS:g} s")

    def _in_forked_child(self) -> None:
        self._closing = False
        for pipeline in self._pipelines:
            pipeline.wait_to_close()

    def _on_sigterm(self, before: Any, number: int, frame: FrameType | None) -> None:
        if not callable(before):
            # Asked again while it is ending, it would lose what it is sending.
            if not self._closing:
                raise SystemExit(128 + number)
            return
        # Somebody's handler decides how the process ends; flush beside it, since the interrupted thread may
        # hold a lock that flushing needs.
        if not self._closing:
            flush = threading.Thread(target=self.flush, name="deltaspan-sigterm", daemon=True)
            flush.start()
            flush.join(_EXIT_SECONDS)
        before(number, frame)


def configure_telemetry(service_name: str | None = None) -> Telemetry:
    """Set up traces, metrics and logs over OTLP, unless an SDK is set up already.

    Read from the environment, among others: `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_PROTOCOL`
    (`http/protobuf`, the default, or `grpc`; also for a port 4317 without a protocol; `http/json` with
    `opentelemetry-exporter-otlp-json-http`), `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER`,
    `OTEL_LOGS_EXPORTER` (`otlp`, `console` or `none`, whatever an installed package offers, such as
    `otlp_json_file` or `prometheus`, or several with commas between), `OTEL_SERVICE_NAME`,
    `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_SDK_DISABLED`.

    With `opentelemetry-processor-baggage` installed (`deltaspan[baggage]`) every span and log record inside
    an action carries its causal tag, not the action's span alone.

    What is waiting is sent at exit and on SIGTERM: if nothing else handles SIGTERM, the process then exits
    by SystemExit (status 143), so that open windows close and nothing is lost. A collector that cannot be
    reached is logged once and never slows an action.

    Args:
        service_name: `service.name` when neither `OTEL_SERVICE_NAME` nor `OTEL_RESOURCE_ATTRIBUTES` says.

    Returns:
        A handle to flush or shut down by hand, for scripts that cannot wait for their end.

    Raises:
        DefinitionValueError: the environment names an exporter or a protocol that is not installed, or gives
            an exporter a setting that it refuses.

    Example:
        >>> from deltaspan import configure_telemetry
        >>> telemetry = configure_telemetry("nightly-import")  # doctest: +SKIP
    """
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        _log.info("OTEL_SDK_DISABLED is true; configure_telemetry sets up nothing")
        return Telemetry()
    if _sdk_is_set_up():
        _log.info("an OpenTelemetry SDK is set up already; configure_telemetry leaves it alone")
        return Telemetry()
    chosen = exporters()
    resource = _resource(service_name)
    # Each provider would shut down by itself at exit, one after the other and for as long as it takes.
    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
    add_baggage_processors(traces, loggers)
    for exporter in chosen["TRACES"]:
        traces.add_span_processor(BatchSpanProcessor(exporter))
    readers = [
        found if isinstance(found, MetricReader) else PeriodicExportingMetricReader(found)
        for found in chosen["METRICS"]
    ]
    meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    for exporter in chosen["LOGS"]:
        loggers.add_log_record_processor(BatchLogRecordProcessor(exporter))
    trace.set_tracer_provider(traces)
    metrics.set_meter_provider(meters)
    set_logger_provider(loggers)
    return _closed_at_exit(
        _Pipeline("traces", traces, chosen["TRACES"]),
        _Pipeline("metrics", meters, [one for one in chosen["METRICS"] if not isinstance(one, MetricReader)]),
        _Pipeline("logs", loggers, chosen["LOGS"]),
    )


def _sdk_is_set_up() -> bool:
    # The API's own proxies and no-ops live in the API's packages; whatever else is set, somebody chose.
    in_use = (trace.get_tracer_provider(), metrics.get_meter_provider(), get_logger_provider())
    api = ("opentelemetry.trace", "opentelemetry.metrics", "opentelemetry._logs")
    return any(not type(provider).__module__.startswith(api) for provider in in_use)


def _resource(service_name: str | None) -> Resource:
    # Who deploys a program knows better than who wrote it what it is called there.
    named = OTELResourceDetector().detect().attributes.get(_SERVICE_NAME)
    return Resource.create({_SERVICE_NAME: service_name} if service_name and not named else None)


def _closed_at_exit(*pipelines: _Pipeline) -> Telemetry:
    outage = Outage()
    outage.watch([exporter for pipeline in pipelines for exporter in pipeline.exporters])
    telemetry = Telemetry(pipelines, outage)
    atexit.register(telemetry.shutdown)
    on_fork(telemetry._in_forked_child)  # noqa: SLF001  # of this module
    if threading.current_thread() is not threading.main_thread():
        _log.info("configure_telemetry was called off the main thread; SIGTERM will not flush telemetry")
        return telemetry
    before = signal.getsignal(signal.SIGTERM)
    if before is not None and before is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, lambda number, frame: telemetry._on_sigterm(before, number, frame))  # noqa: SLF001
    return telemetry
