"""Interrupts while a run reads, locks or acts: they reach the caller, and the window closes."""

import asyncio
import ctypes
import functools
import signal
import sys
import threading
import time
from contextlib import contextmanager
from itertools import count

import anyio
import gevent
import gevent.socket
import greenlet
import pytest
from billiard.pool import soft_timeout_sighandler
from celery.exceptions import SoftTimeLimitExceeded

from deltaspan import change, collect_reports, current_causal_tag, expects, observe, unchanged, window
from support.process import held_locks, open_windows
from support.reports import reports_of


class Stopped(Exception):
    """The exception of a handler, as Celery's soft time limit is one."""


class Killed(BaseException):
    """An exception that another thread sets."""


def leave(*_):
    sys.exit(0)


def stop(number, frame):
    del number, frame
    raise Stopped


def expire(number, frame):
    raise TimeoutError


class Handler:
    def __call__(self, number, frame):
        raise Stopped

    def method(self, number, frame):
        raise Stopped


def with_more(_more, number, frame):
    raise Stopped


HANDLERS = {
    "a handler that exits": (leave, SystemExit),
    "a handler that raises": (stop, Stopped),
    "a handler that raises what a time limit raises": (expire, TimeoutError),
    "an object": (Handler(), Stopped),
    "a method": (Handler().method, Stopped),
    "a partial": (functools.partial(with_more, 1), Stopped),
    "Ctrl-C": (signal.default_int_handler, KeyboardInterrupt),
}


@contextmanager
def handling(handler):
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield lambda: signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


@contextmanager
def alarm(handler):
    """Yield a function that has a handler called shortly, in the main thread."""
    before = signal.signal(signal.SIGALRM, handler)
    try:
        yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.03)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Acting:
    """An action that notes that it ran, in a window whose lock and span must not stay behind."""

    def __init__(self, *checks, **options):
        self.lock = threading.Lock()
        self.ran = 0
        self.reports = []
        locked = observe("locked", lambda: 0).exclusively(self.lock)
        self.call = expects(locked, *checks, on_report=self.reports.append, **options)(self.act)

    def act(self):
        self.ran += 1
        return "acted"

    def assert_closed(self, recorded):
        self._assert_window_closed()
        assert recorded.span.end_time is not None
        assert len(self.reports) == 1

    def assert_never_begun(self):
        assert self.ran == 0
        self._assert_window_closed()
        assert [report["rows"].reason for report in self.reports] == ["abandoned"]

    def _assert_window_closed(self):
        assert not self.lock.locked()
        assert not open_windows()
        assert held_locks() == {}
        assert current_causal_tag() is None


@pytest.mark.parametrize("case", HANDLERS)
def test_an_interrupt_during_the_baseline_keeps_the_action_from_beginning(case, recorded):
    handler, kind = HANDLERS[case]
    with handling(handler) as interrupt:
        acting = Acting(change("rows", interrupt))
        with pytest.raises(kind):
            acting.call()

    assert acting.ran == 0
    acting.assert_closed(recorded)
    assert acting.reports[0]["rows"].reason == "abandoned"


@pytest.mark.parametrize("case", HANDLERS)
def test_an_interrupt_during_the_read_after_the_action_reaches_the_caller_with_a_report(case, recorded):
    handler, kind = HANDLERS[case]
    with handling(handler) as interrupt:
        acting = Acting(change("rows", lambda: interrupt() if acting.ran else 0))
        with pytest.raises(kind):
            acting.call()

    assert acting.ran == 1
    acting.assert_closed(recorded)
    assert acting.reports[0]["rows"].reason == "abandoned"


def test_the_interrupt_that_reaches_the_caller_is_the_same_object():
    error = Stopped("time is up")

    def raise_it(*_):
        raise error

    with handling(raise_it) as interrupt, pytest.raises(Stopped) as caught:
        expects(change("rows", interrupt))(lambda: None)()

    assert caught.value is error


def test_an_interrupt_wrapped_by_a_library_reaches_the_caller_unwrapped():
    def read():
        try:
            interrupt()
        except Exception as error:
            raise OSError("the connection broke") from error

    with handling(stop) as interrupt, pytest.raises(Stopped):
        expects(change("rows", read))(lambda: pytest.fail("it ran"))()


def test_an_interrupt_that_the_caller_is_handling_makes_no_interrupt_of_a_fault():
    def read():
        raise OSError("no route")

    ran = []
    with handling(stop) as interrupt, collect_reports() as reports:
        try:
            interrupt()
        except Stopped:
            expects(change("rows", read))(lambda: ran.append(1))()

    assert ran == [1]
    assert reports[0]["rows"].reason == "baseline_failed"


