"""The recipe of docs/retrying.md is bounded, and repeats only what is shown not to have happened."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deltaspan import DeltaCheckFailed, DeltaInconclusive, change, expects

GUIDE = Path(__file__).parents[3] / "docs" / "retrying.md"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def recipe():
    namespace = {"__name__": "recipe"}
    exec(PYTHON.findall(GUIDE.read_text(encoding="utf-8"))[0], namespace)  # noqa: S102  # likewise
    return namespace["bounded"]


def test_it_ends_after_its_last_attempt(recipe):

    calls, prompts = [], []

    @expects(change("flows", lambda: 0).by(1), on_failure="raise")
    def create_flow():
        calls.append(1)

    with pytest.raises(DeltaCheckFailed):
        recipe(create_flow, prompts.append, attempts=3)

    assert (len(calls), len(prompts)) == (3, 2)


def test_it_never_repeats_what_is_inconclusive(recipe):

    calls, reads = [], iter([0])

    @expects(change("flows", lambda: next(reads)).by(1), on_inconclusive="raise")
    def create_flow():
        calls.append(1)

    with pytest.raises(DeltaInconclusive):
        recipe(create_flow, print)

    assert len(calls) == 1


def test_it_never_repeats_a_failure_beside_a_check_without_a_verdict(recipe):

    calls, reads = [], iter([0])

    @expects(change("flows", lambda: 0).by(1), change("users", lambda: next(reads)).by(1), on_failure="raise")
    def create_flow():
        calls.append(1)

    with pytest.raises(DeltaCheckFailed):
        recipe(create_flow, print)

    assert len(calls) == 1
