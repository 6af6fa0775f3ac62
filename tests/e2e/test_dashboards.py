"""Prometheus' own tool reads every query of the dashboards, and Jaeger finds what they search for."""

from __future__ import annotations

import json
import subprocess
import sys
from uuid import uuid4

import pytest

from e2e._servers import required
from support.dashboards import expressions, searches

ORDERS = """
from deltaspan import change, configure_telemetry, expects

configure_telemetry()
expects(change("rows", lambda: 0).by(1), name="order tea")(print)()
expects(change("rows", lambda: 1 / 0).by(1), name="order tea")(print)()
"""


@pytest.fixture
def promtool():
    return required("promtool")


def checked(promtool, queries, folder):
    """Return what promtool says of queries, each as a rule."""
    rules = [{"record": f"query:number:n{position}", "expr": query} for position, query in enumerate(queries)]
    file = folder / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboards", "rules": rules}]}))
    return subprocess.run([promtool, "check", "rules", file], capture_output=True, text=True, check=False)


def test_promtool_reads_every_query(promtool, tmp_path):
    queries = [each.expr for each in expressions()]

    ended = checked(promtool, queries, tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert f"{len(queries)} rules found" in ended.stdout


def test_promtool_refuses_a_query_that_is_none(promtool, tmp_path):
    assert checked(promtool, ["sum(delta_checks_total"], tmp_path).returncode == 1


def test_every_search_finds_the_one_run_that_it_is_for(jaeger):
    service = f"orders-{uuid4()}"
    environment = jaeger.environment(OTEL_SERVICE_NAME=service)
    subprocess.run([sys.executable, "-c", ORDERS], env=environment, check=True, timeout=120)

    found = [
        (title, [span.tags["delta.action.outcome"] for span in trace.spans])
        for title, tags in searches(action="order tea")
        for trace in jaeger.find_traces(service, tags=tags)
    ]

    of_one = [("Latest failed runs", ["fail"]), ("Latest runs without a verdict", ["inconclusive"])]
    assert found == [*of_one, *of_one]
