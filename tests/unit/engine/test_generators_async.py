"""Decorated async generators: stepped, abandoned, closed by the event loop."""

import asyncio
import contextlib
import gc
import inspect
import logging
from contextvars import ContextVar, copy_context

import pytest

from deltaspan import (
    DeltaCheckFailed,
    change,
    collect_reports,
    current_causal_tag,
    expects,
    observe,
    unchanged,
)
from deltaspan._workers import drain
from support.flows import exhausted
from support.process import open_windows
from support.reports import reports_of
from support.waiting import AsyncHang


@pytest.fixture
def fill(flows):
    @expects(change("flows", flows.count_later).by(2))
    async def fill(*names):
        for name in names:
            await asyncio.sleep(0)
            flows.rows.append(name)
            yield name

    return fill


def test_a_decorated_async_generator_function_keeps_its_kind_and_name(fill):
    assert inspect.isasyncgenfunction(fill)
    assert inspect.isasyncgen(fill("a"))
    assert fill("a").__name__ == "fill"


async def test_nothing_is_read_before_the_first_step(flows, fill):
    filling = fill("a", "b")
    assert flows.awaited_reads == 0

    await anext(filling)
    assert flows.awaited_reads == 1


async def test_an_async_generator_is_judged_when_it_is_exhausted(fill):
    with collect_reports() as reports:
        assert await exhausted(fill("a", "b")) == ["a", "b"]

    assert [report["flows"].explanation for report in reports] == ["flows changed by 2, as expected (0 → 2)"]


async def test_a_sent_value_reaches_the_body(flows):
    @expects(observe("flows", flows.count))
    async def echo():
        received = yield "ready"
        while True:
            received = yield received

    echoing = echo()

    assert [await echoing.asend(sent) for sent in (None, 1, 2)] == ["ready", 1, 2]


async def test_the_body_can_catch_a_thrown_exception(flows):
    error = LookupError()

    @expects(change("flows", flows.count).by(1))
    async def act():
        try:
            yield 1
        except LookupError as caught:
            flows.rows.append(1)
            yield caught

    acting = act()
    with collect_reports() as reports:
        found = [await anext(acting), await acting.athrow(error), *await exhausted(acting)]

    assert found == [1, error]
    assert reports[0].outcome == "pass"


async def test_the_very_exception_that_the_body_raises_is_raised(flows):
    error = LookupError("no such tenant")

    @expects(change("flows", flows.count_later), unchanged("users", lambda: 1))
    async def act():
        yield 1
        raise error

    with collect_reports() as reports, pytest.raises(LookupError) as caught:
        await exhausted(act())

    assert caught.value is error
    assert (error.__cause__, error.__context__) == (None, None)
    assert [check.outcome for check in reports[0]] == ["inconclusive", "pass"]


async def test_the_tag_is_current_in_the_body_and_never_in_the_consumer(flows):
    @expects(observe("flows", flows.count))
    async def act():
        yield current_causal_tag()
        await asyncio.sleep(0)
        yield current_causal_tag()

    with collect_reports() as reports:
        found = [(inside, current_causal_tag()) async for inside in act()]

    assert found == [(reports[0].causal_tag, None)] * 2


async def test_interleaved_async_generators_each_keep_their_own_tag(flows):
    @expects(observe("flows", flows.count))
    async def act():
        while True:
            yield current_causal_tag()

    one, other = act(), act()
    tags = [await anext(one), await anext(other), await anext(one), await anext(other)]
    await one.aclose()
    await other.aclose()

    assert tags[:2] == tags[2:]
    assert tags[0] != tags[1]


async def test_the_body_sees_the_context_variables_that_its_consumer_sets_later(flows):
    variable = ContextVar("variable", default="before")

    @expects(observe("flows", flows.count))
    async def act():
        yield variable.get()
        yield variable.get()

    acting = act()
    found = [await anext(acting)]
    variable.set("after")
    found.append(await anext(acting))

    assert found == ["before", "after"]


async def test_a_failure_can_be_raised_at_exhaustion(flows):
    @expects(change("flows", flows.count_later), on_failure="raise")
    async def act():
        yield 1

    with collect_reports() as reports, pytest.raises(DeltaCheckFailed) as caught:
        await exhausted(act())

    assert caught.value.report is reports[0]


# Async generators that do not run to their end ----------------------------------------------------------


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
async def test_an_async_generator_that_is_left_is_abandoned_without_another_async_read(flows, left):
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
    assert flows.awaited_reads == 1
    assert open_windows() == {}


@LEFT
async def test_a_check_that_names_yielded_is_judged(flows, left):
    @expects(change("flows", flows.count).by(lambda yielded: yielded), on_failure="raise")
    async def act():
        while True:
            flows.rows.append(1)
            yield

    with collect_reports() as reports:
        await left(act())

    assert reports[0].outcome == "pass"


@LEFT
async def test_nothing_is_logged_if_an_async_generator_is_left(flows, left, caplog):
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


async def test_an_async_generator_that_is_cancelled_within_a_step_is_reported(flows):
    hang = AsyncHang()

    @expects(change("later", flows.count_later), unchanged("users", lambda: 1))
    async def act():
        yield 1
        await hang()

    with collect_reports() as reports:
        await hang.cancel(exhausted(act()))

    assert [(check.outcome, check.reason) for check in reports[0]] == [
        ("inconclusive", "action_failed"),
        ("pass", None),
    ]
    assert flows.awaited_reads == 1


async def test_an_async_generator_whose_consumer_is_cancelled_is_abandoned(flows):
    hang = AsyncHang()

    @expects(change("flows", flows.count))
    async def act():
        flows.rows.append(1)
        yield 1
        yield 2

    async def consume():
        async with contextlib.aclosing(act()) as acting:
            async for _ in acting:
                await hang()

    with collect_reports() as reports:
        await hang.cancel(consume())

    assert [report["flows"].reason for report in reports] == ["abandoned"]


# Async generators that end in another task, context or thread -------------------------------------------


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

    reports = reports_of(lambda: asyncio.run(main()))

    assert (faults, cleaned) == ([], [1])
    assert [report.outcome for report in reports] == ["inconclusive"]


def test_an_async_generator_that_is_stepped_and_dropped_is_abandoned(flows):
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


async def test_an_async_generator_that_is_stepped_in_several_contexts_logs_nothing(flows, caplog):
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


async def test_an_async_context_manager_from_a_generator_is_a_window_around_its_block(flows):
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
