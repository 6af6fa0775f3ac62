"""Packages that are installed for this or another Python interpreter."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from pathlib import Path
from typing import Final

_TIMEOUT_SECONDS: Final = 60.0
"""Seconds that another interpreter may take."""
_SCRIPT: Final = """
import importlib.metadata, json
found = [(each.metadata["Name"], each.version) for each in importlib.metadata.distributions()]
print("\\n" + json.dumps(found))
"""


class InterpreterError(Exception):
    """Another interpreter could not list its packages."""


def installed_here() -> dict[str, str]:
    """Return name → version of the packages of this process."""
    # The finder's cache misses an install within the same tick of the file system's clock. (Called on an
    # instance, since it is a class method only from Python 3.12 on.)
    importlib.metadata.MetadataPathFinder().invalidate_caches()
    return _by_name(
        [
            (distribution.metadata["Name"], distribution.version)
            for distribution in importlib.metadata.distributions()
        ]
    )


def installed_for(python: str) -> dict[str, str]:
    """Return name → version of the packages of another interpreter.

    Raises:
        InterpreterError: the interpreter is missing, or it fails.
    """
    try:
        process = subprocess.run(  # noqa: S603  # an interpreter that the user names
            [_interpreter_path(python), "-I", "-B", "-X", "utf8", "-c", _SCRIPT],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InterpreterError(f"{python} did not answer within {_TIMEOUT_SECONDS:g} seconds") from None
    if process.returncode:
        error_lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InterpreterError(
            error_lines[-1] if error_lines else f"{python} ended with status {process.returncode}"
        )
    return _by_name(json.loads(process.stdout.splitlines()[-1]))  # a .pth file may print lines first


def _interpreter_path(python: str) -> str:
    """Return the path of an interpreter, or its name on the PATH."""
    folder = Path(python)
    if not folder.is_dir():
        return python
    for inside in ("bin/python", "Scripts/python.exe"):
        if (folder / inside).exists():
            return str(folder / inside)
    raise InterpreterError(f"{python} is a folder without an interpreter: name a virtual environment")


def _by_name(distributions: list[tuple[str | None, str]]) -> dict[str, str]:
    names: dict[str, str] = {}
    for name, version in distributions:
        if name:  # the first one on the path is imported
            names.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)
    return names
