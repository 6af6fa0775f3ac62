"""Cancelled actions, on asyncio and on trio: the window closes, no async probe is read again."""

import asyncio
import gc
import sys

import anyio
import anyio.lowlevel
import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, observe, unchanged
from support.flows import Flows
from support.process import open_windows
from support.reports import reports_of
from support.waiting import AsyncHang, reached


async def test_a_cancelled_action_is_reported_without_reading_async_probes_again(flows):
    error = asyncio.CancelledError("stop")

    @expects(
        change("later", flows.count_later),
        change("now", flows.count),
        unchanged("users", lambda: 2),
        observe("load", flows.count_later),
    )
    async def act():
        flows.rows.append(1)
        raise error

    with collect_reports() as reports, pytest.raises(asyncio.CancelledError) as caught:
        await act()

    assert caught.value is error
    assert flows.awaited_reads == 2
    found = [(check.outcome, check.reason, check.pre_state, check.post_state) for check in reports[0]]
    assert found == [
        ("inconclusive", "action_failed", 0, None),
        ("inconclusive", "action_failed", 0, 1),
        ("pass", None, 2, 2),
        ("inconclusive", "action_failed", 0, None),
    ]


async def test_a_task_that_is_cancelled_in_its_action_closes_the_window(flows):
    hang = AsyncHang()

    @expects(change("flows", flows.count_later))
    async def act():
        await hang()

    with collect_reports() as reports:
        await hang.cancel(act())

    assert [report.outcome for report in reports] == ["inconclusive"]
    assert open_windows() == {}


@pytest.mark.parametrize("read", [1, 2], ids=["before the action", "after the action"])
async def test_a_task_that_is_cancelled_while_a_probe_is_read_closes_the_window(read):
    reads, hang = [], AsyncHang()

    async def probe():
        reads.append(1)
        await (hang() if len(reads) == read else asyncio.sleep(0))

    @expects(change("flows", probe))
    async def act():
        pass

    await hang.cancel(act())

    assert len(reads) == read
    assert open_windows() == {}


async def test_an_action_that_survives_its_cancellation_is_judged_in_full(flows):
    hang = AsyncHang()

    @expects(change("flows", flows.count_later).by(1))
    async def act():
        try:
            await hang()
        except asyncio.CancelledError:
            flows.rows.append(1)
            return "kept"

    with collect_reports() as reports:
        task = asyncio.ensure_future(act())
        await hang.reached.wait()
        task.cancel()
        assert await task == "kept"

    assert reports[0].outcome == "pass"


async def test_an_action_that_is_timed_out_is_reported(flows):
    @expects(change("flows", flows.count))
    async def act():
        await asyncio.sleep(60)

    with collect_reports() as reports, pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(act(), 0.01)

    assert [report["flows"].reason for report in reports] == ["action_failed"]


class Pause:
    """An awaitable that hands control back once to the driver of the coroutine."""

    def __await__(self):
        yield


@pytest.mark.parametrize("error", [KeyboardInterrupt("stop"), SystemExit(3), GeneratorExit()], ids=repr)
def test_any_exception_of_an_action_is_raised_without_reading_async_probes_again(flows, error):
    @expects(change("flows", flows.count), unchanged("users", lambda: 2), observe("load", flows.count_later))
    async def act():
        raise error

    with collect_reports() as reports, pytest.raises(type(error)) as caught:
        drive(act())

    assert caught.value is error
    assert flows.awaited_reads == 1
    assert [(check.outcome, check.reason) for check in reports[0]] == [
        ("inconclusive", "action_failed"),
        ("pass", None),
        ("inconclusive", "action_failed"),
    ]


def drive(coroutine):
    while True:
        coroutine.send(None)


def closed(coroutine):
    coroutine.close()


def dropped(coroutine):
    del coroutine
    gc.collect()


@pytest.mark.parametrize("left", [closed, dropped])
def test_a_coroutine_that_is_left_in_its_action_closes_the_window(flows, left):
    @expects(change("flows", flows.count), unchanged("users", lambda: 2))
    async def act():
        await Pause()

    with collect_reports() as reports:
        coroutines = [act()]
        coroutines[0].send(None)
        left(coroutines.pop())

    assert [(check.outcome, check.reason) for check in reports[0]] == [
        ("inconclusive", "action_failed"),
        ("pass", None),
    ]
    assert open_windows() == {}


# Timeouts, task groups and cancel scopes ----------------------------------------------------------------


@pytest.fixture
def any_loop_flows():
    """A state that asyncio and trio can read."""
    return Flows(anyio.lowlevel.checkpoint)


@pytest.fixture
def expiring():
    """The time limits that expire as soon as the action waits."""
    return []


def expire(limits):
    for limit in limits:
        if isinstance(limit, anyio.CancelScope):
            limit.deadline = 0
        else:
            limit.reschedule(0)


