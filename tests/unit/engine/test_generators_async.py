"""A decorated async generator: as a plain one, with probes that are awaited at its first and last step."""

import asyncio
import inspect
from contextvars import ContextVar

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


def test_it_is_an_async_generator_function_that_returns_an_async_generator_of_its_name(fill):
    assert inspect.isasyncgenfunction(fill)
    assert inspect.isasyncgen(fill("a"))
    assert fill("a").__name__ == "fill"


async def test_nothing_is_read_before_the_first_step(flows, fill):
    filling = fill("a", "b")
    assert flows.reads == 0

    await anext(filling)
    assert flows.reads == 1


async def test_it_is_judged_when_it_is_exhausted(fill):
    with collect_reports() as reports:
        assert await exhausted(fill("a", "b")) == ["a", "b"]

    assert [report["flows"].explanation for report in reports] == ["flows changed by 2, as expected (0 → 2)"]


async def test_what_is_sent_reaches_the_body(flows):
    @expects(observe("flows", flows.count))
    async def echo():
        received = yield "ready"
        while True:
            received = yield received

    echoing = echo()

    assert [await echoing.asend(sent) for sent in (None, 1, 2)] == ["ready", 1, 2]


async def test_what_is_thrown_in_can_be_caught_by_the_body(flows):
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
