"""Write spans into a file of OTLP/JSON, one a process.

A collector would receive the same.
"""

from __future__ import annotations

from pathlib import Path

from opentelemetry import trace
from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor


def write_spans(service: str, folder: Path) -> TracerProvider:
    """Set up OpenTelemetry for this process. Shut the result down at the end."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(folder / f"{service}.jsonl")))
    trace.set_tracer_provider(provider)
    return provider
