"""Windows of equal scope that overlap: a change that two may have made is credited to neither."""

import asyncio
import re
import threading

import pytest

from deltaspan import change, collect_reports, expects
from support.overlapping import Overlap, together

CURES = (
    "so the change cannot be credited to one of them; scope the probe by an argument, tag what the action "
    "makes and let the probe take causal_tag, or hold a lock around the action"
)


@pytest.fixture
def overlap():
    return Overlap()


def test_two_overlapping_changes_of_one_scope_are_contended(overlap):
    check = change("rows", overlap.read)
    reports = together(
        expects(check, name="left")(lambda: overlap.act(adds=1)),
        expects(check, name="right")(lambda: overlap.act(adds=1)),
    )

    assert [(report.outcome, report["rows"].reason) for report in reports] == [
        ("inconclusive", "contended")
    ] * 2


def test_the_explanation_names_the_rival_its_tag_how_long_and_the_three_cures(overlap):
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
        left.wait(10)

    def inner():
        overlap.count += 1

    check = change("rows", overlap.read)

    def run_inner():
        entered.wait(10)
        expects(check, name="inner")(inner)()
        left.set()

    reports = together(expects(check, name="outer")(outer), run_inner)

    assert [report["rows"].reason for report in reports] == ["contended", "contended"]


def test_windows_one_after_the_other_do_not_contend(overlap):
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


def test_self_alone_is_no_scope(overlap):
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
