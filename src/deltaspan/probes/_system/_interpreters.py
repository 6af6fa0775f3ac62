"""What is installed for an interpreter, this one or another."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from pathlib import Path
from typing import Final

__all__ = ["installed_here", "installed_of"]

_PATIENCE: Final = 60.0
"""Seconds that another interpreter may take."""
_SCRIPT: Final = """
import importlib.metadata, json
found = [(each.metadata["Name"], each.version) for each in importlib.metadata.distributions()]
print("\\n" + json.dumps(found))
"""


class InterpreterError(Exception):
    """Another interpreter could not say what is installed for it."""


def installed_here() -> dict[str, str]:
    """Return name → version of what this process could import."""
    # What was installed within the same tick of the file system's clock is not in the finder's memory. (Asked
    # of an instance, as before Python 3.12 it was no class method.)
    importlib.metadata.MetadataPathFinder().invalidate_caches()
    return _named([(each.metadata["Name"], each.version) for each in importlib.metadata.distributions()])


def installed_of(python: str) -> dict[str, str]:
    """Return name → version of what an interpreter, or that of a virtual environment, could import.

    Raises:
        InterpreterError: there is none, or it fails.
    """
    try:
        done = subprocess.run(  # noqa: S603  # the interpreter that the check names
            [_interpreter(python), "-I", "-B", "-X", "utf8", "-c", _SCRIPT],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InterpreterError(f"{python} did not answer within {_PATIENCE:g} seconds") from None
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InterpreterError(words[-1] if words else f"{python} ended with status {done.returncode}")
    return _named(json.loads(done.stdout.splitlines()[-1]))  # a .pth file may print something first


def _interpreter(python: str) -> str:
    """Return the path of an interpreter; of one that is on the PATH, its name."""
    folder = Path(python)
    if not folder.is_dir():
        return python
    for inside in ("bin/python", "Scripts/python.exe"):
        if (folder / inside).exists():
            return str(folder / inside)
    raise InterpreterError(f"{python} is a folder without an interpreter: name a virtual environment")


def _named(found: list[tuple[str | None, str]]) -> dict[str, str]:
    names: dict[str, str] = {}
    for name, version in found:
        if name:  # the first one on the path is the one that is imported
            names.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)
    return names
