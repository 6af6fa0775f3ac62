"""The load on the whole stack: one process for each role of `_agents.py`, and the demo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from e2e._servers import until

if TYPE_CHECKING:
    from e2e._stack import Collector
    from e2e._whole import Whole

AGENTS = Path(__file__).with_name("_agents.py")
DEMO = Path(__file__).parents[2] / "examples" / "demo"
DEMO_VERDICTS = """
import json
from scenes import SCENES
print(json.dumps([(act.tool.__name__, act.verdicts) for scene in SCENES for act in scene.acts]))
"""
OF_URLLIB3 = "ignore:unclosed <socket.socket:ResourceWarning"
"""The warning of a process on a busy machine, which exports once before it ends.

urllib3 2 closes idle connections by a finalizer. Finalizers no longer run when the telemetry is shut down.
"""
SHORT = ("honest", "liar", "once", "boaster", "unsure", "slow")
"""The roles that act once and exit."""
LONG = ("steady", "idle")
"""The roles that keep running, and export once in each accelerated minute."""
TURNS = 3
"""The maximum number of attempts to run the load."""


class Run(NamedTuple):
    """One run of an action, as its report describes it.

    Attributes:
        action: its name.
        outcome: the worst of its checks.
        tag: its causal tag.
        seconds: how long it took, and how long verifying it took.
        checks: metric, outcome and reason of each.
    """

    action: str
    outcome: str
    tag: str
    seconds: tuple[float, float]
    checks: list[tuple[str, str, str | None]]


@dataclass(frozen=True, slots=True)
class Load:
    """The results of one load.

    Attributes:
        turn: set apart from other loads by this; part of each service's name.
        runs: by service, the runs of its actions.
        checks: how often (service, action, metric, outcome, reason) came out, the demo included.
    """

    turn: int
    runs: dict[str, list[Run]] = field(default_factory=dict)
    checks: Counter[tuple[str, str, str, str, str]] = field(default_factory=Counter)

    @property
    def jobs(self) -> str:
        """A pattern for the `job` label of every service of this load."""
        return f"agents/.+-{self.turn}"

    def tags(self, service: str, outcome: str) -> set[str]:
        """Return the causal tags of the runs of a service with this outcome."""
        return {run.tag for run in self.runs[service] if run.outcome == outcome}

    def verdicts(self, *outcomes: str, by: int) -> dict[tuple[str, ...], int]:
        """Return how many verdicts were one of these outcomes, by the first columns of `checks`."""
        found: Counter[tuple[str, ...]] = Counter()
        for key, times in self.checks.items():
            if key[3] in outcomes:
                found[key[:by]] += times
        return dict(found)


def started(collector: Collector, role: str, service: str, **variables: str) -> subprocess.Popen[str]:
    """Start a role of `_agents.py`, which sends everything over HTTP, or the demo, which sends over gRPC."""
    demo = role == "demo"
    return subprocess.Popen(
        [sys.executable, *([DEMO] if demo else [AGENTS, role])],
        env=environment(
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.grpc_endpoint if demo else collector.http_endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL="grpc" if demo else "http/protobuf",
            OTEL_RESOURCE_ATTRIBUTES="service.namespace=agents",
            OTEL_SERVICE_NAME=service,
            PYTHONIOENCODING="utf-8",
            PYTHONWARNINGS=f"error,{OF_URLLIB3}",
            **variables,
        ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def loaded(collector: Collector, turn: int) -> Load:
    """Run every short role and the demo at once, to their end."""
    load = Load(turn)
    roles = (*SHORT, "demo")
    running = {f"{role}-{turn}": started(collector, role, f"{role}-{turn}") for role in roles}
    ended = {service: (process.communicate(), process.returncode) for service, process in running.items()}
    for service, ((output, errors), status) in ended.items():
        assert (status, errors) == (0, ""), f"{service}: {output}{errors}"
        if not service.startswith("demo"):
            load.runs[service] = [Run(*json.loads(line)) for line in output.splitlines()]
    for service, runs in load.runs.items():
        for run in runs:
            load.checks.update((service, run.action, *check[:2], check[2] or "") for check in run.checks)
    for action, verdicts in demo_verdicts():
        for metric, verdict in verdicts.items():
            outcome, _, reason = verdict.partition(": ")
            load.checks[f"demo-{turn}", action, metric, outcome, reason] += 1
    return load


def loaded_and_counted(whole: Whole) -> Load:
    """Run the load until the rules have evaluated all of it.

    A rule that was not evaluated in time, which happens on a busy machine when a minute is half a second, has
    counted too little, and Prometheus says so. Then the load is run anew, under other names.

    Raises:
        AssertionError: it happened each time.
    """
    for turn in range(1, TURNS + 1):
        before = missed(whole)
        load = loaded(whole.collector, turn)
        counting = f'check:evaluated:increase5m{{job=~"{load.jobs}"}} > 0'
        checks = len({key[:3] for key in load.checks})
        all_counted = until(lambda query=counting, all_of=checks: len(whole.seen(query)) == all_of)
        is_over = until(lambda query=counting: not whole.prometheus.query(query))
        if all_counted and is_over and missed(whole) == before:
            return load
    raise AssertionError(f"Prometheus could not evaluate its rules in time, in none of {TURNS} attempts")


def missed(whole: Whole) -> float:
    """Return the number of rule evaluations that Prometheus missed."""
    found = whole.prometheus.query("sum(prometheus_rule_group_iterations_missed_total)")
    return sum(value for _, value in found)


def demo_verdicts() -> list[tuple[str, dict[str, str]]]:
    """Return the verdicts that the demo expects, by action and metric."""
    ran = subprocess.run(
        [sys.executable, "-c", DEMO_VERDICTS], cwd=DEMO, env=environment(), capture_output=True, check=True
    )
    verdicts: list[tuple[str, dict[str, str]]] = json.loads(ran.stdout)
    return verdicts


def environment(**variables: str) -> dict[str, str]:
    """Return ours without OpenTelemetry's and deltaspan's variables, and with these."""
    inherited = {
        key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DELTASPAN_"))
    }
    return inherited | variables
