"""Bytes and series of one action as OTLP protobuf, plain and gzipped.

Also of the `deltaspan.check.result` log event that a failed check sends if its span is not recorded.

Run: python benchmarks/wire.py

The numbers depend on names and values, not on the machine: sixteen actions with names of the usual length,
states that are random integers, batches of 512 spans as the SDK's batch processor sends them. docs/scaling.md
uses them. Gzip compresses similar spans well. The rest is mostly ids and times.
"""

from __future__ import annotations

import gzip
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs  # it has no public name
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from deltaspan import change, expects, window
from deltaspan._process import reset
from deltaspan._telemetry import Instruments, install
from deltaspan.semconv import ACTION_NAME, GEN_AI_TOOL_NAME

BATCH = 512
RESOURCE = Resource.create(
    {
        "service.name": "provisioning-agent",
        "service.namespace": "agents",
        "service.instance.id": "8f2a4c1e-5d53-4f0e-9d55-3f0f6e3f1a11",
    }
)
VERBS = ("create", "update", "archive", "restore")
NOUNS = ("flow", "tenant_account", "invoice", "subscription")
METRICS = ("active_flows", "tenant_rows", "audit_entries", "queue_depth")


@dataclass(frozen=True, slots=True)
class Sent:
    """The bytes and series of actions with a number of checks.

    Attributes:
        span_bytes: bytes of one span, its share of the batch's frame included.
        span_gzip_bytes: the same after gzip of the whole batch.
        metric_bytes: bytes that one action in one process adds to an export of metrics.
        metric_gzip_bytes: the same after gzip.
        series: time series that it is in Prometheus; a histogram is its buckets, its sum and its count.
    """

    span_bytes: float
    span_gzip_bytes: float
    metric_bytes: float
    metric_gzip_bytes: float
    series: float


def series(metrics: Any) -> int:
    """Count the Prometheus series of an OTLP export of metrics."""
    total = 0
    for resource in metrics.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                if not metric.name.startswith(("deltaspan.", "gen_ai.")):
                    continue  # some SDKs count themselves
                total += len(metric.sum.data_points)
                total += sum(len(p.bucket_counts) + 2 for p in metric.histogram.data_points)
    return total


def action_of(name: str, checks: int) -> Callable[[], None]:
    """Return an action that adds a little to each state, with a check."""
    states = dict.fromkeys(METRICS[:checks], 0)
    chosen = random.Random(name)  # noqa: S311  # the same bytes in each run

    def act(amount: int) -> None:
        for metric in states:
            states[metric] += amount

    probes = [change(m, lambda m=m: states[m]).by(lambda amount: amount) for m in states]
    verified = expects(*probes, name=name)(act)

    def call() -> None:
        for metric in states:
            states[metric] = chosen.randrange(100_000)
        verified(chosen.randrange(1, 50))

    return call


