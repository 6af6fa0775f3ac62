"""Check the claims of coding agents against the repository: `python examples/coding`.

Each of four agents reports that the bug is fixed in one commit, and that the commit is pushed. One is honest.
The exit status is 0 if only the honest one passed.
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
"""The full id of a git object. The output shows its beginning."""


@expects(
    # `result` is the commit that the agent names. It must be the only new one, and none may be rewritten.
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
    """Print the agent's claim and the result of the checks."""
    print(f"{name}: “Fixed in {said[:8]}, and pushed.”")
    for check in report:
        if not check.passed:
            words = NAME.sub(r"\1", f"{check.outcome}: {check.explanation}")
            print(textwrap.fill(words, 100, initial_indent=" " * 4, subsequent_indent=" " * 10))
    if report.passed:
        print("    pass: one commit, these files, nothing rewritten")


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # a terminal without “ shows ?
    sys.exit(main())
