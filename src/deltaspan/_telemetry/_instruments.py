"""The tracer, the instruments and the logger: made once for each set of providers, and injectable."""

from __future__ import annotations

from opentelemetry import metrics, trace
from opentelemetry._logs import LoggerProvider, get_logger_provider

from deltaspan import semconv
from deltaspan._process import on_reset
from deltaspan._version import __version__

__all__ = ["Instruments", "install", "instruments"]


class Instruments:
    """What deltaspan records with.

    Made before an SDK is set up, each part is a proxy that finds the SDK later.

    Args:
        tracer_provider: makes the tracer; OpenTelemetry's global one by default.
        meter_provider: makes the instruments; likewise.
        logger_provider: makes the logger; likewise.
    """

    __slots__ = ("_meter_provider", "action_duration", "checks", "logger", "tracer", "verification_duration")

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
    ) -> None:
        self._meter_provider = meter_provider
        scope = (semconv.SCOPE_NAME, __version__)
        self.tracer = trace.get_tracer(*scope, tracer_provider, semconv.SCHEMA_URL)
        self.logger = (logger_provider or get_logger_provider()).get_logger(*scope, semconv.SCHEMA_URL)
        meter = metrics.get_meter(*scope, meter_provider, semconv.SCHEMA_URL)
        self.checks = meter.create_counter(
            semconv.METRIC_CHECKS, semconv.METRIC_CHECKS_UNIT, semconv.METRIC_CHECKS_DESCRIPTION
        )
        self.action_duration = meter.create_histogram(
            semconv.METRIC_ACTION_DURATION,
            semconv.METRIC_ACTION_DURATION_UNIT,
            semconv.METRIC_ACTION_DURATION_DESCRIPTION,
            explicit_bucket_boundaries_advisory=semconv.METRIC_ACTION_DURATION_BUCKETS,
        )
        self.verification_duration = meter.create_histogram(
            semconv.METRIC_VERIFICATION_DURATION,
            semconv.METRIC_VERIFICATION_DURATION_UNIT,
            semconv.METRIC_VERIFICATION_DURATION_DESCRIPTION,
            explicit_bucket_boundaries_advisory=semconv.METRIC_VERIFICATION_DURATION_BUCKETS,
        )

    def meter_provider(self) -> metrics.MeterProvider:
        """Return the provider behind the instruments as it is now; an SDK may have come since."""
        return self._meter_provider or metrics.get_meter_provider()


def is_proxy(provider: metrics.MeterProvider) -> bool:
    """Return whether a provider is the API's own, which stands in until an SDK is set up."""
    return type(provider).__module__.startswith("opentelemetry.metrics")


_installed: Instruments | None = None


def instruments() -> Instruments:
    """Return the instruments in use, made from the global providers at the first call."""
    return _installed or install(Instruments())


def install(chosen: Instruments) -> Instruments:
    """Use these instruments from now on, and return them."""
    global _installed  # noqa: PLW0603  # one set a process, as OpenTelemetry's own providers are
    _installed = chosen
    return chosen


@on_reset
def _uninstall() -> None:
    global _installed  # noqa: PLW0603
    _installed = None
