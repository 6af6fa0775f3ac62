"""The tag reaches other processes in the environment, or in headers with each piece of work."""

from __future__ import annotations

import asyncio
import contextvars
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import anyio
import pytest
import trio

from deltaspan import (
    adopt,
    causal_environ,
    causal_headers,
    collect_reports,
    current_causal_tag,
    expects,
    observe,
)
from deltaspan.causal_tag import current_causal_root

NOTHING = observe("nothing", lambda: 0)
CHILD = """
import os, subprocess, sys
from deltaspan import causal_environ, collect_reports, current_causal_tag, expects, observe

def act():
    if sys.argv[1:]:
        environ = {**os.environ, **causal_environ()}
        subprocess.run([sys.executable, "-c", os.environ["PROGRAM"], *sys.argv[2:]], env=environ, check=True)

outside = current_causal_tag()
with collect_reports() as reports:
    expects(observe("nothing", lambda: 0))(act)()
print(outside, reports[0].causal_tag, reports[0].parent_tag, reports[0].root_tag)
"""


def run(*arguments):
    environ = {**os.environ, **causal_environ(), "PROGRAM": CHILD}
    command = [sys.executable, "-c", CHILD, *arguments]
    out = subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout
    return [line.split() for line in out.splitlines()]


@expects(NOTHING)
def start(*arguments):
    return current_causal_tag(), run(*arguments)


def test_a_subprocess_has_the_tag_as_its_own_outside_any_action_and_as_parent_inside():
    own, [[outside, tag, parent, root]] = start()

    assert (outside, parent, root) == (own, own, own)
    assert tag != own


def test_the_subprocess_of_a_subprocess_has_the_first_action_as_root():
    own, [grandchild, child] = start("once more")

    assert grandchild[2:] == [child[1], own]


def test_a_subprocess_started_outside_any_action_starts_a_new_root():
    [[outside, tag, parent, root]] = run()

    assert (outside, parent, root) == ("None", "None", tag)


# Pools of processes ---------------------------------------------------------------------------------------


def work():
    """Run an action, and return the tag around it, its parent and its root."""
    with collect_reports() as reports:
        expects(NOTHING)(lambda: None)()
    return current_causal_tag(), reports[0].parent_tag, reports[0].root_tag


def adopted(headers, do, *arguments):
    with adopt(headers):
        return do(*arguments)


METHODS = multiprocessing.get_all_start_methods()


@pytest.fixture(params=METHODS)
def pool(request):
    with ProcessPoolExecutor(1, multiprocessing.get_context(request.param)) as processes:
        yield processes


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_each_piece_of_work_belongs_to_the_action_whose_headers_came_with_it(pool):
    @expects(NOTHING)
    def outer():
        done = pool.submit(adopted, causal_headers(), work)
        return (current_causal_tag(), current_causal_tag(), current_causal_root()), done.result(60)

    for _ in range(3):
        own, in_process = outer()
        assert in_process == own


@pytest.mark.skipif("fork" not in METHODS, reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_worker_forked_in_an_action_keeps_its_tag_unless_work_brings_another():
    """Headers therefore go with each piece of work, not with the start of the pool."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as processes:

        @expects(NOTHING)
        def outer(call, *arguments):
            return current_causal_tag(), processes.submit(call, *arguments).result(60)

        first, seen_first = outer(current_causal_tag)
        _, seen_second = outer(current_causal_tag)
        third, seen_third = expects(NOTHING)(
            lambda: (
                current_causal_tag(),
                processes.submit(adopted, causal_headers(), current_causal_tag).result(60),
            )
        )()

    assert (seen_first, seen_second, seen_third) == (first, first, third)


# Without the SDK --------------------------------------------------------------------------------------------

PROGRAM = """
    import asyncio, sys
    import deltaspan

    flows = []

    @deltaspan.expects(deltaspan.change("flows", lambda: len(flows)).by(1))
    def create():
        flows.append("new")

    @deltaspan.expects(deltaspan.unchanged("flows", lambda: len(flows)))
    async def read():
        return len(flows)

    create()
    asyncio.run(read())
    with deltaspan.window("by_block", deltaspan.observe("flows", lambda: len(flows))):
        create()
    print(*sorted(sys.modules))
"""


def loaded(program: str) -> set[str]:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(program)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_a_verified_action_loads_no_sdk_and_no_exporter():
    heavy = (
        "opentelemetry.sdk",
        "opentelemetry.exporter",
        "opentelemetry.proto",
        "google",
        "grpc",
        "requests",
    )

    assert [name for name in loaded(PROGRAM) if name.startswith(heavy)] == []


def test_asking_for_the_version_loads_no_sdk():
    program = "import sys, deltaspan; deltaspan.__version__; print(*sys.modules)"

    assert [name for name in loaded(program) if name.startswith("opentelemetry.sdk")] == []


def test_naming_configure_telemetry_loads_the_sdk():
    program = "import sys; from deltaspan import configure_telemetry; print(*sys.modules)"

    assert "opentelemetry.sdk.trace" in loaded(program)


def test_naming_configure_telemetry_loads_no_transport():
    program = "import sys; from deltaspan import configure_telemetry; print(*sys.modules)"

    assert [name for name in loaded(program) if name.startswith(("grpc", "requests", "google"))] == []


# Threads ----------------------------------------------------------------------------------------------------


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


def thread_of_a_pool():
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(contextvars.copy_context().run, act) for _ in range(10)]:
            done.result()


@pytest.mark.parametrize("do", [act, thread, thread_of_a_pool])
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
