"""The tag, its parent and its root are right wherever the work of an action goes in one process."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
import trio

from deltaspan import collect_reports, current_causal_tag, expects, observe
from deltaspan.causal_tag import current_causal_root

NOTHING = observe("nothing", lambda: 0)


@expects(NOTHING, name="inner")
def act():
    return current_causal_tag(), current_causal_root()


@expects(NOTHING, name="inner")
async def act_async():
    await asyncio.sleep(0)
    return current_causal_tag(), current_causal_root()


@pytest.fixture
def family():
    """Return what runs something in an action of an action, and checks those that it called."""

    def check(reports):
        inner = [report for report in reports if report.action == "inner"]
        outer = [report for report in reports if report.action != "inner"]
        [middle] = [report for report in outer if report.parent_tag]
        [root] = [report for report in outer if not report.parent_tag]
        assert len(inner) > 0
        assert middle.parent_tag == root.causal_tag
        assert {(each.parent_tag, each.root_tag) for each in inner} == {(middle.causal_tag, root.causal_tag)}
        assert len({each.causal_tag for each in reports}) == len(reports)

    return check


def in_two_actions(do):
    with collect_reports() as reports:
        expects(NOTHING, name="root")(expects(NOTHING, name="middle")(do))()
    return reports


async def in_two_async_actions(do):
    middle = expects(NOTHING, name="middle")(do)

    async def call():
        await middle()

    with collect_reports() as reports:
        await expects(NOTHING, name="root")(call)()
    return reports


async def gathered():
    await asyncio.gather(*[act_async() for _ in range(10)])


async def tasks():
    for task in [asyncio.create_task(act_async()) for _ in range(10)]:
        await task


async def task_group():
    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(act_async())


async def anyio_group():
    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(act_async)


async def to_thread():
    await asyncio.gather(*[asyncio.to_thread(act) for _ in range(10)])


async def anyio_to_thread():
    await anyio.to_thread.run_sync(act)


async def executor():
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, contextvars.copy_context().run, act)


ASYNC = [gathered, tasks, anyio_group, to_thread, anyio_to_thread, executor]
if sys.version_info >= (3, 11):
    ASYNC.append(task_group)


@pytest.mark.parametrize("do", ASYNC)
async def test_async_work_belongs_to_the_action_that_started_it(family, do):
    family(await in_two_async_actions(do))


def test_a_nursery_of_trio_belongs_to_the_action_that_opened_it(family):
    @expects(NOTHING, name="inner")
    async def inner():
        await trio.lowlevel.checkpoint()

    async def nursery():
        async with trio.open_nursery() as opened:
            for _ in range(10):
                opened.start_soon(inner)

    family(trio.run(in_two_async_actions, nursery))


def thread():
    started = threading.Thread(target=contextvars.copy_context().run, args=(act,))
    started.start()
    started.join()


def pool():
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(contextvars.copy_context().run, act) for _ in range(10)]:
            done.result()


@pytest.mark.parametrize("do", [act, thread, pool])
def test_sync_work_belongs_to_the_action_whose_context_it_runs_in(family, do):
    family(in_two_actions(do))


def test_actions_side_by_side_in_one_pool_do_not_see_each_other():
    def work():
        expected = (current_causal_tag(),) * 2
        return expected == threads.submit(
            contextvars.copy_context().run, lambda: (current_causal_tag(), current_causal_root())
        ).result(30)

    with ThreadPoolExecutor(8) as threads, ThreadPoolExecutor(8) as callers:
        results = [callers.submit(expects(NOTHING)(work)) for _ in range(100)]
        assert all(result.result(30) for result in results)


def test_a_thread_of_a_pool_keeps_nothing_when_the_work_is_done():
    with ThreadPoolExecutor(1) as threads:
        expects(NOTHING)(lambda: threads.submit(contextvars.copy_context().run, act).result())()
        assert threads.submit(current_causal_tag).result() is None


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="a thread may take up the context by itself")
def test_a_bare_pool_does_not_carry_the_tag():
    with ThreadPoolExecutor(1) as threads:
        assert expects(NOTHING)(lambda: threads.submit(current_causal_tag).result())() is None
