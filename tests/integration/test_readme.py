"""The README's examples run as they stand, in order, and print what it says they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import deltaspan

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(README.read_text(encoding="utf-8"))


@pytest.fixture
def _no_sdk(monkeypatch):
    """The one line that sets up an SDK for the process is shown, not run, in the tests' own process."""
    monkeypatch.setattr(deltaspan, "configure_telemetry", lambda name: None, raising=False)


@pytest.mark.usefixtures("_no_sdk")
def test_every_python_example_runs_after_those_above_it(blocks):
    code = [text for language, text in blocks if language == "python"]
    namespace = {"__name__": "readme"}

    for text in code:
        exec(compile(text, str(README), "exec", dont_inherit=True), namespace)  # noqa: S102  # our own README

    assert len(code) >= 7


@pytest.mark.usefixtures("_no_sdk")
def test_the_first_example_prints_the_observable_signal_shown_below_it(blocks, capsys):
    example, use, shown = [text for language, text in blocks if language in ("python", "text")][:3]
    exec(compile(example + use, str(README), "exec", dont_inherit=True), {"__name__": "readme"})  # noqa: S102

    assert capsys.readouterr().out == shown


def test_the_commands_it_names_are_targets_of_the_makefile(blocks):
    commands = [line for language, text in blocks if language == "sh" for line in text.splitlines()]
    named = {match[1] for line in commands if (match := re.search(r"\bmake (\w+)", line))}
    targets = re.findall(r"^([a-z0-9]+):", (README.parent / "Makefile").read_text(), re.MULTILINE)

    assert named
    assert named <= set(targets)
