"""Collecting reports: those of a context, in order of completion."""

import asyncio
import contextvars
from functools import partial

import pytest

from deltaspan import change, collect_reports, expects, observe, window
from support.overlapping import run_in_threads

ROWS = observe("rows", lambda: 1)


def action(name, then=lambda: None):
    return expects(ROWS, name=name)(then)


def names(reports):
    return [report.action for report in reports]


def test_reports_come_in_order_of_completion():
    with collect_reports() as reports:
        action("outer", action("inner"))()
        action("next")()

    assert names(reports) == ["inner", "outer", "next"]


def test_the_list_fills_while_it_is_open():
    with collect_reports() as reports:
        before = list(reports)
        action("a")()
        between = names(reports)

    assert (before, between) == ([], ["a"])


def test_nothing_is_collected_after_the_block():
    with collect_reports() as reports:
        pass
    action("late")()

    assert reports == []


def test_collections_nest_and_an_inner_one_takes_nothing_from_an_outer_one():
    with collect_reports() as outer:
        action("a")()
        with collect_reports() as inner:
            action("b")()
        action("c")()

    assert names(inner) == ["b"]
    assert names(outer) == ["a", "b", "c"]


def test_an_action_that_raises_is_collected():
    with collect_reports() as reports, pytest.raises(ZeroDivisionError):
        action("a", lambda: 1 / 0)()

    assert names(reports) == ["a"]


def test_windows_are_collected_with_actions():
    with collect_reports() as reports, window("block", ROWS):
        action("a")()

    assert names(reports) == ["a", "block"]


async def test_actions_in_tasks_are_collected():
    async def later(turns, name):
        for _ in range(turns):
            await asyncio.sleep(0)
        action(name)()

    with collect_reports() as reports:
        await asyncio.gather(later(5, "second"), later(1, "first"))

    assert names(reports) == ["first", "second"]


async def test_tasks_that_collect_at_once_do_not_mix():
    async def run(name):
        with collect_reports() as reports:
            await asyncio.sleep(0)
            action(name)()
            await asyncio.sleep(0)
        return names(reports)

    assert await asyncio.gather(*map(run, "abc")) == [["a"], ["b"], ["c"]]


def test_actions_in_a_thread_are_collected_if_it_carries_the_context():
    with collect_reports() as reports:
        run_in_threads(
            partial(contextvars.copy_context().run, action("carried")),
            partial(contextvars.Context().run, action("alone")),
        )

    assert names(reports) == ["carried"]


async def test_a_disabled_action_is_collected_as_skipped(environ):
    environ(DELTASPAN_ENABLED="false")
    check = change("flows", lambda: 3).by(1)

    @expects(check)
    def act():
        return "acted"

    @expects(check)
    async def act_later():
        return "acted"

    @expects(check)
    def steps():
        yield "acted"

    with collect_reports() as reports:
        acted = [act(), await act_later(), *steps()]
        with window("block", check):
            pass
        async with window("async block", check):
            pass

    assert acted == ["acted"] * 3
    assert [(report.action, report.outcome) for report in reports] == [
        ("act", "skipped"),
        ("act_later", "skipped"),
        ("steps", "skipped"),
        ("block", "skipped"),
        ("async block", "skipped"),
    ]
    assert not any(report.passed for report in reports)


def test_an_action_that_a_probe_calls_is_not_collected():
    @expects(observe("flows", lambda: 3))
    def inner():
        return 3

    @expects(observe("flows", inner))
    def outer():
        return "acted"

    with collect_reports() as reports:
        outer()

    assert [report.action for report in reports] == ["outer"]
