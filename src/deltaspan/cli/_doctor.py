"""The subcommand `deltaspan doctor`: find out why verdicts do not arrive."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, Final

from deltaspan.cli.doctor import examine

if TYPE_CHECKING:
    from argparse import _SubParsersAction

WELL: Final = 0
WRONG: Final = 1

_MARKS: Final = {"well": "✓", "note": "•", "wrong": "✗"}
_ABOUT: Final = """\
Check the settings of deltaspan and of OpenTelemetry in this environment, the propagators, and each
endpoint: whether it answers, whether it accepts a test span, metrics and logs, and whether its clock
and this one agree. Run it where the agent runs, with the environment of the agent.
"""
_STATUS: Final = """\
exit status:
  0  nothing is wrong; a line with • may be intended
  1  something is wrong: the line with ✗ names the problem and the remedy
  2  wrong command line
"""


def add_to(commands: _SubParsersAction[ArgumentParser]) -> None:
    """Add the subcommand to the command line."""
    parser = commands.add_parser(
        "doctor",
        help="find out why verdicts do not arrive",
        description=_ABOUT,
        epilog=_STATUS,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)


def _run(options: Namespace) -> int:  # noqa: ARG001  # there are no options
    status = WELL
    for diagnosis in examine():
        remedy = f": {diagnosis.remedy}" if diagnosis.remedy else ""
        sys.stdout.write(f"{_MARKS[diagnosis.level]} {diagnosis.problem}{remedy}\n")
        if diagnosis.level == "wrong":
            status = WRONG
    return status
