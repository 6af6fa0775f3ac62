"""Run an example as a reader would, in a separate process, with warnings as errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def printed_by(example, *arguments):
    """Return what an example prints; it must succeed, and say nothing else."""
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "DELTASPAN_"))
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "utf8", str(EXAMPLES / example), *arguments],
        env=environ,
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
