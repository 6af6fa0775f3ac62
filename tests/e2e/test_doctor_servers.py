"""What `deltaspan doctor` says of the real collector, as it ships, and of a Jaeger alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from e2e._load import environment
from e2e._stack import Collector


@pytest.fixture(scope="module")
def collector(built, tmp_path_factory):
    with Collector(tmp_path_factory.mktemp("collector")) as server:
        yield server


def doctor(endpoint, protocol):
    ran = subprocess.run(
        [sys.executable, "-m", "deltaspan.cli", "doctor"],
        env=environment(
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
            OTEL_SERVICE_NAME="doctor",
        ),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ran.returncode, [line for line in ran.stdout.splitlines() if not line.startswith("• the clock")]


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_the_doctor_finds_nothing_wrong_with_the_collector(collector, protocol):
    endpoint = collector.grpc_endpoint if protocol == "grpc" else collector.http_endpoint

    status, lines = doctor(endpoint, protocol)

    assert status == 0, lines
    assert [line for line in lines if not line.startswith("✓")] == []
    assert len([line for line in lines if f"over {protocol} to {endpoint} was accepted" in line]) == 3


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_the_doctor_says_which_signals_a_jaeger_alone_does_not_take(jaeger, protocol):
    endpoint = jaeger.grpc_endpoint if protocol == "grpc" else jaeger.http_endpoint

    status, lines = doctor(endpoint, protocol)

    assert status == 1
    assert f"✓ a test span over {protocol} to {endpoint} was accepted" in lines
    wrong = [line for line in lines if line.startswith("✗")]
    assert [line.split(f" over {protocol}")[0] for line in wrong] == [
        "✗ an export of metrics",
        "✗ an export of logs",
    ]
    assert all("a Jaeger alone takes traces only" in line for line in wrong)
