"""A decorated async generator that is not run to its end, and the event loop that closes it."""

import asyncio
import contextlib
import gc
import logging

import pytest

from deltaspan import (
    change,
    collect_reports,
    current_causal_tag,
    expects,
    observe,
    unchanged,
)
from support.later_flows import Flows, exhausted
from support.process import open_windows


@pytest.fixture
def flows():
    return Flows()


@pytest.fixture
def fill(flows):
    @expects(change("flows", flows.count_later).by(2))
    async def fill(*names):
        for name in names:
            await asyncio.sleep(0)
            flows.rows.append(name)
            yield name

    return fill


async def closed(generator):
    await anext(generator)
    await generator.aclose()


async def left_by_break(generator):
    async with contextlib.aclosing(generator):
        async for _ in generator:
            break


async def dropped(generator):
    async for _ in generator:
        break
    del generator
    for _ in range(5):
        await asyncio.sleep(0)  # the event loop closes what was dropped, in a task of its own


LEFT = pytest.mark.parametrize("left", [closed, left_by_break, dropped])


@LEFT
async def test_one_that_is_left_is_abandoned_and_no_async_probe_is_read_again(flows, left):
    @expects(change("later", flows.count_later), change("now", flows.count), observe("users", lambda: 1))
    async def act():
        while True:
            flows.rows.append(1)
            yield

    with collect_reports() as reports:
        await left(act())

    found = [(check.outcome, check.reason, check.pre_state, check.post_state) for check in reports[0]]
    assert found == [
        ("inconclusive", "abandoned", 0, None),
        ("inconclusive", "abandoned", 0, 1),
        ("inconclusive", "abandoned", 1, 1),
    ]
    assert flows.reads == 1
    assert open_windows() == {}


@LEFT
async def test_a_check_that_counts_what_was_yielded_is_judged(flows, left):
    @expects(change("flows", flows.count).by(lambda yielded: yielded), on_failure="raise")
    async def act():
        while True:
            flows.rows.append(1)
            yield

    with collect_reports() as reports:
        await left(act())

    assert reports[0].outcome == "pass"


@LEFT
async def test_nothing_is_logged_when_one_is_left(flows, left, caplog):
    @expects(change("flows", flows.count))
    async def act():
        while True:
            await asyncio.sleep(0)
            yield

    with caplog.at_level(logging.INFO):
        await left(act())
        gc.collect()

    assert caplog.records == []
    assert current_causal_tag() is None


async def test_cleaning_up_may_wait(flows):
    @expects(change("flows", flows.count).by(lambda yielded: yielded))
    async def act():
        try:
            yield
        finally:
            await asyncio.sleep(0)
            flows.rows.append(1)

    with collect_reports() as reports:
        await closed(act())

    assert reports[0].outcome == "pass"


async def test_one_that_is_cancelled_within_a_step_is_reported(flows):
    @expects(change("later", flows.count_later), unchanged("users", lambda: 1))
    async def act():
        yield 1
        await asyncio.sleep(60)

    with collect_reports() as reports:
        task = asyncio.ensure_future(exhausted(act()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert [(check.outcome, check.reason) for check in reports[0]] == [
        ("inconclusive", "action_failed"),
        ("pass", None),
    ]
    assert flows.reads == 1


async def test_one_whose_consumer_is_cancelled_between_steps_is_abandoned(flows):
    @expects(change("flows", flows.count))
    async def act():
        flows.rows.append(1)
        yield 1
        yield 2

    async def consume():
        async with contextlib.aclosing(act()) as acting:
            async for _ in acting:
                await asyncio.sleep(60)

    with collect_reports() as reports:
        task = asyncio.ensure_future(consume())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert [report["flows"].reason for report in reports] == ["abandoned"]
