"""Output of the demo: in colour on a terminal, plain elsewhere."""

from __future__ import annotations

import os
import sys
import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from scenes import verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scenes import Performance

    from deltaspan import ActionReport, CheckReport

WIDTH = 100
MARGIN = " " * 8
COLUMN = 40
SIGNAL_LINES = 7
"""A check's text begins with the Observable Signal: check, metric, passed, both states, both deltas."""

MARKS = {"pass": "✓", "fail": "✗", "inconclusive": "?"}
STYLES = {"bold": "1", "faint": "2", "✓": "32", "✗": "31", "?": "33"}


def wants_colour() -> bool:
    """Decide about colour by NO_COLOR, FORCE_COLOR, or the terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


class Console:
    """Prints scenes, then a table of them all.

    Args:
        colour: whether to use ANSI colours.
    """

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def opening(self) -> None:
        """Print an introduction to the comparison."""
        self.say("An agent works on a database that is full of the data of others. Two ways to check on it:")
        self.say("naive asks whether there is at least 1 flow; delta asks what this very action changed.")

    def scene(self, played: Performance) -> None:
        """Print one scene: the claim, the result of both checks, and the signal."""
        self._heading(f"{played.scene.number}  {played.scene.title}")
        self._entry("truth", played.scene.truth)
        for turn in played.turns:
            self._entry("agent", f"{turn.agent}: “{turn.said}”")
        before, after = played.flows_before, played.flows_after
        counted = f"there is at least 1 flow ({after} now, {before} of others before)"
        self._entry("naive", counted, MARKS[played.naive], f"{played.naive}ed".upper())
        for turn in played.turns:
            report, check = turn.report, deciding(turn.report)
            who = f"{turn.agent}'s " if len(played.turns) > 1 else ""
            words = report.outcome.upper() + (f": {check.reason}" if check.reason else "")
            self._entry("delta", f"{who}{report.action}: {report.explanation}", MARKS[report.outcome], words)
            self._signals(report)

    def summary(self, performances: Sequence[Performance]) -> None:
        """Print one line for each call of a tool."""
        self._heading("Summary")
        self.say(self._paint(f"   {'scene':<44}{'agent said':<12}{'naive':<10}delta", "faint"))
        for played in performances:
            for turn in played.turns:
                who = f": {turn.agent}" if len(played.turns) > 1 else ""
                scene = f"{played.scene.number}  {played.scene.title}{who}"
                mark = MARKS[played.naive]
                naive = self._paint(f"{mark} {played.naive}ed".ljust(10), mark)
                self.say(f"{scene:<47}{turn.claim:<12}{naive}{self._in_short(turn.report)}")
        naive = Counter(played.naive for played in performances for _ in played.turns)
        delta = Counter(turn.report.outcome for played in performances for turn in played.turns)
        self.say()
        self.say(f"naive: {_tally(naive)}, whatever happened")
        self.say(f"delta: {_tally(delta)}")

    def say(self, text: str = "") -> None:
        """Print a line."""
        print(text)

    def _heading(self, text: str) -> None:
        self.say()
        self.say(self._paint(f"── {text} ".ljust(WIDTH, "─"), "bold"))

    def _entry(self, label: str, text: str, mark: str = "", words: str = "") -> None:
        stamp = f"{mark} {words}" if mark else ""
        sentence = f"{stamp}  {text}" if mark else text
        unbroken = sentence.replace(" → ", "\xa0→\xa0")  # both states stay on one line
        first, *more = textwrap.wrap(unbroken, WIDTH - len(MARGIN), break_on_hyphens=False)
        self.say(
            f"{label:<{len(MARGIN)}}{self._paint(stamp, mark)}{first[len(stamp) :]}".replace("\xa0", " ")
        )
        for line in more:
            self.say(MARGIN + line.replace("\xa0", " "))

    def _signals(self, report: ActionReport) -> None:
        signals = [str(check).splitlines()[:SIGNAL_LINES] for check in report]
        for row in zip(*signals, strict=True):
            cells = [
                self._paint(line, MARKS[check.outcome] if line.startswith("passed:") else "faint")
                + " " * (COLUMN - len(line))
                for line, check in zip(row, report, strict=True)
            ]
            self.say(MARGIN + "".join(cells).rstrip())

    def _in_short(self, report: ActionReport) -> str:
        check, mark = deciding(report), MARKS[report.outcome]
        states = "" if check.reason else f"  {check.metric} {check.pre_state} → {check.post_state}"
        return self._paint(f"{mark} {verdict(check)}", mark) + states

    def _paint(self, text: str, style: str) -> str:
        return f"\033[{STYLES[style]}m{text}\033[0m" if self._colour and style else text


def _tally(outcomes: Counter[str]) -> str:
    return ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in MARKS if outcomes[outcome])


def deciding(report: ActionReport) -> CheckReport:
    """Return the first check whose outcome is that of the whole action."""
    return next(check for check in report if check.outcome == report.outcome)
