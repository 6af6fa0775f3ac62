"""Parse the command line, run the subcommand, and report its errors."""

from __future__ import annotations

import io
import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Final

from deltaspan._version import __version__
from deltaspan.cli import _doctor, _tree
from deltaspan.exceptions import DeltaspanError

COMMANDS: Final = (_doctor, _tree)

UNUSABLE: Final = 2
"""The status of a command that could not do its work, and of argparse for a wrong command line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        arguments: the words after `deltaspan`. By default those of this process.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ✓ shows ?
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except DeltaspanError as error:
        sys.stderr.write(f"deltaspan: {error}\n")
        return UNUSABLE
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does. The output at exit must not fail either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNUSABLE
    return status


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="deltaspan", description="Prove what an agent's actions changed.")
    parser.add_argument("--version", action="version", version=f"deltaspan {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    return parser
