"""A cancelled action: its window closes, its states are recorded, and no async probe is read any more."""

import asyncio
import gc

import pytest

from deltaspan import (
    change,
    collect_reports,
    expects,
    observe,
    unchanged,
)
from support.later_flows import Flows
from support.process import open_windows


@pytest.fixture
def flows():
    return Flows()


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
    assert flows.reads == 2
    found = [(check.outcome, check.reason, check.pre_state, check.post_state) for check in reports[0]]
    assert found == [
        ("inconclusive", "action_failed", 0, None),
        ("inconclusive", "action_failed", 0, 1),
        ("pass", None, 2, 2),
        ("inconclusive", "action_failed", 0, None),
    ]


async def test_a_task_that_is_cancelled_in_its_action_closes_the_window(flows):
    @expects(change("flows", flows.count_later))
    async def act():
        await asyncio.sleep(60)

    with collect_reports() as reports:
        task = asyncio.ensure_future(act())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert [report.outcome for report in reports] == ["inconclusive"]
    assert open_windows() == {}


@pytest.mark.parametrize("read", [1, 2], ids=["before the action", "after the action"])
async def test_a_task_that_is_cancelled_while_a_probe_is_read_closes_the_window(read):
    reads = []

    async def probe():
        reads.append(1)
        await asyncio.sleep(60 if len(reads) == read else 0)

    @expects(change("flows", probe))
    async def act():
        pass

    task = asyncio.ensure_future(act())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert len(reads) == read
    assert open_windows() == {}


async def test_an_action_that_survives_its_cancellation_is_judged_in_full(flows):
    @expects(change("flows", flows.count_later).by(1))
    async def act():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            flows.rows.append(1)
            return "kept"

    with collect_reports() as reports:
        task = asyncio.ensure_future(act())
        await asyncio.sleep(0.01)
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
    """What hands control back once, to whoever drives the coroutine by hand."""

    def __await__(self):
        yield


@pytest.mark.parametrize("error", [KeyboardInterrupt("stop"), SystemExit(3), GeneratorExit()], ids=repr)
def test_whatever_an_action_raises_is_raised_without_reading_async_probes_again(flows, error):
    @expects(change("flows", flows.count), unchanged("users", lambda: 2), observe("load", flows.count_later))
    async def act():
        raise error

    with collect_reports() as reports, pytest.raises(type(error)) as caught:
        drive(act())

    assert caught.value is error
    assert flows.reads == 1
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
