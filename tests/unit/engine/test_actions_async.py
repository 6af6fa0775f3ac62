"""Decorated coroutine functions, and their plain and async probes."""

import asyncio
import functools
import gc
import inspect
import logging
import re
import sys
import time
from contextvars import ContextVar

import pytest

from deltaspan import (
    DeltaCheckFailed,
    change,
    collect_reports,
    current_causal_tag,
    expects,
    observe,
    probe,
    unchanged,
)
from deltaspan._workers import drain
from support.frames import count_own_frames
from support.process import open_windows
from support.waiting import reached


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


async def test_a_traceback_has_at_most_one_frame_of_deltaspan(flows):
    @expects(change("flows", flows.count), unchanged("users", flows.count_later))
    async def act():
        raise LookupError

    with pytest.raises(LookupError) as caught:
        await act()

    assert count_own_frames(caught.value) <= 1


def test_a_decorated_coroutine_function_keeps_its_kind_and_signature(flows):
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


async def test_a_task_that_a_function_returns_is_returned_unchanged(flows):
    task = asyncio.ensure_future(asyncio.sleep(0, "done"))
    act = expects(observe("flows", flows.count))(lambda: task)

    assert act() is task
    assert await task == "done"


async def test_context_variables_that_an_action_sets_are_visible_to_its_caller(flows):
    variable = ContextVar("variable", default="before")

    @expects(change("a", flows.count_later), change("b", flows.count_later))
    async def act():
        variable.set("after")

    await act()

    assert variable.get() == "after"


async def test_the_causal_tag_is_current_only_inside_the_action(flows):
    @expects(observe("flows", flows.count_later))
    async def act():
        await asyncio.sleep(0)
        return current_causal_tag()

    with collect_reports() as reports:
        inside = await act()

    assert inside == reports[0].causal_tag
    assert current_causal_tag() is None


async def test_a_failure_can_be_raised_with_its_report_and_the_result(flows):
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


# Probes of an async action ------------------------------------------------------------------------------


async def test_nothing_is_read_before_the_coroutine_is_awaited(flows):
    @expects(change("flows", flows.count_later))
    async def act():
        pass

    coroutine = act()
    assert flows.awaited_reads == 0

    await coroutine
    assert flows.awaited_reads == 2


async def test_async_probes_are_read_together():
    begun = []

    def probe_of(name):
        async def read():
            begun.append(name)
            await reached(lambda: len(begun) % 4 == 3)  # all three are being read
            return name

        return read

    @expects(*[change(name, probe_of(name)) for name in "abc"])
    async def act():
        begun.append("act")

    await act()

    assert begun == [*"abc", "act", *"abc"]


async def test_a_plain_probe_that_returns_an_awaitable_is_awaited(flows):
    @expects(change("flows", lambda: flows.count_later()).by(1))  # no coroutine function
    async def act():
        flows.rows.append(1)

    with collect_reports() as reports:
        await act()

    assert reports[0].outcome == "pass"


async def test_an_async_probe_that_raises_affects_neither_the_action_nor_other_checks(flows):
    async def gone():
        raise OSError("gone")

    @expects(change("a", gone), change("b", flows.count_later).by(1))
    async def act():
        flows.rows.append(1)
        return "done"

    with collect_reports() as reports:
        assert await act() == "done"

    assert [(check.outcome, check.reason) for check in reports[0]] == [
        ("inconclusive", "baseline_failed"),
        ("pass", None),
    ]


async def test_tasks_of_one_action_run_at_once_and_keep_their_own_verdicts():
    counts = dict.fromkeys(range(50), 0)

    async def count(number):
        await asyncio.sleep(0)
        return counts[number]

    @expects(change("count", count).by(lambda number: number % 2))
    async def act(number):
        await asyncio.sleep(0)
        counts[number] += 1

    with collect_reports() as reports:
        await asyncio.gather(*map(act, counts))

    assert sorted(report.outcome for report in reports) == ["fail"] * 25 + ["pass"] * 25


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="a task does not tell before whether it is being cancelled"
)
@pytest.mark.parametrize("others", [0, 1], ids=["alone", "with another"])
async def test_a_probe_that_waited_for_something_cancelled_does_not_stop_the_action(flows, others):
    cancelled = asyncio.get_running_loop().create_future()
    cancelled.cancel()

    async def wait():
        await cancelled

    @expects(change("waiting", wait), *[observe(f"other{n}", flows.count_later) for n in range(others)])
    async def act():
        return "done"

    with collect_reports() as reports:
        assert await act() == "done"

    assert reports[0]["waiting"].reason == "baseline_failed"


@pytest.mark.parametrize("waits", [False, True], ids=["plain", "async"])
async def test_a_probe_that_returns_the_live_state_cannot_move_the_baseline(flows, waits):
    async def rows_later():
        return flows.rows

    @expects(change("rows", rows_later if waits else lambda: flows.rows))
    async def act():
        flows.rows.append(1)

    with collect_reports() as reports:
        await act()

    assert reports[0]["rows"].explanation == "rows appended member 1, as expected ([] → [1])"


def take_long():
    time.sleep(0.06)
    return 1


async def act_on_a_loop():
    return "acted"


async def test_a_probe_that_holds_up_the_event_loop_is_named_once(caplog):
    for _ in range(3):
        await expects(observe("rows", take_long))(act_on_a_loop)()

    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert re.fullmatch(
        r"the probe take_long held up the event loop for \d+ ms; read it in a thread: configure it by "
        r"@probe\(blocking=True\), or make it async",
        record.getMessage(),
    )


async def test_a_probe_that_is_read_in_a_thread_causes_no_event_loop_warning(caplog):

    @probe(blocking=True)
    def read():
        return take_long()

    await expects(observe("rows", read))(act_on_a_loop)()

    assert caplog.records == []


def test_a_probe_that_takes_long_in_an_action_that_is_not_async_holds_up_nothing(caplog):
    expects(observe("rows", take_long))(lambda: None)()

    assert caplog.records == []
