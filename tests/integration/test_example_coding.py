"""Coding agents who all say the same on a real repository: the honest one is believed, and no other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "coding"


@pytest.fixture(scope="module")
def told():
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "DELTASPAN_"))
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "utf8", str(EXAMPLE)],
        env=environ,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    parts = re.split(r"^(\w+): “Fixed in \w{8}, and pushed.”\n", done.stdout, flags=re.MULTILINE)[1:]
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def test_the_honest_agent_is_believed(told):
    assert told["honest"] == "pass: one commit, these files, nothing rewritten"


def test_an_agent_that_rewrites_history_is_caught_here_and_at_the_remote(told):
    assert re.findall(r"fail: expected (\w+)", told["rewriting"]) == ["commits", "pushed"]
    assert told["rewriting"].count("but it also removed '") == 2


def test_an_agent_that_bends_the_test_is_caught_by_the_file(told):
    assert re.findall(r"fail: expected (\w+)", told["bending"]) == ["files"]
    assert "but it also modified 'tests/test_shop.py'" in told["bending"]


def test_an_agent_that_does_nothing_is_caught_by_the_commit_that_it_names(told):
    assert re.findall(r"fail: expected (\w+)", told["pretending"]) == ["commits", "pushed", "files"]
    assert "adding '5f3c1d2e', 1 member in total, but it did not change" in told["pretending"]
