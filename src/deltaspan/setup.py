"""Set up an OpenTelemetry SDK that exports over OTLP, for programs without one.

The configuration is read from OpenTelemetry's own environment variables
(https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). A service that sets up
its own SDK does not need this module.
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
from deltaspan._telemetry import EvaluationBridge, Outage, add_baggage_processors, exporters

__all__ = ["Telemetry", "configure_telemetry"]

_log = logging.getLogger("deltaspan")
_EXIT_SECONDS: Final = 5.0
"""The time that a process waits at exit for a collector that does not answer."""
_SERVICE_NAME: Final = "service.name"


class _Pipeline:
    """The provider and exporters of one signal, and a thread that closes them.

    The thread is started early because none can be started at interpreter exit. Each signal has its own
    thread because an export cannot be interrupted, and one that hangs must not delay the others.
    """

    def __init__(self, name: str, provider: Any, own_exporters: list[Any]) -> None:
        self.name = name
        self.provider = provider
        self.exporters = own_exporters
        self.wait_to_close()

    def wait_to_close(self) -> None:
        """Start the waiting thread. A forked child needs a new one."""
        self._asked, self._closed = threading.Event(), threading.Event()
        threading.Thread(target=self._run, name=f"deltaspan-exit-{self.name}", daemon=True).start()

    def ask_to_close(self) -> None:
        self._asked.set()

    def closes_within(self, seconds: float) -> bool:
        """Return whether everything was sent in time. Stop the exporters otherwise."""
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
    """A handle on the SDK that `configure_telemetry` set up.

    Attributes:
        configured: False if nothing was set up, because an SDK was set up already, `OTEL_SDK_DISABLED` is
            true, or `OTEL_CONFIG_FILE` names a file.
    """

    def __init__(self, pipelines: tuple[_Pipeline, ...] = (), outage: Outage | None = None) -> None:
        self.configured = bool(pipelines)
        self._pipelines = pipelines
        self._outage = outage or Outage()
        self._closing = False

    def __repr__(self) -> str:
        return f"Telemetry(configured={self.configured})"

    def flush(self) -> None:
        """Send what is queued. Returns when that has succeeded or failed."""
        if self._closing:
            return
        for pipeline in self._pipelines:
            pipeline.provider.force_flush()

    def shutdown(self) -> None:
        """Send what is queued, within five seconds, and stop.

        This happens automatically at exit and on SIGTERM.
        """
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
            # A second SIGTERM during shutdown must not interrupt the sending.
            if not self._closing:
                raise SystemExit(128 + number)
            return
        # The handler that was installed before decides how the process ends. Flush in another thread, because
        # the interrupted one may hold a lock that flushing needs.
        if not self._closing:
            flush = threading.Thread(target=self.flush, name="deltaspan-sigterm", daemon=True)
            flush.start()
            flush.join(_EXIT_SECONDS)
        before(number, frame)


def configure_telemetry(service_name: str | None = None) -> Telemetry:
    """Set up traces, metrics and logs over OTLP, unless an SDK exists.

    Read from the environment are, among others: `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_PROTOCOL`
    (`http/protobuf`, the default, or `grpc`; also for a port 4317 without a protocol; `http/json` with
    `opentelemetry-exporter-otlp-json-http`), `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER`,
    `OTEL_LOGS_EXPORTER` (`otlp`, `console` or `none`, whatever an installed package offers, such as
    `otlp_json_file` or `prometheus`, or several with commas between), `OTEL_SERVICE_NAME`,
    `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_SDK_DISABLED`. If `OTEL_CONFIG_FILE` names a
    file, that file configures OpenTelemetry instead of these variables, and nothing is set up here.

    If `opentelemetry-processor-baggage` is installed (`deltaspan[baggage]`), every span and log record inside
    an action carries its causal tag. Otherwise only the action's span does.

    Queued telemetry is sent at exit and on SIGTERM. If nothing else handles SIGTERM, the process then exits
    by SystemExit (status 143), so that open windows close and nothing is lost. A collector that cannot be
    reached is logged once and never slows an action.

    Args:
        service_name: `service.name` if neither `OTEL_SERVICE_NAME` nor `OTEL_RESOURCE_ATTRIBUTES` sets it.

    Returns:
        A handle to flush or shut down by hand, for scripts that cannot wait for their exit.

    Raises:
        DefinitionValueError: the environment names an exporter or a protocol that is not installed, or an
            exporter rejects one of its settings.

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
    config_file = os.environ.get("OTEL_CONFIG_FILE", "").strip()
    if config_file:
        # That file may disable the SDK or send elsewhere, and only OpenTelemetry's configurator reads it.
        _log.warning(
            "OTEL_CONFIG_FILE=%s configures OpenTelemetry, so configure_telemetry sets up nothing; run the "
            "program under opentelemetry-instrument, which reads that file",
            config_file,
        )
        return Telemetry()
    chosen = exporters()
    resource = _resource(service_name)
    # By itself each provider would shut down at exit, one after the other and without a time limit.
    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
    add_baggage_processors(traces, loggers)
    for exporter in chosen["TRACES"]:
        traces.add_span_processor(BatchSpanProcessor(exporter))
    readers = [
        exporter if isinstance(exporter, MetricReader) else PeriodicExportingMetricReader(exporter)
        for exporter in chosen["METRICS"]
    ]
    meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    loggers.add_log_record_processor(EvaluationBridge())  # type: ignore[arg-type]  # it has the methods
    for exporter in chosen["LOGS"]:
        loggers.add_log_record_processor(BatchLogRecordProcessor(exporter))
    trace.set_tracer_provider(traces)
    metrics.set_meter_provider(meters)
    set_logger_provider(loggers)
    return _closed_at_exit(
        _Pipeline("traces", traces, chosen["TRACES"]),
        _Pipeline(
            "metrics", meters, [each for each in chosen["METRICS"] if not isinstance(each, MetricReader)]
        ),
        _Pipeline("logs", loggers, chosen["LOGS"]),
    )


def _sdk_is_set_up() -> bool:
    # Proxies and no-ops are defined in the API's packages. Any other provider was chosen by the program.
    in_use = (trace.get_tracer_provider(), metrics.get_meter_provider(), get_logger_provider())
    api = ("opentelemetry.trace", "opentelemetry.metrics", "opentelemetry._logs")
    return any(not type(provider).__module__.startswith(api) for provider in in_use)


def _resource(service_name: str | None) -> Resource:
    # The name from the deployment takes precedence over the name in the code.
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
