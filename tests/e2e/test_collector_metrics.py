"""Metrics go through the real collector into the real Prometheus, both configured as they ship."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from urllib.parse import urlencode
from urllib.request import urlopen
from uuid import uuid4

import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import format_trace_id

from deltaspan import semconv
from e2e._servers import HOST, free_ports, required, running, until
from e2e._stack import Collector, Prometheus
from support.rules import rules

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
    """A process that counts checks, and exports on command."""

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

    expression = f'increase(deltaspan_checks_total{{job="{running.job}"}}[1m]) > 0'
    [(labels, value)] = until(lambda: prometheus.query(expression))

    assert value > 0.5
    assert labels.pop("instance")
    assert labels == {
        "job": running.job,
        "deltaspan_action_name": "write",
        "deltaspan_check_metric": "rows",
        "deltaspan_check_outcome": "fail",
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
            query=f'deltaspan_checks_total{{job="{running.job}"}}',
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
    series = f'deltaspan_checks_total{{job="{running.job}"}}'
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


def test_prometheus_scrapes_only_itself_without_other_targets(prometheus):
    assert [(labels["job"], value) for labels, value in until(lambda: prometheus.query("up"))] == [
        ("prometheus", 1)
    ]


# Counting ---------------------------------------------------------------------------------------------------

FAILED_SERIES = 'deltaspan_checks_total{deltaspan_check_outcome="fail", deltaspan_check_origin=""}'
LAST_FAILURES = f"last_over_time({FAILED_SERIES}[5m])"
LIAR = """
from deltaspan import change, configure_telemetry, expects

configure_telemetry()
rows = []


@expects(change("rows", lambda: len(rows)).by(1))
def order():
    pass


order()
"""
EXPRESSIONS = {rule["record"]: rule["expr"] for rule in rules("record")}


@pytest.fixture(scope="module")
def counting_prometheus(tmp_path_factory):
    """Return the address of a Prometheus that takes OTLP."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "prometheus.yml").write_text("global: {}\n")
    [port] = free_ports(1)
    command = [
        str(required("prometheus")),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={HOST}:{port}",
        "--web.enable-otlp-receiver",
    ]
    with running(command, folder / "prometheus.log", healthy=(port, "/-/ready"), env=dict(os.environ)):
        yield f"http://{HOST}:{port}"


@pytest.fixture(scope="module")
def ask(counting_prometheus):
    """Return what asks for a query's labels and values, after three processes have lied once each."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DELTASPAN_"))
    }
    environment |= {
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"{counting_prometheus}/api/v1/otlp/v1/metrics",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_RESOURCE_ATTRIBUTES": "service.namespace=agents",
        "OTEL_SERVICE_NAME": "shop",
        "OTEL_TRACES_EXPORTER": "none",
    }
    for _ in range(3):
        subprocess.run([sys.executable, "-c", LIAR], env=environment, check=True, timeout=180)

    def query(text):
        url = f"{counting_prometheus}/api/v1/query?{urlencode({'query': text})}"
        with urlopen(url, timeout=60) as answer:  # noqa: S310  # loopback
            found = json.load(answer)["data"]["result"]
        return [(each["metric"], float(each["value"][1])) for each in found]

    until(lambda: len(query(LAST_FAILURES)) == 3)
    return query


def test_each_process_left_a_series_that_began_at_one(ask):
    # A state that did not change has no origin.
    raw = ask(LAST_FAILURES)

    assert [value for _, value in raw] == [1, 1, 1]
    assert len({labels["instance"] for labels, _ in raw}) == 3
    assert ask('increase(deltaspan_checks_total{deltaspan_check_outcome="fail"}[5m])') == []


def test_the_rule_counts_each_of_them_once(ask):
    assert ask(EXPRESSIONS["check:failures:increase15m"]) == [
        ({"job": "agents/shop", "deltaspan_action_name": "order", "deltaspan_check_metric": "rows"}, 3)
    ]


def test_the_rule_counts_their_runs_by_bucket(ask):
    buckets = {
        labels["le"]: value
        for labels, value in ask(
            EXPRESSIONS["action:deltaspan_verification_duration_seconds_bucket:increase5m"]
        )
    }

    assert buckets["+Inf"] == 3


def test_the_job_reports(ask):
    assert ask(EXPRESSIONS["job:deltaspan_checks:reporting"]) == [({"job": "agents/shop"}, 1)]