@pytest.fixture
def wait(any_loop_flows, expiring):
    @expects(
        change("later", any_loop_flows.count_later),
        change("now", any_loop_flows.count),
        unchanged("users", lambda: 1),
    )
    async def wait():
        any_loop_flows.rows.append(1)
        expire(expiring)
        await anyio.sleep(60)

    return wait


@pytest.fixture
def yielding(any_loop_flows, expiring):
    @expects(
        change("later", any_loop_flows.count_later),
        change("now", any_loop_flows.count),
        unchanged("users", lambda: 1),
    )
    async def yielding():
        any_loop_flows.rows.append(1)
        yield 1
        expire(expiring)
        await anyio.sleep(60)

    return yielding


CANCELLED = [
    ("later", "inconclusive", "action_failed", None),
    ("now", "inconclusive", "action_failed", 1),
    ("users", "pass", None, 1),
]


def verdicts(reports):
    (report,) = reports
    return [(check.metric, check.outcome, check.reason, check.post_state) for check in report]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.timeout came with Python 3.11")
async def test_an_action_within_a_timeout_is_reported(wait, any_loop_flows, expiring):
    limit = asyncio.timeout(60)
    expiring.append(limit)
    with collect_reports() as reports, pytest.raises(TimeoutError):
        async with limit:
            await wait()

    assert verdicts(reports) == CANCELLED
    assert any_loop_flows.awaited_reads == 1
    assert open_windows() == {}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.TaskGroup came with Python 3.11")
async def test_an_action_in_a_task_group_that_fails_is_reported(wait, any_loop_flows):
    async def fail():
        await reached(lambda: any_loop_flows.rows)
        raise LookupError("no such tenant")

    async def both():
        async with asyncio.TaskGroup() as group:
            group.create_task(wait())
            group.create_task(fail())

    with collect_reports() as reports, pytest.raises(ExceptionGroup) as caught:  # noqa: F821  # Python 3.11
        await both()

    assert [repr(error) for error in caught.value.exceptions] == ["LookupError('no such tenant')"]
    assert verdicts(reports) == CANCELLED


BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])


@BACKENDS
def test_an_action_within_a_cancel_scope_is_reported(wait, any_loop_flows, expiring, backend):
    async def main():
        with anyio.move_on_after(60) as scope:
            expiring.append(scope)
            await wait()
        return scope.cancelled_caught, current_causal_tag()

    with collect_reports() as reports:
        assert anyio.run(main, backend=backend) == (True, None)

    assert verdicts(reports) == CANCELLED
    assert any_loop_flows.awaited_reads == 1


@BACKENDS
def test_an_async_generator_that_is_cancelled_within_a_step_is_reported(
    yielding, any_loop_flows, expiring, backend
):
    async def main():
        with anyio.move_on_after(60) as scope:
            expiring.append(scope)
            async for _ in yielding():
                pass
        return scope.cancelled_caught

    with collect_reports() as reports:
        assert anyio.run(main, backend=backend)

    assert verdicts(reports) == CANCELLED
    assert any_loop_flows.awaited_reads == 1


@BACKENDS
def test_an_async_generator_that_is_closed_in_a_cancelled_scope_is_abandoned(
    yielding, any_loop_flows, backend
):
    async def main():
        with anyio.move_on_after(60) as scope:
            acting = yielding()
            try:
                async for _ in acting:
                    expire([scope])
                    await anyio.sleep(60)
            finally:
                await acting.aclose()

    reports = reports_of(anyio.run, main, backend=backend)

    assert [(check.reason, check.post_state) for check in reports[0]] == [
        ("abandoned", None),
        ("abandoned", 1),
        ("abandoned", 1),
    ]
    assert any_loop_flows.awaited_reads == 1


@BACKENDS
def test_a_cancel_scope_within_an_action_is_the_actions_own(any_loop_flows, backend):
    @expects(change("flows", any_loop_flows.count_later).by(1), unchanged("users", flows_of_none))
    async def act():
        with anyio.move_on_after(0.01):
            await anyio.sleep(60)
        any_loop_flows.rows.append(1)

    reports = reports_of(anyio.run, act, backend=backend)

    assert [report.outcome for report in reports] == ["pass"]


async def flows_of_none():
    await anyio.lowlevel.checkpoint()
    return 0


@BACKENDS
def test_actions_in_a_task_group_keep_their_own_tags(any_loop_flows, backend):
    tags = []

    @expects(unchanged("users", flows_of_none), name="act")
    async def act():
        first = current_causal_tag()
        await anyio.sleep(0.01)
        tags.append((first, current_causal_tag()))

    async def main():
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(act)

    anyio.run(main, backend=backend)

    assert [first == later for first, later in tags] == [True] * 3
    assert len({first for first, _ in tags}) == 3