def exit_by_itself():
    sys.exit(2)


def fail_the_test():
    pytest.fail("not as it should be")


@pytest.mark.parametrize("read", [exit_by_itself, fail_the_test])
def test_a_probe_that_exits_by_itself_has_failed(read):
    with collect_reports() as reports:
        found = expects(change("rows", read))(lambda: "acted")()

    assert found == "acted"
    assert reports[0]["rows"].reason == "baseline_failed"


def test_waiting_for_a_lock_can_be_interrupted():
    lock = threading.Lock()
    lock.acquire()
    check = change("rows", lambda: 0).exclusively(lambda: start() and lock)
    with alarm(stop) as start, pytest.raises(Stopped):
        expects(check)(lambda: pytest.fail("it ran"))()
    lock.release()

    assert held_locks() == {}
    assert not lock.locked()


def test_waiting_for_the_lock_of_a_generator_can_be_interrupted():
    lock = threading.Lock()
    lock.acquire()

    def act():
        yield pytest.fail("it ran")

    with alarm(stop) as start, pytest.raises(Stopped):
        list(expects(change("rows", lambda: 0).exclusively(lambda: start() and lock))(act)())
    lock.release()

    assert lock.acquire(timeout=5)


@pytest.mark.parametrize("handler", [stop, expire])
def test_waiting_for_a_read_with_a_time_limit_can_be_interrupted(handler):
    release = threading.Event()
    check = change("rows", lambda: start() and release.wait()).timeout(60)
    with alarm(handler) as start, pytest.raises((Stopped, TimeoutError)) as caught:
        expects(check)(lambda: pytest.fail("it ran"))()
    release.set()

    assert caught.traceback[-1].name == handler.__name__


def test_polling_can_be_interrupted(recorded):
    def read():
        if acting.ran:
            start()
        return 0

    acting = Acting(change("rows", read).by(1).eventually(60, every=5))
    with alarm(stop) as start, pytest.raises(Stopped):
        acting.call()

    assert acting.ran == 1
    acting.assert_closed(recorded)


def at_first(interrupt):
    calls = count()
    return lambda _: next(calls) or interrupt()


AFTERWARDS = {
    "an expected value": lambda interrupt: {"checks": [change("rows", lambda: 0).by(lambda: interrupt())]},
    "a predicate": lambda interrupt: {
        "checks": [change("rows", lambda: 0).satisfying(lambda delta: interrupt(), "whatever")]
    },
    "a redaction": lambda interrupt: {"checks": [change("rows", lambda: 0).redacted(by=at_first(interrupt))]},
    "a hook": lambda interrupt: {"checks": [change("rows", lambda: 0)], "on_report": lambda _: interrupt()},
}


@pytest.mark.parametrize("place", AFTERWARDS)
def test_an_interrupt_while_judging_or_reporting_reaches_the_caller(place):
    with handling(stop) as interrupt:
        options = AFTERWARDS[place](interrupt)
        ran = []
        with collect_reports() as reports, pytest.raises(Stopped):
            expects(*options.pop("checks"), **options)(lambda: ran.append(1))()

    assert ran == [1]
    assert len(reports) == 1
    assert not open_windows()
    assert current_causal_tag() is None


class Odd:
    """A value whose own methods are interrupted."""

    def __init__(self, interrupt):
        self._interrupt = interrupt

    def __eq__(self, other):
        self._interrupt()

    def __hash__(self):
        return 1

    def __str__(self):
        self._interrupt()
        return "odd"


def test_an_interrupt_while_a_state_is_compared_reaches_the_caller():
    with handling(stop) as interrupt, pytest.raises(Stopped):
        expects(change("rows", lambda: {Odd(interrupt): 1}))(lambda: None)()


def test_an_interrupt_while_an_error_is_rendered_reaches_the_caller():
    def read():
        raise LookupError(Odd(interrupt))

    with handling(stop) as interrupt, pytest.raises(Stopped):
        expects(change("rows", read))(lambda: None)()


def test_an_interrupt_while_a_manual_window_is_opened_reaches_the_caller():
    with handling(stop) as interrupt:
        opened = window("rows", unchanged("rows", interrupt))
        with pytest.raises(Stopped):
            opened.capture_baseline()

    assert opened.report["rows"].reason == "abandoned"
    assert not open_windows()


