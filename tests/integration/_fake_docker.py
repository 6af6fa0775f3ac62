"""A docker that starts nothing: `python _fake_docker.py ARGUMENTS...`, with answers from FAKE_*.

It stands in for what comes after the checks of deploy/stack.py, on machines without an engine.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from integration._compose import compose


def main(arguments: list[str]) -> int:
    """Answer as docker would."""
    if arguments == ["info"]:
        sys.stderr.write(os.environ.get("FAKE_INFO", ""))
        return 1 if "FAKE_INFO" in os.environ else 0
    if arguments == ["compose", "version"]:
        return 1 if "FAKE_NO_COMPOSE" in os.environ else 0
    if arguments[:2] == ["volume", "inspect"]:
        return 0 if "FAKE_VOLUME" in os.environ else 1
    wanted = arguments[3:]  # after: compose -f FILE
    if wanted[0] == "config":
        plan = compose(os.environ)
        mounts = os.environ.get("FAKE_MOUNTS", "").split()
        for service in plan["services"].values():
            service["volumes"] = [{"type": "bind", "source": path} for path in mounts]
        json.dump(plan, sys.stdout)
    elif wanted[0] == "ps":
        sys.stdout.writelines(f"{name}\n" for name in os.environ.get("FAKE_RUNNING", "").split())
    else:
        with Path(os.environ["FAKE_LOG"]).open("a") as log:
            log.write(" ".join(wanted) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
