"""Export spans and metrics to a collector, or else to files.

The collector is the one that OTEL_EXPORTER_OTLP_ENDPOINT names.
"""

from __future__ import annotations

import json
import logging
import os
from textwrap import shorten
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.json.file import FileMetricExporter, FileSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from deltaspan import configure_telemetry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from deltaspan import ActionReport


def set_up(folder: Path) -> Collector | Files:
    """Set up OpenTelemetry before anything is recorded.

    Args:
        folder: where files go, when no collector is named.
    """
    os.environ.setdefault("OTEL_SERVICE_NAME", "deltaspan-demo")
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return Collector(endpoint) if endpoint else Files(folder)


class Files:
    """OTLP/JSON in a folder, one export a line: what a collector would have received.

    Args:
        folder: made when it is not there; the files of an earlier demo in it are replaced.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._spans, self._metrics = folder / "spans.jsonl", folder / "metrics.jsonl"
        for file in (self._spans, self._metrics):
            file.unlink(missing_ok=True)
        self._tracers = TracerProvider()
        self._tracers.add_span_processor(SimpleSpanProcessor(FileSpanExporter(self._spans)))
        self._meters = MeterProvider([PeriodicExportingMetricReader(FileMetricExporter(self._metrics))])
        trace.set_tracer_provider(self._tracers)
        metrics.set_meter_provider(self._meters)

    def finish(self, _reports: Iterable[ActionReport]) -> Iterator[str]:
        """Write the rest, and return where to find each signal."""
        self._tracers.shutdown()
        self._meters.shutdown()
        yield f"Spans    {self._spans}"
        yield f"Metrics  {self._metrics}"
        yield "See deltaspan.action.outcome and the deltaspan.check.result events of each span."
        yield "See the metric deltaspan.checks."


class Collector:
    """OTLP to an endpoint, and links to the traces in Jaeger.

    Args:
        endpoint: what OTEL_EXPORTER_OTLP_ENDPOINT says; read by the exporters themselves.
    """

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._trouble = Trouble()
        self._traces = TraceIds()
        self._telemetry = configure_telemetry()
        trace.get_tracer_provider().add_span_processor(self._traces)

    def finish(self, reports: Iterable[ActionReport]) -> Iterator[str]:
        """Send the rest, and return links to the traces of failed actions."""
        self._telemetry.shutdown()
        trouble = self._trouble.said
        # Jaeger alone takes the spans, and rejects metrics and logs.
        spans_arrived = not trouble or "export metrics" in trouble or "export logs" in trouble
        if trouble:
            what, why = (
                "Metrics and logs" if spans_arrived else "Telemetry",
                shorten(trouble, 100, placeholder=" …"),
            )
            yield f"{what} did not get through to {self._endpoint}: {why}"
        if spans_arrived:
            yield f"Traces went to {self._endpoint}. The actions that failed, in Jaeger:"
            yield from self._links(reports)

    def _links(self, reports: Iterable[ActionReport]) -> Iterator[str]:
        jaeger = os.environ.get("DELTASPAN_JAEGER_URL", "http://localhost:16686").rstrip("/")
        for report in reports:
            if report.outcome == "fail" and report.causal_tag in self._traces.by_causal_tag:
                yield f"{report.action:<20}{jaeger}/trace/{self._traces.by_causal_tag[report.causal_tag]}"
        failed = json.dumps({"deltaspan.action.outcome": "fail"}, separators=(",", ":"))
        query = urlencode({"service": os.environ["OTEL_SERVICE_NAME"], "tags": failed})
        yield f"{'all of them':<20}{jaeger}/search?{query}"


class TraceIds(SpanProcessor):
    """Maps each causal tag to the trace of its span."""

    def __init__(self) -> None:
        self.by_causal_tag: dict[object, str] = {}

    def on_end(self, span: ReadableSpan) -> None:
        """Store the trace id of an ended span."""
        tag = (span.attributes or {}).get("deltaspan.causal_tag.id")
        self.by_causal_tag[tag] = trace.format_trace_id(span.context.trace_id)


class Trouble(logging.Handler):
    """Keeps the first complaint of OpenTelemetry, to be printed at the end."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said = ""
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(self)
        logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """Remember the first record."""
        self.said = self.said or record.getMessage()
