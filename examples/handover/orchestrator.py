"""Capture a baseline, then start a worker and a verifier process.

    python examples/handover/orchestrator.py FOLDER [--lie]

The shop's database and the spans of each process are written into FOLDER.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

from shop import CHECKS, WINDOW, create
from spans import write_spans

from deltaspan import window

HERE = Path(__file__).parent


def run(script: str, *args: str, **environ: str) -> str:
    """Run a script of this example, and return what it prints."""
    command = [sys.executable, str(HERE / script), *args]
    done = subprocess.run(  # noqa: S603  # this interpreter, with a script of this folder
        command, env={**os.environ, **environ}, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def main(folder: Path, *flags: str) -> None:
    """Open the window, and hand it over."""
    folder.mkdir(parents=True, exist_ok=True)
    provider = write_spans("orchestrator", folder)
    database = str(folder / "shop.sqlite")
    create(database)
    key = secrets.token_hex(32)  # the worker never sees it, so it cannot write a baseline of its own

    opened = window(WINDOW, *CHECKS, args={"database": database})
    opened.capture_baseline()
    environ = {name.upper(): value for name, value in opened.causal_headers().items()}
    text = opened.to_json(key=key)
    provider.shutdown()

    said = json.loads(run("worker.py", str(folder), database, *flags, **environ))
    job = json.dumps({"window": text, "result": said})
    print(run("verifier.py", str(folder), job, HANDOVER_KEY=key), end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
