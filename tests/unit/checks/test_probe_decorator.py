"""`probe`: options for reading a function, which itself stays unchanged."""

import asyncio
import functools
import threading
import time

import pytest

from deltaspan import change, collect_reports, expects, observe, probe, window
from deltaspan.checks._probe import is_blocking
from deltaspan.exceptions import DefinitionTypeError


def test_a_probe_remains_the_same_function():
    def count(tenant):
        return len(tenant)

    assert probe(count) is count
    assert probe(blocking=True)(count) is count
    assert count("acme") == 4


def test_a_probe_blocks_when_it_says_so():
    @probe(blocking=True)
    def blocks():
        return 0

    @probe
    def answers():
        return 0

    assert (is_blocking(blocks), is_blocking(answers), is_blocking(len)) == (True, False, False)


def test_a_partial_of_a_blocking_probe_blocks():
    @probe(blocking=True)
    def count(tenant):
        return len(tenant)

    assert is_blocking(functools.partial(count, "acme"))


def test_a_partial_that_was_configured_itself_blocks_and_has_its_name():
    def count(tenant):
        return len(tenant)

    configured = probe(name="acme", blocking=True)(functools.partial(count, "acme"))

    assert is_blocking(configured)
    assert is_blocking(functools.partial(configured))
    assert "acme" in repr(change("rows", configured))


def test_methods_can_be_probes():
    class Store:
        @probe(blocking=True)
        def count(self):
            return 1

        @probe(blocking=True)
        @staticmethod
        def count_all():
            return 2

        @probe(blocking=True)
        @classmethod
        def count_class(cls):
            return 3

    found = [Store().count, Store.count_all, Store.count_class]
    assert [(is_blocking(each), each()) for each in found] == [(True, 1), (True, 2), (True, 3)]


def test_a_value_that_is_not_callable_is_refused():
    with pytest.raises(DefinitionTypeError, match="a probe is a callable that reads a state, not 3"):
        probe(3)


def test_a_callable_without_attributes_is_refused():
    with pytest.raises(
        DefinitionTypeError,
        match="takes no attributes, so it cannot be configured; wrap it in a function of your own",
    ):
        probe(blocking=True)(len)


def test_an_async_probe_does_not_block():
    async def read():
        return 0

    with pytest.raises(DefinitionTypeError, match="is async, so it awaits and cannot block"):
        probe(blocking=True)(read)


async def test_a_blocking_probe_lets_the_event_loop_go_on_in_an_async_action():
    ticks = []

    @probe(blocking=True)
    def read():
        time.sleep(0.05)
        return 0

    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.005)

    async def act():
        pass

    ticking = asyncio.ensure_future(tick())
    await asyncio.sleep(0)
    await expects(change("rows", read))(act)()
    ticking.cancel()

    assert len(ticks) >= 5


def test_a_blocking_probe_is_read_at_once_in_a_sync_action():
    threads = []

    @probe(blocking=True)
    def read():
        threads.append(threading.current_thread())
        return 0

    expects(change("rows", read))(lambda: None)()

    assert threads == [threading.current_thread()] * 2


async def test_blocking_and_async_probes_are_read_together():
    together = threading.Barrier(2)
    started = asyncio.Event()

    @probe(blocking=True)
    def one():
        together.wait(5)
        return 1

    @probe(blocking=True)
    def two():
        together.wait(5)
        return 2

    async def three():
        started.set()
        return 3

    async def act():
        pass

    with collect_reports() as reports:
        await expects(change("one", one), change("two", two), change("three", three))(act)()

    assert [check.post_state for check in reports[0]] == [1, 2, 3]


async def test_a_blocking_probe_that_raises_is_the_reason():
    @probe(blocking=True)
    def read():
        raise OSError("gone")

    async def act():
        return "acted"

    with collect_reports() as reports:
        assert await expects(change("rows", read))(act)() == "acted"

    assert reports[0]["rows"].explanation == "rows: before the action the probe raised OSError: gone"


def test_a_name_identifies_the_probe_in_repr_and_in_errors():
    @probe(name="stock in Berlin")
    def read():
        raise ConnectionError("no route")

    check = change("stock", read).by(1)
    with window("sell", check) as w:
        pass

    assert repr(observe("stock", probe(name="in_berlin")(lambda: 3))) == "observe('stock', in_berlin)"
    assert w.report["stock"].explanation == (
        "stock: before the action the probe stock in Berlin raised ConnectionError: no route"
    )


@pytest.mark.parametrize("name", ["", "  ", 3])
def test_an_empty_name_is_refused(name):
    with pytest.raises(DefinitionTypeError, match="takes a string that is not empty"):
        probe(name=name)(lambda: 3)


async def test_an_action_that_a_blocking_probe_calls_runs_bare():
    @expects(observe("inner", lambda: 1))
    def look_up():
        return 7

    @expects(observe("outer", probe(blocking=True)(lambda: look_up())))
    async def act():
        """Do nothing."""

    with collect_reports() as reports:
        await act()

    assert [(report.action, report["outer"].post_state) for report in reports] == [("act", 7)]