def batch_of(checks: int, verbs: int = len(VERBS), nouns: int = len(NOUNS)) -> tuple[Any, Any]:
    """Return the OTLP messages of a batch: spans and metrics."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider(resource=RESOURCE, shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    meters = MeterProvider([reader], RESOURCE, shutdown_on_exit=False)
    install(Instruments(tracers, meters, LoggerProvider(RESOURCE, shutdown_on_exit=False)))
    try:
        calls = [action_of(f"{verb}_{noun}", checks) for verb in VERBS[:verbs] for noun in NOUNS[:nouns]]
        for n in range(BATCH):
            calls[n % len(calls)]()
    finally:
        reset()
    metrics = encode_metrics(reader.get_metrics_data())
    fix_chance(metrics)
    return encode_spans(spans.get_finished_spans()), metrics


def fix_chance(metrics: Any) -> None:
    """Give each point the durations and exemplars of a quiet machine, which decide how well gzip does.

    The SDK chooses the exemplars of counters at random, and those of histograms by the measured durations.
    """
    chosen = random.Random("durations")  # noqa: S311  # the same bytes in each run
    last_spans: dict[str, tuple[bytes, bytes]] = {}
    for resource in metrics.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.sum.data_points:
                    fix_exemplar(point, chosen, (chosen.randbytes(16), chosen.randbytes(8)))
                for point in metric.histogram.data_points:
                    first = round(point.count * 0.8)
                    point.bucket_counts[:] = [
                        first,
                        point.count - first,
                        *[0] * (len(point.bucket_counts) - 2),
                    ]
                    point.sum = point.count * 0.0005 * chosen.uniform(0.9, 1.1)
                    point.min, point.max = (chosen.uniform(0.0002, 0.0004), chosen.uniform(0.0011, 0.0014))
                    names = (ACTION_NAME, GEN_AI_TOOL_NAME)
                    [action] = [a.value.string_value for a in point.attributes if a.key in names]
                    last_spans.setdefault(action, (chosen.randbytes(16), chosen.randbytes(8)))
                    fix_exemplar(point, chosen, last_spans[action])
                    for exemplar in point.exemplars:
                        exemplar.as_double = chosen.uniform(0.0002, 0.0011)


def fix_exemplar(point: Any, chosen: random.Random, span: tuple[bytes, bytes]) -> None:
    """Keep one exemplar of the point, of this span, recorded at most 100 ms before the export."""
    del point.exemplars[1:]
    for exemplar in point.exemplars:
        exemplar.trace_id, exemplar.span_id = span
        exemplar.time_unix_nano = point.time_unix_nano - chosen.randrange(100_000_000)


def measured(checks: int) -> Sent:
    """Run a batch of actions, and return the size of its telemetry."""
    span_message, metric_message = batch_of(checks)
    actions = len(VERBS) * len(NOUNS)
    spans, metrics = span_message.SerializeToString(), metric_message.SerializeToString()
    return Sent(
        span_bytes=len(spans) / BATCH,
        span_gzip_bytes=len(gzip.compress(spans, 6)) / BATCH,
        metric_bytes=len(metrics) / actions,
        metric_gzip_bytes=len(gzip.compress(metrics, 6)) / actions,
        series=series(metric_message) / actions,
    )


def events() -> tuple[float, float]:
    """Return plain and gzipped bytes of a failed check's log event.

    Its span is not recorded.
    """
    logs = InMemoryLogRecordExporter()
    chosen = random.Random("events")  # noqa: S311  # the same bytes in each run
    loggers = LoggerProvider(RESOURCE, shutdown_on_exit=False)
    loggers.add_log_record_processor(SimpleLogRecordProcessor(logs))
    tracers = TracerProvider(resource=RESOURCE, sampler=ALWAYS_OFF, shutdown_on_exit=False)
    meters = MeterProvider([], RESOURCE, shutdown_on_exit=False)
    install(Instruments(tracers, meters, loggers))
    try:
        names = itertools.cycle(f"{verb}_{noun}" for verb in VERBS for noun in NOUNS)
        for name in itertools.islice(names, BATCH):
            state, amount = chosen.randrange(100_000), chosen.randrange(1, 50)
            with window(name, change(METRICS[0], lambda state=state: state).by(amount)):
                pass  # claims a change that did not happen
    finally:
        reset()
    sent = encode_logs(logs.get_finished_logs()).SerializeToString()
    return len(sent) / BATCH, len(gzip.compress(sent, 6)) / BATCH


def main() -> None:
    print(f"{'checks':>6} {'span B':>8} {'gzip B':>8} {'metrics B':>10} {'gzip B':>8} {'series':>7}")
    for checks in (1, 2, 4):
        sent = measured(checks)
        print(
            f"{checks:>6} {sent.span_bytes:>8.0f} {sent.span_gzip_bytes:>8.0f}"
            f" {sent.metric_bytes:>10.0f} {sent.metric_gzip_bytes:>8.0f} {sent.series:>7.0f}"
        )
    plain, zipped = events()
    print(f"the log event of a failed check: {plain:.0f} B, gzipped {zipped:.0f} B")


if __name__ == "__main__":
    main()
