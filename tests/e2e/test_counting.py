"""A real Prometheus counts what a real process pushed once before it was gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from e2e._servers import HOST, free_ports, required, running, until
from support.rules import rules

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
def prometheus(tmp_path_factory):
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
def ask(prometheus):
    """Return what asks for a query's labels and values, after three processes have lied once each."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DELTASPAN_"))
    }
    environment |= {
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"{prometheus}/api/v1/otlp/v1/metrics",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_RESOURCE_ATTRIBUTES": "service.namespace=agents",
        "OTEL_SERVICE_NAME": "shop",
        "OTEL_TRACES_EXPORTER": "none",
    }
    for _ in range(3):
        subprocess.run([sys.executable, "-c", LIAR], env=environment, check=True, timeout=180)

    def query(text):
        url = f"{prometheus}/api/v1/query?{urlencode({'query': text})}"
        with urlopen(url, timeout=60) as answer:  # noqa: S310  # loopback
            found = json.load(answer)["data"]["result"]
        return [(each["metric"], float(each["value"][1])) for each in found]

    until(lambda: len(query("last_over_time(delta_checks_total[5m])")) == 6)
    return query


def test_each_process_left_a_series_that_began_at_one(ask):
    # A state that did not change has no origin.
    raw = ask('last_over_time(delta_checks_total{delta_check_outcome="fail", delta_check_origin=""}[5m])')

    assert [value for _, value in raw] == [1, 1, 1]
    assert len({labels["instance"] for labels, _ in raw}) == 3
    assert ask('increase(delta_checks_total{delta_check_outcome="fail"}[5m])') == []


def test_the_rule_counts_each_of_them_once(ask):
    assert ask(EXPRESSIONS["check:failures:increase15m"]) == [
        ({"job": "agents/shop", "delta_action_name": "order", "delta_check_metric": "rows"}, 3)
    ]


def test_the_rule_counts_their_runs_by_bucket(ask):
    buckets = {
        labels["le"]: value
        for labels, value in ask(EXPRESSIONS["action:delta_verification_duration_seconds_bucket:increase5m"])
    }

    assert buckets["+Inf"] == 3


def test_the_job_reports(ask):
    assert ask(EXPRESSIONS["job:delta_checks:reporting"]) == [({"job": "agents/shop"}, 1)]
