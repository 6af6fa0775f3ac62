"""The tracer, the instruments and the logger of deltaspan."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry import metrics, trace
from opentelemetry._logs import Logger, get_logger_provider

from deltaspan import semconv
from deltaspan._process import on_reset
from deltaspan._providers import LoggerProvider, MeterProvider, Providers, TracerProvider, on_providers
from deltaspan._version import __version__


class Instruments:
    """Tracer, instruments and logger, made from a set of providers.

    If they are created before an SDK is set up, each is a proxy that finds the SDK later.

    Args:
        tracer_provider: creates the tracer. OpenTelemetry's global one by default.
        meter_provider: creates the instruments. The global one by default.
        logger_provider: creates the logger. The global one by default.
    """

    __slots__ = (
        "_meter_provider",
        "action_duration",
        "checks",
        "execute_tool_duration",
        "logger",
        "tracer",
        "verification_duration",
    )

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
    ) -> None:
        self._meter_provider = meter_provider
        scope = (semconv.SCOPE_NAME, __version__)
        tracers: TracerProvider = tracer_provider or trace.get_tracer_provider()
        self.tracer: trace.Tracer = tracers.get_tracer(*scope, semconv.SCHEMA_URL)
        loggers: LoggerProvider = logger_provider or get_logger_provider()
        self.logger: Logger = loggers.get_logger(*scope, semconv.SCHEMA_URL)
        meters: MeterProvider = meter_provider or metrics.get_meter_provider()
        meter: metrics.Meter = meters.get_meter(*scope, semconv.SCHEMA_URL)
        self.checks = meter.create_counter(
            semconv.METRIC_CHECKS, semconv.METRIC_CHECKS_UNIT, semconv.METRIC_CHECKS_DESCRIPTION
        )
        self.execute_tool_duration = _histogram(
            meter,
            semconv.METRIC_GEN_AI_EXECUTE_TOOL_DURATION,
            semconv.METRIC_GEN_AI_EXECUTE_TOOL_DURATION_UNIT,
            semconv.METRIC_GEN_AI_EXECUTE_TOOL_DURATION_DESCRIPTION,
            semconv.METRIC_GEN_AI_EXECUTE_TOOL_DURATION_BUCKETS,
        )
        self.action_duration = _histogram(
            meter,
            semconv.METRIC_ACTION_DURATION,
            semconv.METRIC_ACTION_DURATION_UNIT,
            semconv.METRIC_ACTION_DURATION_DESCRIPTION,
            semconv.METRIC_ACTION_DURATION_BUCKETS,
        )
        self.verification_duration = _histogram(
            meter,
            semconv.METRIC_VERIFICATION_DURATION,
            semconv.METRIC_VERIFICATION_DURATION_UNIT,
            semconv.METRIC_VERIFICATION_DURATION_DESCRIPTION,
            semconv.METRIC_VERIFICATION_DURATION_BUCKETS,
        )

    def meter_provider(self) -> MeterProvider:
        """Return the current provider of the instruments. An SDK replaces the global proxy."""
        return self._meter_provider or metrics.get_meter_provider()


def _histogram(
    meter: metrics.Meter, name: str, unit: str, description: str, bounds: Sequence[float]
) -> metrics.Histogram:
    try:
        return meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=bounds)
    except TypeError:  # a meter of another SDK may not know bounds
        return meter.create_histogram(name, unit, description)


def is_proxy(provider: MeterProvider) -> bool:
    """Return whether a provider is the API's proxy, used without an SDK."""
    return type(provider).__module__.startswith("opentelemetry.metrics")


_installed: Instruments | None = None


def instruments() -> Instruments:
    """Return the instruments in use. The default ones use the global providers."""
    return _installed or install(Instruments())


def install(chosen: Instruments) -> Instruments:
    """Use these instruments from now on, and return them."""
    global _installed  # noqa: PLW0603  # one set a process, as OpenTelemetry's own providers are
    _installed = chosen
    return chosen


@on_providers
def _replace(chosen: Providers) -> None:
    # A run that is open keeps the instruments that it began with.
    install(Instruments(*chosen))


@on_reset
def _uninstall() -> None:
    global _installed  # noqa: PLW0603
    _installed = None
