"""Prometheus' and Alertmanager's own tools judge the rules, their tests, the routes and the runbook."""

from __future__ import annotations

import re
import subprocess

import pytest
import yaml

from e2e._servers import required
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


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.name)
def test_promtool_accepts_the_rules(promtool, path):
    status, output = promtool("check", "rules", "--lint=all", "--lint-fatal", str(path))

    assert status == 0, output


@pytest.mark.parametrize("path", TEST_FILES, ids=lambda path: path.name)
def test_the_rules_do_what_their_tests_say(promtool, path):
    status, output = promtool("test", "rules", str(path))

    assert status == 0, output


def test_a_test_of_the_rules_that_expects_something_else_fails(promtool, tmp_path):
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
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
    path = tmp_path / "runbook.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "runbook", "rules": rules}]}))

    status, output = promtool("check", "rules", str(path))

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
