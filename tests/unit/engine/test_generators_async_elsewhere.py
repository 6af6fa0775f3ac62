"""An async generator that ends elsewhere than where it was stepped, and what a plain function may return."""

import asyncio
import contextlib
import gc
import logging
from contextvars import copy_context

import pytest

from deltaspan import (
    change,
    collect_reports,
    current_causal_tag,
    expects,
    observe,
)
from deltaspan._workers import drain
from support.later_flows import Flows, exhausted


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


def test_an_event_loop_that_shuts_down_closes_each_once(flows):
    faults, cleaned, kept = [], [], []

    @expects(observe("flows", flows.count))
    async def act():
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            cleaned.append(1)

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context["message"]))
        kept.append(act())
        await anext(kept[0])

    with collect_reports() as reports:
        asyncio.run(main())

    assert (faults, cleaned) == ([], [1])
    assert [report.outcome for report in reports] == ["inconclusive"]


def test_one_that_is_stepped_by_hand_and_dropped_is_abandoned(flows):
    @expects(change("flows", flows.count))
    async def act():
        while True:
            yield

    def leave():
        acting = act()
        with pytest.raises(StopIteration):
            acting.asend(None).send(None)

    with collect_reports() as reports:
        leave()
        gc.collect()
        assert drain()

    assert [report["flows"].reason for report in reports] == ["abandoned"]


async def test_one_that_is_stepped_in_several_contexts_logs_nothing(flows, caplog):
    @expects(observe("flows", flows.count))
    async def act():
        yield 1
        yield 2

    acting = act()
    with caplog.at_level(logging.DEBUG, "opentelemetry"):
        for _ in range(2):
            # A task has a context of its own.
            await asyncio.get_running_loop().create_task(anext_of(acting))
        await acting.aclose()

    assert caplog.records == []


async def anext_of(generator):
    return await anext(generator)


async def test_an_async_generator_object_that_a_plain_function_returns_is_judged_at_its_end(flows):
    async def fill():
        flows.rows.append(1)
        yield 1

    act = expects(change("flows", flows.count).by(1))(lambda: fill())
    with collect_reports() as reports:
        assert await exhausted(act()) == [1]

    assert [report.outcome for report in reports] == ["pass"]


async def test_an_async_context_manager_made_of_one_is_a_window_around_its_block(flows):
    @contextlib.asynccontextmanager
    @expects(change("flows", flows.count_later).by(1))
    async def opened():
        yield flows

    with collect_reports() as reports:
        async with opened() as found:
            found.rows.append(1)
            assert current_causal_tag() is None

    assert reports[0].outcome == "pass"


async def test_a_method_may_be_an_async_generator(flows):
    class Agent:
        @expects(change("flows", flows.count_later).by(1), observe("name", lambda name: name))
        async def act(self, name):
            flows.rows.append(name)
            yield self

    agent = Agent()
    with collect_reports() as reports:
        assert await exhausted(agent.act("a")) == [agent]

    assert reports[0]["name"].pre_state == "a"


def test_a_coroutine_that_is_closed_elsewhere_than_where_it_was_begun_logs_nothing(flows, caplog):
    class Pause:
        def __await__(self):
            yield

    @expects(change("flows", flows.count))
    async def act():
        await Pause()

    acting = act()
    copy_context().run(acting.send, None)
    with caplog.at_level(logging.DEBUG):
        acting.close()

    assert caplog.records == []