def set_from_another_thread(kind, ready):
    """Have another thread raise an exception in this one as soon as it is ready."""
    here = ctypes.c_ulong(threading.get_ident())

    def strike():
        ready.wait()
        time.sleep(0.01)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(kind))

    thread = threading.Thread(target=strike)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", [Killed, Stopped, SystemExit])
def test_an_exception_set_by_another_thread_in_a_loop_reaches_the_caller(kind):
    ready = threading.Event()

    def read():
        ready.set()
        while True:
            pass

    thread = set_from_another_thread(kind, ready)
    with pytest.raises(kind):
        expects(change("rows", read))(lambda: pytest.fail("it ran"))()
    thread.join()


def test_a_base_exception_set_by_another_thread_during_a_call_reaches_the_caller():
    ready = threading.Event()

    def read():
        ready.set()
        for _ in range(1000):
            time.sleep(0.01)

    thread = set_from_another_thread(Killed, ready)
    with pytest.raises(Killed):
        expects(change("rows", read))(lambda: pytest.fail("it ran"))()
    thread.join()


def test_a_compiled_library_that_raises_is_a_probe_that_failed():
    # The frame of a compiled function in a traceback looks as if it had only just begun.
    gevent_event = pytest.importorskip("gevent.event")
    failed = gevent_event.AsyncResult()
    failed.set_exception(LookupError("no such row"))
    reports = reports_of(expects(change("rows", failed.get))(lambda: None))

    assert reports[0]["rows"].reason == "baseline_failed"


# Interrupts of gevent, greenlet, anyio, trio and billiard -----------------------------------------------


class Late(Exception):
    pass


@pytest.mark.parametrize("given", [None, Late, Late("too long")], ids=["Timeout", "class", "instance"])
def test_a_timeout_of_gevent_around_an_action_stops_it(given):
    acting = Acting(change("rows", lambda: gevent.sleep(60)))
    timeout = gevent.Timeout(0.02, given)
    with pytest.raises((gevent.Timeout, Late)) as caught, timeout:
        acting.call()

    assert given is Late or caught.value is (timeout if given is None else given)
    acting.assert_never_begun()


@pytest.mark.parametrize("kind", [greenlet.GreenletExit, Late])
def test_a_greenlet_of_gevent_that_is_killed_does_not_act(kind):
    acting = Acting(change("rows", lambda: gevent.sleep(60)))
    ended = []

    def run():
        try:
            acting.call()
        except BaseException as error:
            ended.append(type(error))

    running = gevent.spawn(run)
    gevent.sleep(0.01)
    running.kill(kind)

    assert ended == [kind]
    acting.assert_never_begun()


def test_a_greenlet_that_is_killed_does_not_act():
    acting = Acting(change("rows", lambda: greenlet.getcurrent().parent.switch()))
    running = greenlet.greenlet(acting.call)
    running.switch()
    running.throw(greenlet.GreenletExit)

    assert running.dead
    acting.assert_never_begun()


def test_the_time_limit_of_a_socket_of_gevent_is_the_fault_of_the_probe():
    here, there = gevent.socket.socketpair()
    here.settimeout(0.02)
    with here, there, collect_reports() as reports:
        expects(change("rows", lambda: here.recv(1)))(lambda: None)()

    assert reports[0]["rows"].reason == "baseline_failed"


def test_the_soft_time_limit_of_celery_stops_an_action():
    acting = Acting(change("rows", lambda: signal.raise_signal(signal.SIGUSR1)))
    before = signal.signal(signal.SIGUSR1, soft_timeout_sighandler)
    try:
        with pytest.raises(SoftTimeLimitExceeded):
            acting.call()
    finally:
        signal.signal(signal.SIGUSR1, before)

    acting.assert_never_begun()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_scope_of_anyio_stops_an_action_while_its_probe_is_awaited(backend):
    async def read():
        scopes[0].deadline = 0
        await anyio.sleep(60)

    reports, ran, scopes = [], [], []

    @expects(change("rows", read), on_report=reports.append)
    async def act():
        ran.append(1)

    async def main():
        with anyio.move_on_after(60) as scope:
            scopes.append(scope)
            await act()
        return scope.cancelled_caught

    assert anyio.run(main, backend=backend)
    assert ran == []
    assert [report["rows"].reason for report in reports] == ["abandoned"]
    assert not open_windows()


async def test_a_task_that_was_cancelled_before_its_first_read_does_not_act():
    async def read():
        await asyncio.sleep(0)
        return 1

    ran = []

    @expects(change("rows", read))
    async def act():
        ran.append(1)

    async def main():
        asyncio.current_task().cancel()
        await act()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(main())

    assert ran == []
