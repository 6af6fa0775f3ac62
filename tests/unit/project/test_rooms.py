"""A room is entered by its door: its private modules are imported by itself alone."""

import ast
from pathlib import Path

import pytest

import deltaspan

SOURCE = Path(deltaspan.__file__).parent
ROOMS = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())
MODULES = sorted(SOURCE.rglob("*.py"))


def imported_by(module):
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_private_module_of(room, name):
    """Return whether a dotted name goes through the door of a room to one of its private modules."""
    package, *parts = name.split(".")
    if package != "deltaspan" or parts[:1] != [room]:
        return False
    path = SOURCE / room
    for part in parts[1:]:
        path /= part
        if part.startswith("_") and (path.is_dir() or path.with_suffix(".py").exists()):
            return True
    return False


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_module_imports_no_private_module_of_another_room(module):
    own = module.relative_to(SOURCE).parts[0]
    trespasses = [
        name
        for name in imported_by(module)
        for room in ROOMS
        if room != own and is_private_module_of(room, name)
    ]

    assert trespasses == []


@pytest.mark.parametrize(
    ("name", "is_private"),
    [
        ("deltaspan._state._numbers", False),
        ("deltaspan._state.diff._equality.equal", True),
        ("deltaspan._state.codec.encode", False),
        ("deltaspan._state.freeze", False),
        ("deltaspan.checks._check", True),
        ("opentelemetry._logs", False),
    ],
)
def test_the_rule_tells_private_modules_from_names(name, is_private):
    assert any(is_private_module_of(room, name) for room in ROOMS) is is_private
