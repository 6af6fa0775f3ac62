"""Docstrings are short and their examples run, public names are kept, and rooms are entered by their door."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import types
from pathlib import Path

import pytest

import deltaspan
from support.ports import hide_other_servers

SOURCES = Path(deltaspan.__file__).parent
MODULES = [deltaspan.__name__, *(m.name for m in pkgutil.walk_packages(deltaspan.__path__, "deltaspan."))]
FILES = sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py"))

MAX_WORDS = 14
NAME_OF_MODULE = re.compile(r"^`[^`]+`: ")
QUESTION = re.compile(r"(what|how|whether|where|who|which|when)\b", re.IGNORECASE)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name, monkeypatch):
    hide_other_servers(monkeypatch)
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)

    assert result.failed == 0


@pytest.mark.parametrize("path", FILES)
def test_each_docstring_begins_with_one_short_imperative_or_noun_phrase(path):
    faults = [
        f"{path}:{line}: {first!r} {fault}"
        for line, first in first_lines((SOURCES / path).read_text(encoding="utf-8"))
        for fault in faults_of(first)
    ]

    assert faults == []


@pytest.mark.parametrize(
    ("first", "faults"),
    [
        ("Return the rows by key.", []),
        ("`rows`: " + "word " * MAX_WORDS, []),
        ("word " * (MAX_WORDS + 1), ["has 15 words, and 14 are the most"]),
        ("Return the rows; sorted.", ["has a semicolon"]),
        ("Whether the rows are sorted.", ["begins with a question"]),
        ("`rows`: what a table holds.", ["begins with a question"]),
        ("", ["is empty"]),
    ],
)
def test_a_first_line_that_is_long_or_a_question_is_a_fault(first, faults):
    assert faults_of(first) == faults


def first_lines(source):
    """Yield line number and first docstring line of each module, class and function."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring is not None:
                yield getattr(node, "lineno", 1), docstring.partition("\n")[0]


def faults_of(first):
    """Return the faults of a first line. The name of its module before a colon does not count."""
    text = NAME_OF_MODULE.sub("", first)
    words = len(text.split())
    faults = {
        "is empty": not words,
        f"has {words} words, and {MAX_WORDS} are the most": words > MAX_WORDS,
        "has a semicolon": ";" in text,
        "begins with a question": QUESTION.match(text) is not None,
    }
    return [fault for fault, is_true in faults.items() if is_true]


# Public names -----------------------------------------------------------------------------------------------

PUBLIC_MODULES = [name for name in MODULES[1:] if "._" not in name]
OF_NAMES_OR_MODULES_ALONE = {"deltaspan.semconv", "deltaspan.stamps"}


def test_all_is_sorted_and_each_name_exists():
    assert deltaspan.__all__ == sorted(deltaspan.__all__, key=lambda name: (name[0].islower(), name))
    assert all(hasattr(deltaspan, name) for name in deltaspan.__all__)


def test_the_package_shows_no_name_that_it_does_not_promise():
    shown = {
        name
        for name, value in vars(deltaspan).items()
        if not name.startswith("_") and name != "TYPE_CHECKING" and not isinstance(value, types.ModuleType)
    }

    assert shown <= set(deltaspan.__all__)


def test_the_version_is_the_one_of_the_build():
    from deltaspan._version import __version__  # noqa: PLC0415  # for the comparison

    assert deltaspan.__version__ == __version__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'expect'"):
        deltaspan.expect  # noqa: B018  # the look-up is tested


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_module_has_exports_and_a_docstring(name):
    module = importlib.import_module(name)

    if name not in OF_NAMES_OR_MODULES_ALONE:
        assert module.__all__
    assert module.__doc__


# Rooms ------------------------------------------------------------------------------------------------------

ROOMS = sorted(path.name for path in SOURCES.iterdir() if (path / "__init__.py").exists())


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
    path = SOURCES / room
    for part in parts[1:]:
        path /= part
        if part.startswith("_") and (path.is_dir() or path.with_suffix(".py").exists()):
            return True
    return False


@pytest.mark.parametrize("path", FILES)
def test_a_module_imports_no_private_module_of_another_room(path):
    own = Path(path).parts[0]
    trespasses = [
        name
        for name in imported_by(SOURCES / path)
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
