"""Infrastructure agents who all say the same over an HTTP API: the honest one is believed, and no other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "infrastructure"


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
    parts = re.split(r"^(\w+): “done”\n", done.stdout, flags=re.MULTILINE)[1:]
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def test_the_honest_agent_is_believed(told):
    assert told["honest"] == "pass: one server more, and the firewall as it was"


def test_an_agent_that_orders_twice_is_caught(told):
    assert told["repeating"] == "fail: expected servers to change by 1, but it changed by 2 (3 → 5)"


def test_an_agent_that_opens_the_firewall_is_caught_by_what_it_did_not_mention(told):
    assert told["careless"].startswith("fail: expected firewall to stay unchanged, but it modified 'open'")


def test_an_agent_that_works_for_another_team_is_caught(told):
    assert told["astray"] == "fail: expected servers to change by 1, but it changed by 0 (3 → 3)"
