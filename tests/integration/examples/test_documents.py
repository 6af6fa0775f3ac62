"""The examples of the README and of every document run as they stand, in order, and print what they show."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import deltaspan
from deltaspan._config import forget_settings

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"
EXAMPLES = ROOT / "examples" / "README.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(document.read_text(encoding="utf-8"))


@pytest.fixture
def _unchanged_process(monkeypatch):
    """Examples that set up an SDK or change settings do so for themselves alone."""
    monkeypatch.setattr(deltaspan, "configure_telemetry", lambda name: None, raising=False)
    yield
    forget_settings()


@pytest.mark.usefixtures("_unchanged_process")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_python_example_runs_after_those_above_it_and_prints_what_is_shown(document, capsys):
    namespace = {"__name__": "document"}
    printed = ""

    for language, text in blocks(document):
        if language == "python":
            exec(compile(text, str(document), "exec", dont_inherit=True), namespace)  # noqa: S102  # our own
            printed = capsys.readouterr().out
        elif language == "text":
            assert printed == text


def test_the_readme_shows_code_and_what_it_prints():
    assert {"python", "text", "sh"} <= {language for language, _ in blocks(README)}


def test_make_examples_runs_examples_that_are_in_its_table():
    command = ["make", "--dry-run", "examples"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    run = re.search(r"for each in ([a-z ]+); do", said)[1].split()
    shown = re.findall(r"^\| `examples/(\w+)` \|", EXAMPLES.read_text(encoding="utf-8"), re.MULTILINE)

    assert set(run) < set(shown)
    assert sorted(shown) == sorted(path.name for path in (ROOT / "examples").iterdir() if path.is_dir())


@pytest.mark.parametrize(
    "document", [README, EXAMPLES, ROOT / "CONTRIBUTING.md"], ids=lambda path: str(path.relative_to(ROOT))
)
def test_the_commands_that_a_document_names_are_targets_of_the_makefile(document):
    text = document.read_text(encoding="utf-8")
    commands = [
        line for language, block in blocks(document) if language == "sh" for line in block.splitlines()
    ]
    commands += re.findall(r"`(make [^`]+)`", text)
    named = {match[1] for line in commands if (match := re.search(r"\bmake (\w+)", line))}
    targets = re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert named
    assert named <= set(targets)
