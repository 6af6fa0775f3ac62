"""A small scripted agent: it calls a tool, believes what the tool says, and tells its user so."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltaspan import collect_reports

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltaspan import ActionReport


@dataclass(frozen=True, slots=True)
class Turn:
    """One call of one tool by one agent.

    Attributes:
        agent: who acted.
        claim: what the agent believes, in a word or two.
        said: what it told its user.
        report: what the delta says, whatever the agent said.
    """

    agent: str
    claim: str
    said: str
    report: ActionReport


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent with a name, and with faith in its tools."""

    name: str

    def use(self, tool: Callable[[str], str], argument: str) -> Turn:
        """Call a tool and put its answer in a sentence."""
        with collect_reports() as reports:
            try:
                claim, said = "done", f"Done: I {tool(argument)}."
            except Exception as error:
                claim, said = "no effect", f"Failed: {error}. Nothing was created; I will try again."
        if reports[0].outcome == "skipped":
            raise SystemExit("deltaspan is disabled (DELTASPAN_ENABLED): there is nothing to show")
        return Turn(self.name, claim, said, reports[0])


def at_once(*calls: Callable[[], Turn]) -> list[Turn]:
    """Make every call in a thread of its own, and return the turns in the order given."""
    with ThreadPoolExecutor(len(calls)) as threads:
        return [future.result() for future in [threads.submit(call) for call in calls]]
