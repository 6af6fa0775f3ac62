"""The registry of open windows: it holds open windows alone, through interrupts and forks too."""

import asyncio
import contextlib
import gc
import os
import signal
import threading
import time
from dataclasses import dataclass
from functools import partial

import pytest
from opentelemetry.context import Context

from deltaspan import _concurrency as _serial
from deltaspan import change, collect_reports, current_causal_tag, expects, observe, tagged, window
from deltaspan._attribution import Entry, Scope, _contention, _counters, _overlap
from deltaspan.causal_tag import _descendants as _lineage
from deltaspan.causal_tag._context import mint
from support.interrupting import Interrupting
from support.overlapping import run_in_threads
from support.process import open_windows, tracked_roots, tracked_runs


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


def test_an_argument_that_changes_its_hash_during_the_action_still_contends():
    @dataclass(unsafe_hash=True)
    class Order:
        items: int = 0

    barrier = threading.Barrier(2)
    order, reports = Order(), []

    @expects(change("items", lambda order: order.items), on_report=reports.append)
    def add(order):
        barrier.wait(60)
        order.items += 1
        barrier.wait(60)

    run_in_threads(*[partial(add, order)] * 2)

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
        counted = Interrupting(lambda: None, *REGISTRY)
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


# Handlers and interrupts at each line -------------------------------------------------------------------


REGISTRY = (_contention.__file__, _counters.__file__, _overlap.__file__)
FILES = (*REGISTRY, _lineage.__file__, _serial.__file__)


@pytest.fixture
def state():
    return {"count": 0}


def counting(state, name, **options):
    def add():
        state["count"] += 1

    return expects(change("count", lambda: state["count"]).by(1), name=name, **options)(add)


def before_each_line(act, handle):
    """Run an action again and again, each time with a handler before another line; yield the number of it."""
    line = 0
    while True:
        line += 1
        handler = Interrupting(handle, *FILES, only=line)
        with handler:
            act()
        if handler.lines < line:
            break
        yield line
    assert line > 30


def test_a_handler_in_the_context_of_the_action_is_its_descendant_at_every_line(state):
    """Changes of the handler are the action's own, before, within or after its window."""
    save, handle = counting(state, "save"), counting(state, "handler")
    with collect_reports() as reports:
        for _ in before_each_line(save, handle):
            handled, saved = sorted(reports[-2:], key=lambda report: report.action)
            assert handled.outcome == "pass"
            assert saved["count"].reason is None
            assert saved["count"].actual_delta in (1, 2)
            assert open_windows() == {}


def test_a_window_that_a_handler_opens_and_closes_leaves_nothing_behind_among_others(state):
    save = counting(state, "save")
    others = [window(f"other {number}", observe("count", lambda: 0)) for number in range(3)]
    for other in others:
        other.capture_baseline()
    for _ in before_each_line(save, counting(state, "handler")):
        assert open_windows()["count"] == {other.causal_tag for other in others}
    for other in others:
        other.verify()

    assert open_windows() == {}


def test_an_open_window_notes_a_window_that_a_handler_opened_within_a_step(state):
    save, handle = counting(state, "save"), counting(state, "handler")
    for _ in before_each_line(save, handle):
        pass
    watcher = window("watcher", change("count", lambda: state["count"]).by(1))
    watcher.capture_baseline()
    with Interrupting(handle, *FILES, only=12):
        save()
    report = watcher.verify()

    assert report["count"].reason == "contended"
    assert "2 other runs" in report["count"].explanation


def test_a_handler_knows_the_rows_of_its_nested_runs_at_every_line():
    rows = []

    def nested():
        rows.append({"id": len(rows), "tag": current_causal_tag()})

    probe = tagged(lambda: list(rows), key="id", tag="tag")
    inner = expects(observe("nothing", lambda: 0))(nested)
    handle = expects(change("rows", probe).by(1), name="handler")(inner)
    save = expects(change("rows", probe).by_at_least(1), name="save")(inner)
    with collect_reports() as reports:
        for _ in before_each_line(save, handle):
            assert [report.outcome for report in reports if report.action == "handler"][-1] == "pass"
            assert (tracked_runs(), tracked_roots()) == (set(), set())


def test_a_finalizer_that_the_collector_runs_may_call_an_action(state):
    handle = counting(state, "finalizer")

    class Finalized:
        def __init__(self):
            self.own = self

        def __del__(self):
            handle()

    def collect():
        Finalized()
        gc.collect(0)

    for _ in before_each_line(counting(state, "save"), collect):
        assert open_windows() == {}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="interval timers")
def test_a_signal_handler_may_call_an_action_at_any_time(state):
    save = counting(state, "save")
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: (calls.append(1), save()))
    ends_at = time.monotonic() + 60
    try:
        while len(calls) < 1000 and time.monotonic() < ends_at:
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
            save()
            save()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert len(calls) >= 1000
    assert open_windows() == {}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_that_is_forked_while_other_threads_open_windows_opens_its_own(state):
    ends = threading.Event()

    def work():
        act = counting(state, "other")
        while not ends.is_set():
            act()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    codes = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            reports = []
            own = {"count": 0}
            counting(own, "child", on_report=reports.append)()
            os._exit(0 if [report.outcome for report in reports] == ["pass"] else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    ends.set()
    for thread in threads:
        thread.join()

    assert codes == [0] * 10


class Interrupted(BaseException):
    pass


def interrupt():
    raise Interrupted


def entry_of(name, place):
    scope = Scope("count", ("place",), ("place",), (place,))
    return Entry(scope, name, mint(Context()), True)


@pytest.mark.parametrize("places", [("a", "a"), ("a", "b")], ids=["one place", "two places"])
@pytest.mark.parametrize("step", ["open_window", "retire_window", "close_window"])
def test_a_step_that_is_interrupted_at_any_line_leaves_nothing_behind(step, places):
    line, is_interrupted = 0, True
    while is_interrupted:
        line += 1
        first, second = (entry_of(name, place) for name, place in zip("ab", places, strict=True))
        _contention.open_window(first)
        if step == "close_window":
            _contention.open_window(second)
        try:
            with Interrupting(interrupt, *REGISTRY, only=line):
                getattr(_contention, step)(first if step == "retire_window" else second)
            is_interrupted = False
        except Interrupted:
            pass
        for each in (second, first):
            _contention.close_window(each)
        assert open_windows() == {}
    assert line > 10


def test_an_action_that_is_interrupted_at_any_line_of_its_window_leaves_nothing_behind(state):
    save = counting(state, "save")
    line, is_interrupted = 0, True
    while is_interrupted:
        line += 1
        try:
            with Interrupting(interrupt_by_hand, *REGISTRY, only=line):
                save()
            is_interrupted = False
        except KeyboardInterrupt:
            pass
        assert open_windows() == {}
    assert line > 10


def interrupt_by_hand():
    raise KeyboardInterrupt
