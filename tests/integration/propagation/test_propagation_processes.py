"""The tag reaches other processes in the environment, or in headers with each piece of work."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor

import pytest

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


def test_a_subprocess_started_outside_any_action_starts_anew():
    [[outside, tag, parent, root]] = run()

    assert (outside, parent, root) == ("None", "None", tag)


# Pools of processes ---------------------------------------------------------------------------------------


def work():
    """Do something as an action; return what is current around it, and its parent and root."""
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
    """Which is why headers go with each piece of work, not with the start of the pool."""
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
