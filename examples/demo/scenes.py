"""The scenes: an agent, its tool, and the verdict that each check must reach."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from threading import Barrier
from typing import TYPE_CHECKING

from agent import Agent, Turn, at_once
from tools import (
    clone_flow,
    clone_tagged_flow,
    create_flow,
    create_tagged_flow,
    import_flow,
    publish_flow,
    request_flow,
)
from world import count_flows, database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from deltaspan import CheckReport

ADA, BO = Agent("Ada"), Agent("Bo")
CONTENDED, ACTION_FAILED = "inconclusive: contended", "inconclusive: action_failed"


@dataclass(frozen=True, slots=True)
class Act:
    """The part of one agent in a scene.

    Attributes:
        agent: who acts.
        tool: the tool it calls.
        argument: the flow that it asks for.
        verdicts: by metric, the verdict that the check must reach; the demo fails when it does not.
    """

    agent: Agent
    tool: Callable[[str], str]
    argument: str
    verdicts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Scene:
    """One situation, in a fresh copy of the world.

    Attributes:
        number: its place in the demo.
        title: what it is about.
        truth: what really happens, which neither the agent nor a naive assertion knows.
        acts: who does what; several acts happen at once.
    """

    number: int
    title: str
    truth: str
    acts: tuple[Act, ...]

    def play(self, folder: Path) -> Performance:
        """Let the agents act on a new database in this folder."""
        meeting = Barrier(len(self.acts)) if len(self.acts) > 1 else None
        database.begin(folder / f"scene-{self.number}.db", meeting)
        before = count_flows()
        turns = at_once(*(partial(act.agent.use, act.tool, act.argument) for act in self.acts))
        return Performance(self, turns, before, count_flows())


@dataclass(frozen=True, slots=True)
class Performance:
    """The result of a scene.

    Attributes:
        scene: the scene.
        turns: what each agent said, and the report on what it did.
        flows_before: how many flows there were before anybody acted, all of them of others.
        flows_after: how many there are now.
    """

    scene: Scene
    turns: list[Turn]
    flows_before: int
    flows_after: int

    @property
    def naive(self) -> str:
        """The outcome of the absolute assertion that this library replaces."""
        return "pass" if self.flows_after >= 1 else "fail"

    def surprises(self) -> Iterator[str]:
        """Return one sentence for each unexpected result."""
        if self.naive != "pass":
            yield f"scene {self.scene.number}: the naive assertion did not pass"
        for act, turn in zip(self.scene.acts, self.turns, strict=True):
            found = {check.metric: verdict(check) for check in turn.report}
            if found != act.verdicts:
                where = f"scene {self.scene.number}, {turn.agent} with {turn.report.action}"
                yield f"{where}: the verdicts were {found}, and should have been {act.verdicts}"


def verdict(check: CheckReport) -> str:
    """Return outcome and reason of a check, as in `inconclusive: contended`."""
    return f"{check.outcome}: {check.reason}" if check.reason else check.outcome


SCENES = (
    Scene(
        1,
        "An honest tool",
        "one flow was created",
        (Act(ADA, create_flow, "invoices", {"active_flows": "pass", "users": "pass"}),),
    ),
    Scene(
        2,
        "Success reported, nothing done",
        "the INSERT was never committed",
        (Act(ADA, clone_flow, "payroll", {"active_flows": "fail", "users": "pass"}),),
    ),
    Scene(
        3,
        "Acted twice",
        "the first request had worked, only its reply was lost",
        (Act(ADA, request_flow, "invoices", {"active_flows": "fail", "users": "pass"}),),
    ),
    Scene(
        4,
        "Job done, something else damaged",
        "the clean-up deleted the drafts of every tenant",
        (Act(ADA, publish_flow, "invoices", {"active_flows": "pass", "drafts_of_others": "fail"}),),
    ),
    Scene(
        5,
        "Failed half-way, left a trace",
        "a step was committed before the source went away",
        (Act(ADA, import_flow, "invoices", {"active_flows": ACTION_FAILED, "orphan_steps": "fail"}),),
    ),
    Scene(
        6,
        "Two at once, not to be told apart",
        "each created one flow, at the same time",
        (
            Act(ADA, create_flow, "invoices", {"active_flows": CONTENDED, "users": "pass"}),
            Act(BO, create_flow, "refunds", {"active_flows": CONTENDED, "users": "pass"}),
        ),
    ),
    Scene(
        7,
        "Two at once, told apart by causal tag",
        "Ada created one flow and Bo none; in total it is one more, which both could claim",
        (
            Act(ADA, create_tagged_flow, "invoices", {"active_flows": "pass", "users": "pass"}),
            Act(BO, clone_tagged_flow, "payroll", {"active_flows": "fail", "users": "pass"}),
        ),
    ),
)
