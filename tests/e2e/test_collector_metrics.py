"""Metrics go through the real collector into the real Prometheus, both configured as they ship."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import format_trace_id

from deltaspan import semconv
from e2e._servers import until
from e2e._stack import Collector, Prometheus

pytestmark = pytest.mark.usefixtures("built")

FAILED = {semconv.ACTION_NAME: "write", semconv.CHECK_METRIC: "rows", semconv.CHECK_OUTCOME: "fail"}


class Exporter(OTLPMetricExporter):
    """Counts the exports that were acknowledged."""

    acknowledged = 0

    def export(self, *args, **kwargs):
        result = super().export(*args, **kwargs)
        self.acknowledged += result is MetricExportResult.SUCCESS
        return result


class Agent:
    """A process that counts checks, and exports when it is told."""

    def __init__(self, collector):
        self.job = f"agent-{uuid4()}"
        self.exporter = Exporter(endpoint=f"{collector.http_endpoint}/v1/metrics", timeout=60)
        self._reader = PeriodicExportingMetricReader(self.exporter, export_interval_millis=3_600_000)
        resource = Resource.create({"service.name": self.job})
        self.provider = MeterProvider([self._reader], resource=resource, shutdown_on_exit=False)
        meter = self.provider.get_meter("test")
        self.checks = meter.create_counter(semconv.METRIC_CHECKS, unit=semconv.METRIC_CHECKS_UNIT)

    def export(self):
        time.sleep(0.05)  # the SDK exports some time after a count, not in the millisecond of it
        self._reader.collect()


@pytest.fixture
def agent():
    made = []

    def make(collector):
        made.append(Agent(collector))
        return made[-1]

    yield make
    for each in made:
        each.provider.shutdown()


@pytest.fixture
def prometheus(tmp_path):
    (tmp_path / "prometheus-here").mkdir()
    with Prometheus(tmp_path / "prometheus-here") as server:
        yield server


@pytest.fixture
def collector(prometheus, tmp_path):
    (tmp_path / "collector-here").mkdir()
    with Collector(
        tmp_path / "collector-here", prometheus=prometheus.url, DEPLOYMENT_ENVIRONMENT="staging"
    ) as server:
        yield server


def test_the_first_failure_of_a_process_is_an_increase_and_its_environment_a_label(
    collector, prometheus, agent
):
    running = agent(collector)
    running.checks.add(1, FAILED)  # before anything was exported
    running.export()
    time.sleep(1)
    running.export()

    expression = f'increase(delta_checks_total{{job="{running.job}"}}[1m]) > 0'
    [(labels, value)] = until(lambda: prometheus.query(expression))

    assert value > 0.5
    assert labels.pop("instance")
    assert labels == {
        "job": running.job,
        "delta_action_name": "write",
        "delta_check_metric": "rows",
        "delta_check_outcome": "fail",
        "deployment_environment_name": "staging",
    }


def test_an_exemplar_leads_to_the_trace(collector, prometheus, agent):
    running = agent(collector)
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    with tracer.start_as_current_span("execute_tool write") as span:
        running.checks.add(1, FAILED)
    running.export()

    now = time.time()
    [series] = until(
        lambda: prometheus.get(
            "query_exemplars",
            query=f'delta_checks_total{{job="{running.job}"}}',
            start=str(now - 60),
            end=str(now + 60),
        )
    )

    assert series["exemplars"][0]["labels"]["trace_id"] == format_trace_id(span.get_span_context().trace_id)


def test_samples_that_were_acknowledged_survive_an_outage_and_a_killed_collector(
    collector, prometheus, agent
):
    running = agent(collector)
    running.checks.add(1, FAILED)
    running.export()
    series = f'delta_checks_total{{job="{running.job}"}}'
    until(lambda: prometheus.query(series))

    prometheus.kill()
    for _ in range(5):
        running.checks.add(1, FAILED)
        running.export()
    collector.kill()
    prometheus.start()
    collector.start()
    until(lambda: [value for _, value in prometheus.query(series) if value == 6])

    assert running.exporter.acknowledged == 6
    [found] = prometheus.get("query", query=f"{series}[10m]")["result"]
    assert sorted({float(value) for _, value in found["values"]}) == [0, 1, 2, 3, 4, 5, 6]


def test_it_scrapes_itself_alone_where_nobody_else_is(prometheus):
    assert [(labels["job"], value) for labels, value in until(lambda: prometheus.query("up"))] == [
        ("prometheus", 1)
    ]
