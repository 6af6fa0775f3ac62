"""The registry of open windows holds what is open and nothing else, and stays fast with thousands of them."""

import asyncio
import contextlib
import gc
import sys
import threading
from bisect import bisect
from dataclasses import dataclass
from itertools import count
from time import perf_counter, sleep

import pytest
from opentelemetry.context import Context

from deltaspan import change, collect_reports, expects, observe, window
from deltaspan._attribution import Entry, Scope, _contention, _counters, _overlap
from deltaspan.causal_tag._context import mint
from support.interrupting import Interrupting
from support.process import open_windows


def test_a_thousand_windows_leave_nothing_behind():
    rows = []
    for number in range(1000):
        with window("load", change("rows", lambda tenant: len(rows)), args={"tenant": number % 7}):
            rows.append(number)

    assert open_windows() == {}


def test_a_thousand_failed_windows_leave_nothing_behind():
    act = expects(change("rows", lambda: 1))(lambda: 1 / 0)
    for _ in range(1000):
        with contextlib.suppress(ZeroDivisionError):
            act()

    assert open_windows() == {}


def test_an_observation_is_registered_as_its_action_may_write():
    with window("load", observe("rows", lambda: 1)):
        assert list(open_windows()) == ["rows"]

    assert open_windows() == {}


def test_an_argument_that_hashes_by_value_and_is_changed_by_the_action_leaves_nothing_behind():
    @dataclass(unsafe_hash=True)
    class Order:
        items: int = 0

    @expects(change("items", lambda order: order.items).by(1))
    def add(order):
        order.items += 1

    add(Order())

    assert open_windows() == {}


def test_an_argument_that_changes_its_hash_in_the_action_contends_all_the_same():
    @dataclass(unsafe_hash=True)
    class Order:
        items: int = 0

    barrier = threading.Barrier(2)
    order, reports = Order(), []

    @expects(change("items", lambda order: order.items), on_report=reports.append)
    def add(order):
        barrier.wait(10)
        order.items += 1
        barrier.wait(10)

    threads = [threading.Thread(target=add, args=(order,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [report["items"].reason for report in reports] == ["contended", "contended"]
    assert open_windows() == {}


@pytest.mark.parametrize("broken", ["__eq__", "__hash__", "both"])
def test_an_argument_that_cannot_be_compared_or_hashed_breaks_no_action(broken):
    class Argument:
        def __eq__(self, other):
            if broken != "__hash__":
                raise RuntimeError("no equality")
            return self is other

        def __hash__(self):
            if broken != "__eq__":
                raise RuntimeError("no hash")
            return 1

    @expects(change("rows", lambda argument: 1))
    def act(argument, then=None):
        return then() if then else "done"

    assert act(Argument(), lambda: act(Argument())) == "done"
    assert open_windows() == {}


def test_a_window_that_is_never_verified_is_forgotten_when_it_is_collected():
    w = window("load", change("rows", lambda: 1))
    w.capture_baseline()
    assert len(open_windows()) == 1

    del w
    gc.collect()

    assert open_windows() == {}


def test_a_window_that_is_never_verified_does_not_contend_after_it_was_collected():
    state = [0]
    check = change("rows", lambda: state[0]).by(1)
    window("forgotten", check).capture_baseline()
    gc.collect()

    with window("load", check) as w:
        state[0] += 1

    assert w.report.outcome == "pass"


async def test_two_thousand_windows_of_their_own_scopes_are_all_judged():
    counts = dict.fromkeys(range(2000), 0)

    @expects(change("count", lambda number: counts[number]).by(1))
    async def act(number):
        await asyncio.sleep(0)
        counts[number] += 1

    with collect_reports() as reports:
        await asyncio.gather(*map(act, counts))

    assert [report.outcome for report in reports] == ["pass"] * 2000
    assert open_windows() == {}


async def test_two_thousand_windows_of_one_scope_are_all_contended_and_leave_nothing_behind():
    state = [0]

    @expects(change("count", lambda: state[0]))
    async def act():
        await asyncio.sleep(0)
        state[0] += 1

    with collect_reports() as reports:
        await asyncio.gather(*[act() for _ in range(2000)])

    assert [report["count"].reason for report in reports] == ["contended"] * 2000
    assert open_windows() == {}


@pytest.mark.parametrize("values", [lambda number: {"tenant": number}, lambda _: {}], ids=["own", "shared"])
def test_a_window_runs_as_many_lines_among_thousands_as_among_ten(values):
    def open_one(number):
        args = values(number)
        probe = (lambda tenant: 0) if args else (lambda: 0)
        w = window("load", change("rows", probe), args=args)
        w.capture_baseline()
        return w

    def lines():
        counted = Interrupting(lambda: None, _contention.__file__, _counters.__file__, _overlap.__file__)
        with counted:
            open_one(-1).verify()
        return counted.lines

    unscoped = window("all", change("rows", lambda: 0))
    unscoped.capture_baseline()
    opened = [open_one(number) for number in range(10)]
    among_ten = lines()
    opened += [open_one(number) for number in range(10, 5000)]
    among_thousands = lines()
    for each in (unscoped, *opened):
        each.verify()

    assert among_thousands <= among_ten + 20
    assert open_windows() == {}


def test_threads_that_open_and_close_at_once_miss_no_window_and_invent_none():
    """Instants are counted around each step. So two windows overlap surely, perhaps or never."""
    instants, windows = count(), []

    def work():
        ends_at = perf_counter() + 0.5
        while perf_counter() < ends_at:
            entry = Entry(Scope("count"), "load", mint(Context()), True)
            before = next(instants)
            _contention.open_window(entry)
            opened = next(instants)
            sleep(0)  # the other thread goes on
            closing = next(instants)
            overlap = _contention.close_window(entry)
            windows.append((before, opened, closing, next(instants), overlap.run_count))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)

    befores, openings, closings, ends = (
        sorted(instants) for instants in list(zip(*windows, strict=True))[:4]
    )
    for before, opened, closing, closed, run_count in windows:
        surely = bisect(openings, closing) - bisect(closings, opened) - 1
        perhaps = bisect(befores, closed) - bisect(ends, before) - 1
        assert surely <= run_count <= perhaps
    assert any(run_count for *_, run_count in windows)
    assert open_windows() == {}
