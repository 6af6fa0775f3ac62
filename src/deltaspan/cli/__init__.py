"""The command `deltaspan`, with one module per subcommand.

A subcommand is a module with `add_to(commands)`, which adds its parser and sets `run` in it. `COMMANDS` of
`_main` lists the modules. `run(options)` returns the exit status. It raises a DeltaspanError if it cannot do
its work.
"""

from deltaspan.cli._main import main

__all__ = ["main"]
