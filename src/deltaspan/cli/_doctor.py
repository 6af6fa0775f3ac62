"""`deltaspan doctor`: what would keep verdicts from arriving."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, Final

from deltaspan.cli.doctor import examine

if TYPE_CHECKING:
    from argparse import _SubParsersAction

__all__ = ["add_to"]

WELL: Final = 0
WRONG: Final = 1

_MARKS: Final = {"well": "✓", "note": "•", "wrong": "✗"}
_ABOUT: Final = """\
Look at the settings of deltaspan and of OpenTelemetry in this environment, at the propagators, and at
each endpoint: whether it answers, whether it takes a test span, metrics and logs, and whether its clock
and this one agree. Run it where the agent runs, with the environment of the agent.
"""
_STATUS: Final = """\
exit status:
  0  nothing is wrong; a line with • may be meant, and may not
  1  something is wrong: the line with ✗ says what, and what to do
  2  wrong command line
"""


def add_to(commands: _SubParsersAction[ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "doctor",
        help="find out why verdicts do not arrive",
        description=_ABOUT,
        epilog=_STATUS,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)


def _run(options: Namespace) -> int:  # noqa: ARG001  # it has none
    status = WELL
    for finding in examine():
        cure = f": {finding.cure}" if finding.cure else ""
        sys.stdout.write(f"{_MARKS[finding.level]} {finding.what}{cure}\n")
        if finding.level == "wrong":
            status = WRONG
    return status
