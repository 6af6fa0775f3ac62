"""Overlapping windows of one scope: a change that several runs may have made is credited to none."""

import asyncio
import contextvars
import re
import threading
from functools import partial

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, observe, unchanged
from support.overlapping import run_in_threads, together
from support.reports import reports_of

CURES = (
    "so the change cannot be credited to one of them; scope the probe by an argument, tag what the action "
    "makes and let the probe take causal_tag, or hold a lock around the action"
)


def test_two_overlapping_changes_of_one_scope_are_contended(overlap):
    check = change("rows", overlap.read)
    reports = together(
        expects(check, name="left")(lambda: overlap.act(adds=1)),
        expects(check, name="right")(lambda: overlap.act(adds=1)),
    )

    assert [(report.outcome, report["rows"].reason) for report in reports] == [
        ("inconclusive", "contended")
    ] * 2


def test_the_explanation_names_the_other_window_its_tag_the_overlap_and_the_three_remedies(overlap):
    check = change("rows", overlap.read).by(1)
    left, right = together(
        expects(check, name="left")(overlap.act), expects(check, name="right")(overlap.act)
    )

    said = re.sub(r"[0-9.]+ ms", "N ms", left["rows"].explanation)
    assert said == (
        f"rows: the state did not change (0 → 0), but right (causal tag {right.causal_tag}) wrote to the "
        f"same scope for N ms of this window, {CURES}"
    )


def test_contended_reports_keep_both_states_and_the_delta(overlap):
    check = change("rows", overlap.read)
    reports = together(
        expects(check)(lambda: overlap.act(adds=1)), expects(check, name="other")(lambda: overlap.act(adds=1))
    )

    assert [(report["rows"].pre_state, report["rows"].post_state) for report in reports] == [(0, 2), (0, 2)]


def test_a_writer_that_came_and_went_inside_a_window_is_its_rival(overlap):
    entered, left = threading.Event(), threading.Event()

    def outer():
        entered.set()
        left.wait(60)

    def inner():
        overlap.count += 1

    check = change("rows", overlap.read)

    def run_inner():
        entered.wait(60)
        expects(check, name="inner")(inner)()
        left.set()

    reports = together(expects(check, name="outer")(outer), run_inner)

    assert [report["rows"].reason for report in reports] == ["contended", "contended"]


def test_consecutive_windows_do_not_contend(overlap):
    act = expects(change("rows", overlap.read).by(1))(lambda: setattr(overlap, "count", overlap.count + 1))
    with collect_reports() as reports:
        act()
        act()

    assert [report.outcome for report in reports] == ["pass", "pass"]


def test_windows_of_different_metrics_do_not_contend(overlap):
    reports = together(
        expects(change("left", lambda: 1).by(0))(overlap.act),
        expects(change("right", lambda: 1).by(0))(overlap.act),
    )

    assert [report.outcome for report in reports] == ["pass", "pass"]


def tenant_action(overlap):
    @expects(change("rows", lambda tenant: overlap.by_tenant.get(str(tenant), 0)).by(1))
    def act(tenant):
        overlap.wait()
        overlap.by_tenant[str(tenant)] = overlap.by_tenant.get(str(tenant), 0) + 1
        overlap.wait()

    return act


def test_windows_of_different_argument_values_do_not_contend(overlap):
    act = tenant_action(overlap)
    reports = together(lambda: act("acme"), lambda: act("other"))

    assert [report.outcome for report in reports] == ["pass", "pass"]
    assert [report["rows"].attribution for report in reports] == ["scoped", "scoped"]


def test_windows_of_one_argument_value_contend(overlap):
    act = tenant_action(overlap)
    reports = together(lambda: act("acme"), lambda: act("acme"))

    assert [report["rows"].reason for report in reports] == ["contended", "contended"]


@pytest.mark.parametrize(
    ("left", "right"),
    [(["a"], ["b"]), (["a"], ["a"]), ({"a": 1}, {"a": 2}), ([0] * 5000 + [1], [0] * 5000 + [2])],
    ids=["lists", "equal lists", "mappings", "long lists"],
)
def test_collections_contend_because_they_may_overlap(overlap, left, right):
    act = tenant_action(overlap)
    reports = together(lambda: act(left), lambda: act(right))

    assert [report["rows"].reason for report in reports] == ["contended", "contended"]


def test_a_self_parameter_alone_is_not_a_scope(overlap):
    class Agent:
        @expects(change("rows", lambda self: overlap.count))
        def act(self):
            overlap.act(adds=1)

    reports = together(Agent().act, Agent().act)

    assert [report["rows"].reason for report in reports] == ["contended", "contended"]


