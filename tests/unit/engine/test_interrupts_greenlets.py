"""Interrupts of gevent, greenlet, anyio, trio and billiard: the action that was not begun does not begin."""

import asyncio
import signal
import threading

import anyio
import gevent
import gevent.socket
import greenlet
import pytest
from billiard.pool import soft_timeout_sighandler
from celery.exceptions import SoftTimeLimitExceeded

from deltaspan import change, collect_reports, current_causal_tag, expects, observe
from support.process import open_windows


class Acting:
    """An action that notes that it ran, and its window's lock and reports."""

    def __init__(self, *checks):
        self.ran = 0
        self.lock = threading.Lock()
        self.reports = []
        locked = observe("locked", lambda: 0).exclusively(self.lock)
        self.call = expects(locked, *checks, on_report=self.reports.append)(self.act)

    def act(self):
        self.ran += 1

    def assert_never_begun(self):
        assert self.ran == 0
        assert not self.lock.locked()
        assert not open_windows()
        assert current_causal_tag() is None
        assert [report["rows"].reason for report in self.reports] == ["abandoned"]


class Late(Exception):
    pass


@pytest.mark.parametrize("given", [None, Late, Late("too long")], ids=["Timeout", "class", "instance"])
def test_a_timeout_of_gevent_around_an_action_stops_it(given):
    acting = Acting(change("rows", lambda: gevent.sleep(5)))
    timeout = gevent.Timeout(0.02, given)
    with pytest.raises((gevent.Timeout, Late)) as caught, timeout:
        acting.call()

    assert given is Late or caught.value is (timeout if given is None else given)
    acting.assert_never_begun()


@pytest.mark.parametrize("kind", [greenlet.GreenletExit, Late])
def test_a_greenlet_of_gevent_that_is_killed_does_not_act(kind):
    acting = Acting(change("rows", lambda: gevent.sleep(5)))
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
        await anyio.sleep(5)

    reports, ran = [], []

    @expects(change("rows", read), on_report=reports.append)
    async def act():
        ran.append(1)

    async def main():
        with anyio.move_on_after(0.02) as scope:
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
