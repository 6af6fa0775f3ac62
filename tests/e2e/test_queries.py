"""Rules, rule tests, routes and queries are accepted by promtool and amtool."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from uuid import uuid4

import pytest

from e2e._servers import required
from support.dashboards import expressions, searches
from support.rules import ROOT, RULE_FILES, RUNBOOK, TEST_FILES

ALERTMANAGER = ROOT / "deploy" / "alertmanager" / "alertmanager.yml"


def tool(name):
    """Return what runs a tool and gives its exit status and output; skip when it is not built."""
    path = required(name)

    def run(*arguments):
        ended = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    return run


@pytest.fixture(scope="module")
def promtool():
    return tool("promtool")


@pytest.fixture(scope="module")
def amtool():
    return tool("amtool")


def checked(promtool, queries, folder):
    """Check queries with promtool, each as a rule, and return its output."""
    rules = [{"record": f"query:number:n{position}", "expr": query} for position, query in enumerate(queries)]
    file = folder / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboards", "rules": rules}]}))
    return promtool("check", "rules", str(file))


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.name)
def test_promtool_accepts_the_rules(promtool, path):
    status, output = promtool("check", "rules", "--lint=all", "--lint-fatal", str(path))

    assert status == 0, output


@pytest.mark.parametrize("path", TEST_FILES, ids=lambda path: path.name)
def test_the_rules_pass_their_promtool_tests(promtool, path):
    status, output = promtool("test", "rules", str(path))

    assert status == 0, output


def test_a_rule_test_with_a_wrong_expectation_fails(promtool, tmp_path):
    text = (ROOT / "deploy/prometheus/tests/increments.yml").read_text()
    rules = ROOT / "deploy/prometheus/rules/deltaspan-recording.yml"
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(
        text.replace("../rules/deltaspan-recording.yml", str(rules)).replace("value: 5", "value: 6")
    )

    status, output = promtool("test", "rules", str(wrong))

    assert status == 1
    assert output.count("exp:") == 1, output


def test_promtool_understands_every_query_of_the_runbook(promtool, tmp_path):
    queries = re.findall(r"```promql\n(.*?)```", RUNBOOK.read_text(), re.DOTALL)

    status, output = checked(promtool, queries, tmp_path)

    assert len(queries) >= 10
    assert status == 0, output


def test_amtool_accepts_the_routes(amtool):
    status, output = amtool("check-config", str(ALERTMANAGER))

    assert status == 0, output


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        (["alertname=DeltaCheckBudgetBurn", "severity=critical"], "page"),
        (["alertname=DeltaCheckBudgetBurn", "severity=warning"], "ticket"),
        (["alertname=DeltaAgentIdle", "severity=info"], "seen"),
        (["alertname=DeltaWatchdog", "severity=none"], "heartbeat"),
        (["alertname=DeltaCollectorDown", "severity=critical"], "page"),
        (["alertname=SomebodyElses", "severity=unheard-of"], "ticket"),
        (["alertname=WithoutASeverity"], "ticket"),
    ],
)
def test_amtool_routes_an_alert_by_its_severity(amtool, labels, receiver):
    status, output = amtool(
        "config", "routes", "test", f"--config.file={ALERTMANAGER}", f"--verify.receivers={receiver}", *labels
    )

    assert status == 0, output


# Dashboards -------------------------------------------------------------------------------------------------

ORDERS = """
from deltaspan import change, configure_telemetry, expects

configure_telemetry()
expects(change("rows", lambda: 0).by(1), name="order tea")(print)()
expects(change("rows", lambda: 1 / 0).by(1), name="order tea")(print)()
"""


def test_promtool_reads_every_query(promtool, tmp_path):
    queries = [each.expr for each in expressions()]

    status, output = checked(promtool, queries, tmp_path)

    assert status == 0, output
    assert f"{len(queries)} rules found" in output


def test_promtool_refuses_an_invalid_query(promtool, tmp_path):
    assert checked(promtool, ["sum(deltaspan_checks_total"], tmp_path)[0] == 1


def test_every_trace_search_of_a_dashboard_finds_its_run(jaeger):
    service = f"orders-{uuid4()}"
    environment = jaeger.environment(OTEL_SERVICE_NAME=service)
    subprocess.run([sys.executable, "-c", ORDERS], env=environment, check=True, timeout=120)

    found = [
        (title, [span.tags["deltaspan.action.outcome"] for span in trace.spans])
        for title, tags in searches(action="order tea")
        for trace in jaeger.find_traces(service, tags=tags)
    ]

    of_one = [("Latest failed runs", ["fail"]), ("Latest runs without a verdict", ["inconclusive"])]
    assert found == [*of_one, *of_one]
