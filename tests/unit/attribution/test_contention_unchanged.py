"""A state that was to stay, and changed: any run whose window was open may have done it."""

import asyncio
import contextvars
import re

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, observe, unchanged


async def place_orders(*customers, who="culprit"):
    """Place orders at once, of which one removes a user; return the reports of all."""
    orders, users = [], {"ada", "bob"}

    @expects(
        change("mine", lambda causal_tag: sum(order == causal_tag for order in orders)).by(1),
        unchanged("users", lambda: users),
    )
    async def place(customer):
        await asyncio.sleep(0)
        orders.append(current_causal_tag())
        if customer == who:
            users.discard("ada")
        await asyncio.sleep(0)

    with collect_reports() as reports:
        await asyncio.gather(*map(place, customers))
    return reports


@pytest.mark.parametrize("runs", [3, 50])
async def test_no_run_is_accused_of_what_another_may_have_done(runs):
    reports = await place_orders("culprit", *["innocent"] * (runs - 1))

    assert {(report.outcome, report["mine"].outcome, report["users"].reason) for report in reports} == {
        ("inconclusive", "pass", "contended")
    }


async def test_the_explanation_names_three_runs_and_counts_the_rest():
    reports = await place_orders("culprit", *["innocent"] * 9)
    said = reports[0]["users"].explanation

    assert re.search(r"but 9 other runs had a window of the same scope open during this window: ", said)
    assert len(re.findall(r"place \(causal tag [0-9a-f-]{36}\) for [0-9.]+ ms", said)) == 3
    assert ", 6 more, so nobody knows which run changed it; " in said


async def test_a_state_that_stayed_passes_whoever_was_there():
    reports = await place_orders("a", "b", "c", who="nobody")

    assert [report.outcome for report in reports] == ["pass"] * 3


async def test_a_run_that_was_alone_is_held_to_its_claim():
    [report] = await place_orders("culprit")

    assert (report.outcome, report["users"].outcome) == ("fail", "fail")


async def test_an_observing_run_may_have_changed_it_too():
    users = {"ada", "bob"}

    @expects(observe("users", lambda: users))
    async def look():
        await asyncio.sleep(0)
        users.discard("ada")

    @expects(unchanged("users", lambda: users))
    async def wait():
        for _ in range(3):
            await asyncio.sleep(0)

    with collect_reports() as reports:
        await asyncio.gather(wait(), look())

    assert {report.action: report["users"].reason for report in reports} == {
        "wait": "contended",
        "look": None,
    }


async def test_what_a_nested_action_changed_is_the_outer_ones_own():
    users = {"ada", "bob"}

    @expects(observe("users", lambda: users))
    async def remove():
        users.discard("ada")

    @expects(unchanged("users", lambda: users))
    async def outer():
        await remove()

    with collect_reports() as reports:
        await outer()

    assert [(report.action, report.outcome) for report in reports] == [
        ("remove", "observed"),
        ("outer", "fail"),
    ]


async def test_a_run_that_came_and_went_before_many_nested_ones_still_counts():
    users = {"ada", "bob"}
    stranger = expects(observe("users", lambda: users))(lambda: users.discard("ada"))
    child = expects(observe("users", lambda: users), name="child")(lambda: None)

    @expects(unchanged("users", lambda: users))
    async def outer():
        contextvars.Context().run(stranger)
        for _ in range(20):
            child()

    with collect_reports() as reports:
        await outer()

    assert reports[-1]["users"].reason == "contended"
    assert "1 other run had a window of the same scope open" in reports[-1]["users"].explanation
