"""Fixtures for every test: telemetry into memory, and settings from the environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Sampler

from deltaspan import _process, configure
from deltaspan._telemetry import Instruments, install


class Recorded:
    """An SDK into memory, and what deltaspan and a test recorded with it."""

    def __init__(
        self,
        sampler: Sampler | None = None,
        processors: Sequence[SpanProcessor] = (),
        *,
        logs: bool = True,
        limits: SpanLimits | None = None,
    ) -> None:
        self._spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self._logs = InMemoryLogRecordExporter()
        resource = Resource.get_empty()
        self.tracer_provider = TracerProvider(sampler, resource, shutdown_on_exit=False, span_limits=limits)
        for processor in (*processors, SimpleSpanProcessor(self._spans)):
            self.tracer_provider.add_span_processor(processor)
        self.meter_provider = MeterProvider([self._reader], resource, shutdown_on_exit=False)
        self.logger_provider = LoggerProvider(resource, shutdown_on_exit=False)
        if logs:
            self.logger_provider.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
        self.tracer = self.tracer_provider.get_tracer("a framework")
        self.instruments = Instruments(self.tracer_provider, self.meter_provider, self.logger_provider)

    @property
    def spans(self) -> list[ReadableSpan]:
        """The ended spans, in order of ending."""
        return list(self._spans.get_finished_spans())

    @property
    def span(self) -> ReadableSpan:
        """The only ended span."""
        (span,) = self.spans
        return span

    @property
    def events(self) -> list[Event]:
        """The events of the only span, in order."""
        return list(self.span.events)

    @property
    def event(self) -> Event:
        """The only event of the only span."""
        (event,) = self.events
        return event

    @property
    def logs(self) -> list[Any]:
        """The log records, in order."""
        return [data.log_record for data in self._logs.get_finished_logs()]

    @property
    def log(self) -> Any:
        """The only log record."""
        (record,) = self.logs
        return record

    def metrics(self) -> dict[str, Any]:
        """Collect the metrics, by name."""
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: metric
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def points(self, name: str) -> list[Any]:
        """Collect the data points of one metric."""
        metric = self.metrics().get(name)
        return [] if metric is None else list(metric.data.data_points)


@pytest.fixture
def record() -> Iterator[Callable[..., Recorded]]:
    """Return a function that installs an SDK of the test's making."""
    made: list[Recorded] = []

    def start(
        sampler: Sampler | None = None, processors: Sequence[SpanProcessor] = (), **options: Any
    ) -> Recorded:
        recorded = Recorded(sampler, processors, **options)
        made.append(recorded)
        install(recorded.instruments)
        return recorded

    try:
        yield start
    finally:
        for recorded in made:
            recorded.tracer_provider.shutdown()
            recorded.meter_provider.shutdown()
            recorded.logger_provider.shutdown()


@pytest.fixture
def recorded(record: Callable[..., Recorded]) -> Recorded:
    """An SDK that samples everything, in use for the test."""
    return record()


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that sets environment variables and reloads the settings."""

    def change(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        configure()  # reads the environment

    return change


@pytest.fixture(autouse=True)
def _reset_process() -> Iterator[None]:
    """Return the process to its start after each test."""
    yield
    _process.reset()
