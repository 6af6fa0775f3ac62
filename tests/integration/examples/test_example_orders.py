"""Agents that write to one table with others: the honest one is believed, and each lie is named."""

from __future__ import annotations

import re

import pytest

from integration._examples import printed_by


@pytest.fixture(scope="module")
def told():
    """By agent, what the example tells of it."""
    parts = re.split(r"^(\w+): “ordered”\n", printed_by("orders"), flags=re.MULTILINE)[1:]
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def test_the_honest_agent_is_believed_beside_what_others_write(told):
    assert told["honest"] == (
        "pass: orders added row 4 and kept other rows, as expected; 1 added by this run, 1 by others"
    )


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("idle", "it changed no row of its own; none by this run, 1 by others"),
        ("repeating", "it added 2 members (4, 5); 2 added by this run, 1 by others"),
        ("careless", "it changed no row of its own and it overwrote row 1; none by this run, 1 by others, "),
        ("tidy", "it also removed row 2; 1 added by this run, 1 by others, 1 untagged; "),
    ],
)
def test_each_of_the_others_is_caught(told, agent, said):
    demand = "fail: expected orders to change by adding 1 member, keeping other rows, but "

    assert told[agent].startswith(demand + said)
