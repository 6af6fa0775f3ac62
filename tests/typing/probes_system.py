"""Which words fit what a probe of the machine reads."""

from pathlib import Path

from typing_extensions import assert_type

from deltaspan import change, unchanged
from deltaspan.checks import Change
from deltaspan.probes import system

assert_type(change("x", system.environment(["PATH"], digests=True)), Change[dict[str, str]])
assert_type(change("x", system.ports()), Change[dict[int, str]])

change("x", system.environment()).adding("MODE")
change("x", system.processes(arguments=True)).adding(count=1)
change("x", system.processes()).by(1)  # type: ignore[misc]
change("x", system.ports()).adding(8080)
change("x", system.packages("{venv}")).only("requests")
unchanged("x", system.packages(Path("venv")))
system.environment(True)  # type: ignore[arg-type]
system.packages(3)  # type: ignore[arg-type]
