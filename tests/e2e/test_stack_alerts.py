"""Alert rules about the stack itself, on a real Prometheus that scrapes a failing collector."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider

from deltaspan import semconv
from e2e._servers import HOST, until
from e2e._stack import Collector, Prometheus
from support.rules import rules

pytestmark = pytest.mark.usefixtures("built")

EXPRESSIONS = {
    rule.get("record", rule.get("alert")): rule["expr"] for rule in (*rules("record"), *rules("alert"))
}


class Refusing(BaseHTTPRequestHandler):
    """Refuses everything for good."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(400)
        self.end_headers()

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def refusing():
    with ThreadingHTTPServer((HOST, 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()


@pytest.fixture
def collector(refusing, tmp_path):
    folder = tmp_path / "collector"
    folder.mkdir()
    # Nobody is there in place of Jaeger, so that its queue fills.
    with Collector(folder, prometheus=refusing, TRACES_QUEUE_BYTES="300000", DECISION_WAIT="1h") as server:
        yield server


@pytest.fixture
def prometheus(collector, tmp_path):
    folder = tmp_path / "prometheus"
    folder.mkdir()
    with Prometheus(folder, {"collector:8888": f"{HOST}:{collector.metrics_port}"}) as server:
        yield server


def fill(collector):
    """Send failed verdicts until the collector counts one that it refused."""
    exporter = OTLPSpanExporter(endpoint=collector.grpc_endpoint, insecure=True, timeout=1)
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    while not collector.refused_spans:
        span = tracer.start_span("act", attributes={semconv.ACTION_OUTCOME: "fail", "padding": "x" * 20_000})
        span.end()
        exporter.export([span])
    exporter.shutdown()


def count_a_check(collector):
    """Export one metric point."""
    exporter = OTLPMetricExporter(endpoint=f"{collector.http_endpoint}/v1/metrics")
    provider = MeterProvider([PeriodicExportingMetricReader(exporter)], shutdown_on_exit=False)
    provider.get_meter("test").create_counter(semconv.METRIC_CHECKS).add(1)
    provider.shutdown()


def answers(prometheus, name):
    """Ask until the expression of a rule has a value above zero; return its labels and value."""
    return until(lambda: [found for found in prometheus.query(EXPRESSIONS[name]) if found[1] > 0])


def test_refused_lost_and_queued_items_of_a_collector_are_measured(collector, prometheus):
    fill(collector)
    count_a_check(collector)

    [(refused_by, refused)] = answers(prometheus, "job:refused_items:increase5m")
    [(lost_by, lost)] = answers(prometheus, "exporter:dropped_items:increase15m")
    filled = answers(prometheus, "exporter:queue_fill:max")

    assert (refused_by, refused >= 1) == ({"job": "collector"}, True)
    assert (lost_by, lost) == ({"job": "collector", "exporter": "otlp_http/prometheus"}, 1)
    assert [labels["exporter"] for labels, value in filled if value > 0.5] == ["otlp_grpc/jaeger"]


def test_only_a_killed_collector_is_reported_as_down(collector, prometheus):
    until(lambda: prometheus.query('up{job="collector"} == 1'))
    there = prometheus.query(EXPRESSIONS["DeltaCollectorDown"])

    collector.kill()

    assert there == []
    assert answers(prometheus, "DeltaCollectorDown") == [({"job": "collector"}, 1)]