async def test_tasks_contend_like_threads():
    state = [0]

    @expects(change("rows", lambda: state[0]))
    async def act():
        await asyncio.sleep(0.01)
        state[0] += 1

    with collect_reports() as reports:
        await asyncio.gather(act(), act(), act())

    assert [report["rows"].reason for report in reports] == ["contended"] * 3


async def test_a_failed_probe_is_the_reason_rather_than_contention():
    def gone():
        raise OSError("gone")

    @expects(change("rows", gone))
    async def act():
        await asyncio.sleep(0)

    with collect_reports() as reports:
        await asyncio.gather(act(), act())

    assert [report["rows"].reason for report in reports] == ["baseline_failed"] * 2


# Runs that are no rivals --------------------------------------------------------------------------------


def test_an_ancestor_does_not_contend(overlap):
    check = change("rows", overlap.read)

    def add():
        overlap.count += 1

    inner = expects(check, name="inner")(add)
    reports = reports_of(expects(check, name="outer")(inner))

    assert [(report.action, report.outcome) for report in reports] == [("inner", "pass"), ("outer", "pass")]


def test_an_ancestor_in_another_thread_does_not_contend_if_the_context_was_copied(overlap):
    check = change("rows", overlap.read)

    def add():
        overlap.count += 1

    inner = expects(check, name="inner")(add)

    @expects(check, name="outer")
    def outer():
        run_in_threads(partial(contextvars.copy_context().run, inner))

    reports = reports_of(outer)

    assert [(report.action, report.outcome) for report in reports] == [("inner", "pass"), ("outer", "pass")]


def test_two_children_of_one_action_contend_with_each_other_and_not_with_it(overlap):
    check = change("rows", overlap.read)
    child = expects(check, name="child")(lambda: overlap.act(adds=1))

    @expects(check, name="parent")
    def parent():
        run_in_threads(*[partial(contextvars.copy_context().run, child) for _ in range(2)])

    reports = reports_of(parent)

    assert [(report.action, report["rows"].reason) for report in reports] == [
        ("child", "contended"),
        ("child", "contended"),
        ("parent", None),
    ]


def test_observations_and_changes_do_not_contend(overlap):
    reports = together(
        expects(observe("rows", overlap.read))(overlap.act),
        expects(change("rows", overlap.read))(lambda: overlap.act(adds=1)),
    )

    assert [report.outcome for report in reports] == ["observed", "pass"]


def test_an_unchanged_state_passes_even_if_another_run_could_have_written(overlap):
    reports = together(
        expects(unchanged("rows", overlap.read))(overlap.act),
        expects(change("rows", overlap.read).by(0))(overlap.act),
    )

    assert [report.outcome for report in reports] == ["pass", "pass"]


def test_a_state_that_must_stay_and_changed_is_contended_when_someone_else_wrote(overlap):
    reports = together(
        expects(unchanged("rows", overlap.read))(overlap.act),
        expects(change("rows", overlap.read))(lambda: overlap.act(adds=1)),
    )

    assert [(report.outcome, report["rows"].reason) for report in reports] == [
        ("inconclusive", "contended"),
        ("pass", None),
    ]


def test_a_state_that_must_stay_is_contended_by_any_other_open_window(overlap):
    reports = together(
        expects(unchanged("rows", overlap.read))(overlap.act),
        expects(unchanged("rows", overlap.read))(lambda: overlap.act(adds=1)),
    )

    assert [report["rows"].reason for report in reports] == ["contended", "contended"]


def test_a_probe_that_takes_the_causal_tag_attributes_by_it(overlap):
    made = []

    @expects(change("rows", lambda causal_tag: sum(tag == causal_tag for tag in made)).by(1))
    def act():
        overlap.wait()
        made.append(current_causal_tag())
        overlap.wait()

    reports = together(act, act)

    assert [(report.outcome, report["rows"].attribution) for report in reports] == [
        ("pass", "causal_tag")
    ] * 2


def test_the_rival_that_is_named_is_never_a_descendant(overlap):
    check = change("rows", overlap.read)
    stranger = expects(check, name="stranger")(lambda: None)
    child = expects(check, name="child")(lambda: None)

    @expects(check, name="parent")
    def parent():
        run_in_threads(partial(contextvars.Context().run, stranger))
        child()

    reports = reports_of(parent)

    assert [report.action for report in reports] == ["child", "parent"]
    assert "but stranger (causal tag" in reports[1]["rows"].explanation


# States that must stay ----------------------------------------------------------------------------------


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
async def test_no_run_fails_for_a_change_that_another_may_have_made(runs):
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


async def test_a_state_that_stayed_passes_beside_other_runs():
    reports = await place_orders("a", "b", "c", who="nobody")

    assert [report.outcome for report in reports] == ["pass"] * 3


async def test_a_run_without_overlap_is_judged_by_its_claim():
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


async def test_a_change_of_a_nested_action_belongs_to_the_outer_action():
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
