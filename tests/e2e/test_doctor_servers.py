"""`deltaspan doctor` against the real collector as shipped, and against Jaeger alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from e2e._load import environment
from e2e._servers import HOST
from e2e._stack import Collector, Prometheus


@pytest.fixture(scope="module")
def collector(built, tmp_path_factory):
    with Collector(tmp_path_factory.mktemp("collector")) as server:
        yield server


def doctor(endpoint, protocol, **variables):
    ran = subprocess.run(
        [sys.executable, "-m", "deltaspan.cli", "doctor"],
        env=environment(
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
            OTEL_SERVICE_NAME="doctor",
            **variables,
        ),
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    return ran.returncode, [line for line in ran.stdout.splitlines() if not line.startswith("• the clock")]


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_the_doctor_accepts_the_collector_as_shipped(collector, protocol):
    endpoint = collector.grpc_endpoint if protocol == "grpc" else collector.http_endpoint

    status, lines = doctor(endpoint, protocol)

    assert status == 0, lines
    assert [line for line in lines if not line.startswith("✓")] == []
    assert len([line for line in lines if f"over {protocol} to {endpoint} was accepted" in line]) == 3


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_the_doctor_names_the_signals_that_jaeger_does_not_accept(jaeger, protocol):
    endpoint = jaeger.grpc_endpoint if protocol == "grpc" else jaeger.http_endpoint

    status, lines = doctor(endpoint, protocol)

    assert status == 1
    assert f"✓ a test span over {protocol} to {endpoint} was accepted" in lines
    wrong = [line for line in lines if line.startswith("✗")]
    assert [line.split(f" over {protocol}")[0] for line in wrong] == [
        "✗ an export of metrics",
        "✗ an export of logs",
    ]
    assert all("Jaeger alone accepts traces only" in line for line in wrong)


def test_a_jaeger_that_receives_only_traces_passes_with_a_note_on_the_missing_metrics(jaeger):
    status, lines = doctor(
        jaeger.http_endpoint, "http/protobuf", OTEL_METRICS_EXPORTER="none", OTEL_LOGS_EXPORTER="none"
    )

    (note,) = [line for line in lines if not line.startswith("✓")]
    assert note.startswith("• OTEL_METRICS_EXPORTER is none: the counts that alerts need are not sent: ")
    assert status == 0


def test_the_query_port_of_jaeger_is_reported_as_not_an_otlp_receiver(jaeger):
    endpoint = f"http://{HOST}:{jaeger.query_port}"

    status, lines = doctor(endpoint, "http/protobuf")

    assert status == 1
    wrong = [line for line in lines if line.startswith("✗")]
    assert len(wrong) == 3
    assert all("the server is not an OTLP receiver (200, text/html): correct OTEL_" in line for line in wrong)


def test_the_health_port_of_the_collector_is_reported_as_not_an_otlp_receiver(collector):
    status, lines = doctor(f"http://{HOST}:{collector.health_port}", "http/protobuf")

    assert status == 1
    wrong = [line for line in lines if line.startswith("✗")]
    assert len(wrong) == 3
    assert all("the server is not an OTLP receiver (200, application/json)" in line for line in wrong)


def test_a_prometheus_accepts_metrics_with_an_answer_that_is_not_otlp(built, tmp_path):
    with Prometheus(tmp_path) as server:
        status, lines = doctor(
            f"{server.url}/api/v1/otlp",
            "http/protobuf",
            OTEL_TRACES_EXPORTER="console",
            OTEL_LOGS_EXPORTER="none",
        )

    assert status == 0, lines
    (note,) = [line for line in lines if not line.startswith("✓")]
    assert note.startswith("• an export of metrics over http/protobuf to ")


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_https_to_a_collector_without_tls_is_reported(collector, protocol):
    endpoint = collector.grpc_endpoint if protocol == "grpc" else collector.http_endpoint

    status, lines = doctor(endpoint.replace("http", "https"), protocol)

    assert status == 1
    assert lines[-1].endswith(
        f"does not use TLS, but OTEL_EXPORTER_OTLP_ENDPOINT requires it: write {endpoint} there"
    )
