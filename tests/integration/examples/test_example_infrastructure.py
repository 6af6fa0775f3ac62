"""Infrastructure agents who all say the same over an HTTP API: the honest one is believed, and no other."""

from __future__ import annotations

import re

import pytest

from integration._examples import printed_by


@pytest.fixture(scope="module")
def told():
    """By agent, what the example tells of it."""
    parts = re.split(r"^(\w+): “done”\n", printed_by("infrastructure"), flags=re.MULTILINE)[1:]
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def test_the_honest_agent_is_believed(told):
    assert told["honest"] == "pass: one server more, and the firewall as it was"


def test_an_agent_that_orders_twice_is_caught(told):
    assert told["repeating"] == "fail: expected servers to change by 1, but it changed by 2 (3 → 5)"


def test_an_agent_that_opens_the_firewall_is_caught_by_what_it_did_not_mention(told):
    assert told["careless"].startswith("fail: expected firewall to stay unchanged, but it added 'open/0'")


def test_an_agent_that_works_for_another_team_is_caught(told):
    assert told["astray"] == "fail: expected servers to change by 1, but it changed by 0 (3 → 3)"
