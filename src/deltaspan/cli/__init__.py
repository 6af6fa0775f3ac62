"""The command `deltaspan`: one module a subcommand.

A subcommand is a module with `add_to(commands)`, which adds its parser and sets `run` in it, and is named in
`COMMANDS` of `_main`. `run(options)` returns the exit status; it raises a DeltaspanError when it cannot do
its work.
"""

from deltaspan.cli._main import main

__all__ = ["main"]
