"""docs/probes.md has every probe that there is, with the arguments that it takes."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "probes.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^\| \*\*`(\w+)`\*\* (.*?)(?=^\| \*\*|^$)", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"`(\w+)\(([^)`]*)\)`")
MODULES = sorted(
    path.stem
    for path in (ROOT / "src" / "deltaspan" / "probes").glob("*.py")
    if not path.stem.startswith("_")
)


@pytest.mark.parametrize("module", MODULES)
def test_each_function_is_in_the_table_of_its_module(module):
    table = dict(SECTION.findall(PAGE))
    there = import_module(f"deltaspan.probes.{module}")
    functions = {name for name in there.__all__ if inspect.isfunction(getattr(there, name))}

    told = {}
    cells = [line.split("|")[1] for line in table[module].splitlines() if line.startswith("| `")]
    for name, arguments in CALL.findall(" ".join(cells)):
        told.setdefault(name, set()).update(re.findall(r"\w+(?=[,=]|$)", re.sub(r"=\w+", "=", arguments)))

    assert set(told) == functions
    for name, arguments in told.items():
        assert arguments <= set(inspect.signature(getattr(there, name)).parameters), name
