"""Docstrings begin with one short line in plain English, and their examples run as they stand."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
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
