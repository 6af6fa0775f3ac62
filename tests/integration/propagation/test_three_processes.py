"""One window over three processes: one captures, one acts, one verifies; one trace, one tag, one verdict."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "handover" / "orchestrator.py"
PROCESSES = ("orchestrator", "worker", "verifier")


class Told:
    """The output and spans of one run of the example."""

    def __init__(self, folder, *flags):
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "DELTASPAN_"))
        }
        done = subprocess.run(  # this interpreter with a script of ours
            [sys.executable, "-W", "error", str(EXAMPLE), str(folder), *flags],
            env=environ,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        self.report = json.loads(done.stdout)
        self.spans = {process: only_span(folder / f"{process}.jsonl") for process in PROCESSES}
        with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
            self.tags = [tag for (tag,) in connection.execute("SELECT causal_tag FROM orders ORDER BY id")]


def only_span(file):
    batches = [json.loads(line) for line in file.read_text().splitlines()]
    [span] = [
        span
        for batch in batches
        for resource in batch["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    span["attributes"] = {
        pair["key"]: next(iter(pair["value"].values()), None) for pair in span["attributes"]
    }
    return span


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return Told(tmp_path_factory.mktemp("honest"))


@pytest.fixture(scope="module")
def lying(tmp_path_factory):
    return Told(tmp_path_factory.mktemp("lying"), "--lie")


@pytest.fixture(params=["honest", "lying"])
def told(request):
    return request.getfixturevalue(request.param)


def test_all_three_are_in_one_trace(told):
    assert len({span["traceId"] for span in told.spans.values()}) == 1


def test_the_act_and_the_verdict_are_children_of_the_half_that_captured(told):
    captured = told.spans["orchestrator"]

    assert captured.get("parentSpanId", "") == ""
    assert [told.spans[name]["parentSpanId"] for name in ("worker", "verifier")] == [captured["spanId"]] * 2
    assert [told.spans[name]["name"] for name in PROCESSES] == [
        "verify restock",
        "execute_tool place_orders",
        "verify restock",
    ]


def test_both_halves_of_the_window_share_a_tag_and_the_action_is_its_child(told):
    captured, acted, verified = (told.spans[name]["attributes"] for name in PROCESSES)
    tag = captured["deltaspan.causal_tag.id"]

    assert verified["deltaspan.causal_tag.id"] == told.report["causal_tag"] == tag
    assert (acted["deltaspan.causal_tag.parent_id"], acted["deltaspan.causal_tag.root_id"]) == (tag, tag)


def test_the_window_has_exactly_one_verdict(told):
    captured, _, verified = (told.spans[name]["attributes"] for name in PROCESSES)

    assert ("deltaspan.action.outcome" in captured, captured["deltaspan.window.handed_over"]) == (False, True)
    assert verified["deltaspan.action.outcome"] == told.report["outcome"]
    assert "deltaspan.window.handed_over" not in verified


def test_an_honest_worker_passes(honest):
    assert honest.report["outcome"] == "pass"
    assert honest.report["checks"][0]["explanation"] == "orders changed by 2, as expected (1 → 3)"


def test_a_lying_worker_fails_by_its_own_report(lying):
    assert lying.report["outcome"] == "fail"
    assert lying.report["checks"][0]["explanation"] == (
        "expected orders to change by 2, but it changed by 0 (1 → 1)"
    )


def test_created_rows_are_stamped_with_the_tag_of_the_worker(honest):
    assert honest.tags == [None, *[honest.spans["worker"]["attributes"]["deltaspan.causal_tag.id"]] * 2]
