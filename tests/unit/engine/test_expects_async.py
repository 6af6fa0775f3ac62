"""A decorated coroutine function: as for a plain one, with probes that may be awaited."""

import asyncio
import functools
import gc
import inspect
import traceback
from contextvars import ContextVar
from pathlib import Path

import pytest

import deltaspan
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
from support.later_flows import Flows
from support.process import open_windows


@pytest.fixture
def flows():
    return Flows()


async def test_the_very_object_that_the_action_returns_is_returned(flows):
    made = object()

    @expects(change("flows", flows.count_later))
    async def act():
        return made

    assert await act() is made


async def test_the_very_exception_that_the_action_raises_is_raised(flows):
    error = LookupError("no such tenant")

    @expects(change("flows", flows.count_later))
    async def act():
        raise error

    with pytest.raises(LookupError) as caught:
        await act()

    assert caught.value is error
    assert (error.__cause__, error.__context__) == (None, None)


async def test_a_traceback_has_at_most_one_frame_of_ours(flows):
    @expects(change("flows", flows.count), unchanged("users", flows.count_later))
    async def act():
        raise LookupError

    with pytest.raises(LookupError) as caught:
        await act()

    frames = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    package = Path(deltaspan.__file__).parent
    assert sum(package in Path(name).parents or "wrapt" in name for name in frames) <= 1


def test_it_is_still_a_coroutine_function_with_the_same_signature(flows):
    async def act(tenant: str, *, limit: int = 3) -> list[str]:
        """Create a flow."""

    decorated = expects(change("flows", flows.count_later))(act)

    assert inspect.iscoroutinefunction(decorated)
    assert inspect.signature(decorated) == inspect.signature(act)
    assert decorated.__doc__ == "Create a flow."
    assert decorated.__annotations__ == act.__annotations__
    assert decorated.__wrapped__ is act


def test_a_method_is_still_a_coroutine_function(flows):
    class Agent:
        @expects(change("flows", flows.count))
        async def create(self):
            pass

    assert inspect.iscoroutinefunction(Agent().create)
    assert inspect.iscoroutinefunction(Agent.create)


async def test_methods_of_every_kind_are_verified(flows):
    verified = expects(change("flows", flows.count_later).by(1), observe("name", lambda name: name))

    class Agent:
        @verified
        async def method(self, name):
            flows.rows.append(name)
            return self

        @classmethod
        @verified
        async def of_class(cls, name):
            flows.rows.append(name)
            return cls

        @verified
        @classmethod
        async def of_class_from_above(cls, name):
            flows.rows.append(name)
            return cls

        @staticmethod
        @verified
        async def static(name):
            flows.rows.append(name)
            return name

        @verified
        @staticmethod
        async def static_from_above(name):
            flows.rows.append(name)
            return name

    agent = Agent()
    with collect_reports() as reports:
        returned = [
            await agent.method("a"),
            await agent.of_class("b"),
            await Agent.of_class_from_above("c"),
            await agent.static("d"),
            await Agent.static_from_above("e"),
        ]

    assert returned == [agent, Agent, Agent, "d", "e"]
    assert [report.outcome for report in reports] == ["pass"] * 5
    assert [report["name"].pre_state for report in reports] == ["a", "b", "c", "d", "e"]


async def test_a_partial_and_a_callable_object_are_verified(flows):
    class Create:
        async def __call__(self, name):
            flows.rows.append(name)
            return name

    verified = expects(change("flows", flows.count_later).by(1))
    with collect_reports() as reports:
        returned = [
            await verified(Create())("a"),
            await verified(functools.partial(Create().__call__, "b"))(),
        ]

    assert returned == ["a", "b"]
    assert [report.outcome for report in reports] == ["pass", "pass"]


async def test_a_function_that_returns_a_coroutine_is_judged_when_that_was_awaited(flows):
    async def create():
        await asyncio.sleep(0)
        flows.rows.append(1)
        return "done"

    @expects(change("flows", flows.count).by(1))
    def act():
        return create()

    with collect_reports() as reports:
        returned = await act()

    assert returned == "done"
    assert [report["flows"].explanation for report in reports] == ["flows changed by 1, as expected (0 → 1)"]


async def test_a_task_that_a_function_returns_is_returned_as_it_is(flows):
    task = asyncio.ensure_future(asyncio.sleep(0, "done"))
    act = expects(observe("flows", flows.count))(lambda: task)

    assert act() is task
    assert await task == "done"


async def test_what_an_action_does_to_context_variables_is_visible_to_its_caller(flows):
    variable = ContextVar("variable", default="before")

    @expects(change("a", flows.count_later), change("b", flows.count_later))
    async def act():
        variable.set("after")

    await act()

    assert variable.get() == "after"


async def test_the_causal_tag_is_current_inside_the_action_alone(flows):
    @expects(observe("flows", flows.count_later))
    async def act():
        await asyncio.sleep(0)
        return current_causal_tag()

    with collect_reports() as reports:
        inside = await act()

    assert inside == reports[0].causal_tag
    assert current_causal_tag() is None


async def test_a_failure_can_be_raised_with_its_report_and_what_the_action_returned(flows):
    @expects(change("flows", flows.count_later).by(1), on_failure="raise")
    async def act():
        return "done"

    with collect_reports() as reports, pytest.raises(DeltaCheckFailed) as caught:
        await act()

    assert caught.value.report is reports[0]
    assert caught.value.result == "done"


@pytest.mark.parametrize("left", ["closed", "cancelled"])
async def test_a_coroutine_from_a_plain_function_that_is_never_started_leaves_no_window_open(flows, left):
    async def create():
        flows.rows.append(1)

    @expects(change("flows", flows.count).by(1))
    def act():
        return create()

    if left == "closed":
        act().close()
    else:
        task = asyncio.ensure_future(act())
        task.cancel()
        await asyncio.wait([task])
        del task
    gc.collect()

    assert drain()
    assert flows.rows == []
    assert open_windows() == {}


async def test_an_exception_from_a_coroutine_of_a_plain_function_is_raised_and_reported(flows):
    error = ValueError("bad")

    async def create():
        raise error

    @expects(change("flows", flows.count).by(1))
    def act():
        return create()

    with collect_reports() as reports, pytest.raises(ValueError, match="bad") as caught:
        await act()

    assert caught.value is error
    assert [report["flows"].reason for report in reports] == ["action_failed"]
