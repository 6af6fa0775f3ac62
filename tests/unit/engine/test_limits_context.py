"""A limited read: where it runs, what it finds there, and event loops that are not asyncio's."""

import asyncio
import threading
from contextvars import ContextVar

from deltaspan import change, collect_reports, current_causal_tag, expects, probe
from support.hanging import Hanging, run

REQUEST = ContextVar("REQUEST", default="none")


def test_the_probe_finds_the_context_of_the_action_in_its_thread():
    found = []

    def read():
        found.append(
            (REQUEST.get(), current_causal_tag(), threading.current_thread() is threading.main_thread())
        )
        return 0

    token = REQUEST.set("one")
    try:
        _, report = run(expects(change("rows", read).timeout(5))(lambda: None))
    finally:
        REQUEST.reset(token)

    assert found == [("one", report.causal_tag, False)] * 2


async def test_the_probe_finds_the_context_of_an_async_action_in_its_thread():
    found = []

    @probe(blocking=True)
    def read():
        found.append((REQUEST.get(), current_causal_tag()))
        return 0

    async def act():
        pass

    token = REQUEST.set("two")
    with collect_reports() as reports:
        await expects(change("rows", read))(act)()
    REQUEST.reset(token)

    assert found == [("two", reports[0].causal_tag)] * 2


async def test_a_limited_read_outside_asyncio_is_limited_all_the_same():
    hanging = Hanging(2)

    async def act():
        return "acted"

    coroutine = expects(change("rows", hanging.read).timeout(0.02))(act)()
    with collect_reports() as reports:
        found = await asyncio.to_thread(drive, coroutine)
    hanging.let_go.set()

    assert found == "acted"
    assert reports[0]["rows"].reason == "probe_timeout"


def drive(coroutine):
    """Run a coroutine that never has to wait, without any event loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def test_an_async_probe_with_a_limit_outside_asyncio_has_no_verdict():
    async def read():
        return 0

    async def act():
        return "acted"

    with collect_reports() as reports:
        assert drive(expects(change("rows", read).timeout(1))(act)()) == "acted"

    assert reports[0]["rows"].explanation == (
        "rows: before the action the probe raised RuntimeError: an async probe can be given a time limit by "
        "asyncio alone"
    )
