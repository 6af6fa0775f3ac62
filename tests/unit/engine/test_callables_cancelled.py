"""Cancelled by a timeout, a task group or a cancel scope, on asyncio and on trio: the window ends."""

import asyncio
import sys

import anyio
import anyio.lowlevel
import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, unchanged
from support.process import open_windows


class Flows:
    """A piece of state to act on, read at once or later."""

    def __init__(self):
        self.rows = []
        self.reads = 0

    def count(self):
        return len(self.rows)

    async def count_later(self):
        self.reads += 1
        await anyio.lowlevel.checkpoint()
        return len(self.rows)


@pytest.fixture
def flows():
    return Flows()


@pytest.fixture
def wait(flows):
    @expects(change("later", flows.count_later), change("now", flows.count), unchanged("users", lambda: 1))
    async def wait():
        flows.rows.append(1)
        await anyio.sleep(60)

    return wait


@pytest.fixture
def yielding(flows):
    @expects(change("later", flows.count_later), change("now", flows.count), unchanged("users", lambda: 1))
    async def yielding():
        flows.rows.append(1)
        yield 1
        await anyio.sleep(60)

    return yielding


CANCELLED = [
    ("later", "inconclusive", "action_failed", None),
    ("now", "inconclusive", "action_failed", 1),
    ("users", "pass", None, 1),
]


def found(reports):
    (report,) = reports
    return [(check.metric, check.outcome, check.reason, check.post_state) for check in report]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.timeout came with Python 3.11")
async def test_an_action_within_a_timeout_is_reported(wait, flows):
    with collect_reports() as reports, pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await wait()

    assert found(reports) == CANCELLED
    assert flows.reads == 1
    assert open_windows() == {}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.TaskGroup came with Python 3.11")
async def test_an_action_whose_task_group_fails_is_reported_and_the_group_fails_as_before(wait):
    async def fail():
        await asyncio.sleep(0.01)
        raise LookupError("no such tenant")

    async def both():
        async with asyncio.TaskGroup() as group:
            group.create_task(wait())
            group.create_task(fail())

    with collect_reports() as reports, pytest.raises(ExceptionGroup) as caught:  # noqa: F821  # Python 3.11
        await both()

    assert [repr(error) for error in caught.value.exceptions] == ["LookupError('no such tenant')"]
    assert found(reports) == CANCELLED


BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])


@BACKENDS
def test_an_action_within_a_cancel_scope_is_reported(wait, flows, backend):
    async def main():
        with anyio.move_on_after(0.01) as scope:
            await wait()
        return scope.cancelled_caught, current_causal_tag()

    with collect_reports() as reports:
        assert anyio.run(main, backend=backend) == (True, None)

    assert found(reports) == CANCELLED
    assert flows.reads == 1


@BACKENDS
def test_an_async_generator_that_is_cancelled_within_a_step_is_reported(yielding, flows, backend):
    async def main():
        with anyio.move_on_after(0.01) as scope:
            async for _ in yielding():
                pass
        return scope.cancelled_caught

    with collect_reports() as reports:
        assert anyio.run(main, backend=backend)

    assert found(reports) == CANCELLED
    assert flows.reads == 1


@BACKENDS
def test_an_async_generator_that_is_closed_in_a_cancelled_scope_is_abandoned(yielding, flows, backend):
    async def main():
        with anyio.move_on_after(0.01):
            acting = yielding()
            try:
                async for _ in acting:
                    await anyio.sleep(60)
            finally:
                await acting.aclose()

    with collect_reports() as reports:
        anyio.run(main, backend=backend)

    assert [(check.reason, check.post_state) for check in reports[0]] == [
        ("abandoned", None),
        ("abandoned", 1),
        ("abandoned", 1),
    ]
    assert flows.reads == 1


@BACKENDS
def test_a_cancel_scope_within_an_action_is_the_actions_own(flows, backend):
    @expects(change("flows", flows.count_later).by(1), unchanged("users", flows_of_none))
    async def act():
        with anyio.move_on_after(0.01):
            await anyio.sleep(60)
        flows.rows.append(1)

    with collect_reports() as reports:
        anyio.run(act, backend=backend)

    assert [report.outcome for report in reports] == ["pass"]


async def flows_of_none():
    await anyio.lowlevel.checkpoint()
    return 0


@BACKENDS
def test_actions_in_a_task_group_keep_their_own_tags(flows, backend):
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
