"""Check the claims of coding agents against the repository: `python examples/coding`.

Each says: fixed in one commit, of which it gives the name, and pushed. One of the four is honest. The exit
status is 0 when deltaspan believed that one alone.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from agents import bending, honest, pretending, rewriting
from repository import Repository

from deltaspan import ActionReport, change, collect_reports, expects, unchanged
from deltaspan.probes import git

NAME = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{32}\b")
"""The full name of what git keeps; people know it by its beginning."""


@expects(
    # `result` is the commit that the agent names: it is there, it alone, and none was rewritten.
    change("commits", git.history("{repo}")).adding(lambda result: result, count=1),
    change("pushed", git.history("{repo}", "main", remote="origin")).adding(lambda result: result, count=1),
    change("files", git.files("{repo}")).only("src/*.py"),
    unchanged("other_branches", git.branches("{repo}", remote="origin")).ignoring("main"),
    unchanged("worktree", git.status("{repo}")),
)
def fix(repo: Path, agent: Callable[[Repository], str]) -> str:
    """Let an agent fix the bug, and return the commit that it reports."""
    return agent(Repository(repo))


def main() -> int:
    """Give each agent its own repository, and return the exit status."""
    believed = []
    with TemporaryDirectory(prefix="deltaspan-coding-") as folder, collect_reports() as reports:
        for agent in (honest, rewriting, bending, pretending):
            said = fix(Repository.create(Path(folder, agent.__name__)).path, agent)
            report = reports[-1]
            tell(agent.__name__, said, report)
            believed += [agent] * report.passed
    return 0 if believed == [honest] else 1


def tell(name: str, said: str, report: ActionReport) -> None:
    """Print what the agent said, and what came of it."""
    print(f"{name}: “Fixed in {said[:8]}, and pushed.”")
    for check in report:
        if not check.passed:
            words = NAME.sub(r"\1", f"{check.outcome}: {check.explanation}")
            print(textwrap.fill(words, 100, initial_indent=" " * 4, subsequent_indent=" " * 10))
    if report.passed:
        print("    pass: one commit, these files, nothing rewritten")


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # a terminal that knows no “ shows a ? and goes on
    sys.exit(main())
