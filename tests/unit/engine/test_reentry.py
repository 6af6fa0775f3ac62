"""Signal handlers, finalizers and hooks call actions at any time: nothing waits for its own thread."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("_reentry.py")


@pytest.mark.parametrize(
    "action",
    [
        "plain",
        "scoped",
        "nested",
        "locked",
        "limited",
        "deferred",
        "polled",
        "generator",
        "window",
        "iterators",
        "generators",
        "log",
        "counted",
        "hook",
        "recorded",
    ],
)
def test_an_action_that_is_called_at_every_line_of_a_run_ends(action, tmp_path):
    log = tmp_path / "app.log"
    log.write_text("started\n")
    program = subprocess.run(
        [sys.executable, PROGRAM, action, log], capture_output=True, text=True, timeout=90, check=False
    )

    assert (program.stdout, program.returncode) == ("ended\n", 0), program.stderr
