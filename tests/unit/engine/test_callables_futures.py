"""A function that returns a future: the caller has it as it is, and it is judged when it is done."""

import asyncio
import gc
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, observe, unchanged
from deltaspan._workers import drain
from support.process import open_windows


async def test_a_task_is_judged_when_it_is_done(flows):
    async def create():
        await asyncio.sleep(0)
        flows.rows.append(1)
        return "done"

    tasks = []

    @expects(
        change("flows", flows.count).by(1), change("result", flows.count).by(lambda result: len(result) - 3)
    )
    def act():
        tasks.append(asyncio.ensure_future(create()))
        return tasks[0]

    with collect_reports() as reports:
        returned = act()
        assert returned is tasks[0]
        assert reports == []
        assert await returned == "done"

    assert [check.outcome for check in reports[0]] == ["pass", "pass"]
    assert current_causal_tag() is None


async def test_the_tag_is_current_in_the_task_that_an_action_starts(flows):
    async def create():
        await asyncio.sleep(0)
        return current_causal_tag()

    act = expects(observe("flows", flows.count))(lambda: asyncio.ensure_future(create()))
    with collect_reports() as reports:
        inside = await act()

    assert inside == reports[0].causal_tag


async def test_a_task_that_fails_is_a_failed_action(flows):
    async def create():
        raise LookupError("no such tenant")

    act = expects(change("flows", flows.count), unchanged("users", lambda: 1))(
        lambda: asyncio.ensure_future(create())
    )
    with collect_reports() as reports, pytest.raises(LookupError):
        await act()

    assert [(check.outcome, check.reason) for check in reports[0]] == [
        ("inconclusive", "action_failed"),
        ("pass", None),
    ]


async def test_a_task_whose_failure_nobody_looks_at_is_still_told_of_by_its_loop(flows):
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))

    async def create():
        raise LookupError

    expects(observe("flows", flows.count))(lambda: asyncio.ensure_future(create()))()
    for _ in range(3):
        await asyncio.sleep(0)
    gc.collect()

    assert told == ["Task exception was never retrieved"]


async def test_a_task_that_is_cancelled_is_a_failed_action(flows):
    act = expects(change("flows", flows.count))(lambda: asyncio.ensure_future(asyncio.sleep(60)))
    with collect_reports() as reports:
        task = act()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert reports[0]["flows"].explanation.startswith("flows: the action raised CancelledError")


async def test_a_future_that_was_done_already_is_judged(flows):
    done = asyncio.get_running_loop().create_future()
    done.set_result("done")

    with collect_reports() as reports:
        assert expects(observe("flows", flows.count))(lambda: done)() is done
        await asyncio.sleep(0)

    assert [report.outcome for report in reports] == ["observed"]


def test_a_future_of_a_pool_is_judged_when_it_is_done(flows):
    with ThreadPoolExecutor() as pool, collect_reports() as reports:
        act = expects(change("flows", flows.count).by(1), on_failure="raise")(
            lambda: pool.submit(flows.rows.append, 1)
        )
        act().result()

    assert [report.outcome for report in reports] == ["pass"]
    assert open_windows() == {}


def test_a_failure_that_should_be_raised_is_logged(flows, caplog):
    future = Future()
    act = expects(change("flows", flows.count).by(1), on_failure="raise", name="act")(lambda: future)

    assert act() is future
    future.set_result("done")

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "act: fail: expected flows to change by 1, but it changed by 0 (0 → 0)")
    ]


def test_a_future_that_is_never_done_is_abandoned_when_it_is_collected(flows):
    with collect_reports() as reports:
        expects(change("flows", flows.count))(lambda: Future())()  # a class is no action
        gc.collect()
        assert drain()

    assert [report["flows"].reason for report in reports] == ["abandoned"]
    assert open_windows() == {}
