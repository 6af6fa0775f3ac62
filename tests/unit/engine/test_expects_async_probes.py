"""Probes of an async action: read together where they wait, at once where they do not."""

import asyncio
import logging
import re
import sys
import time

import pytest

from deltaspan import change, collect_reports, expects, observe, probe
from support.later_flows import Flows


@pytest.fixture
def flows():
    return Flows()


async def test_nothing_is_read_before_the_coroutine_is_awaited(flows):
    @expects(change("flows", flows.count_later))
    async def act():
        pass

    coroutine = act()
    assert flows.reads == 0

    await coroutine
    assert flows.reads == 2


async def test_async_probes_are_read_together():
    reading, most = set(), []

    def probe_of(name):
        async def read():
            reading.add(name)
            most.append(len(reading))
            await asyncio.sleep(0.01)
            reading.discard(name)
            return name

        return read

    @expects(*[change(name, probe_of(name)) for name in "abc"])
    async def act():
        most.append(0)

    await act()

    assert most == [1, 2, 3, 0, 1, 2, 3]


async def test_a_plain_probe_that_returns_an_awaitable_is_awaited(flows):
    @expects(change("flows", lambda: flows.count_later()).by(1))  # no coroutine function
    async def act():
        flows.rows.append(1)

    with collect_reports() as reports:
        await act()

    assert reports[0].outcome == "pass"


async def test_an_async_probe_that_raises_leaves_action_and_other_checks_alone(flows):
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


async def test_a_probe_that_is_read_in_a_thread_is_not_said_to_hold_up_the_event_loop(caplog):

    @probe(blocking=True)
    def read():
        return take_long()

    await expects(observe("rows", read))(act_on_a_loop)()

    assert caplog.records == []


def test_a_probe_that_takes_long_in_an_action_that_is_not_async_holds_up_nothing(caplog):
    expects(observe("rows", take_long))(lambda: None)()

    assert caplog.records == []
