"""No action is broken by what comes after it: futures, background verdicts, locks, other processes."""

from __future__ import annotations

import asyncio
import pickle
import threading

import pytest

from deltaspan import DeltaCheckFailed, Window, change, collect_reports, expects, observe
from deltaspan import _workers as _threads
from deltaspan._engine import _deferred
from deltaspan._state.codec import Unreadable, decode
from support.process import open_windows


class BrokenFuture:
    """Looks like a future, and tells nothing."""

    def add_done_callback(self, call):
        raise RuntimeError("no callbacks")

    def cancelled(self):
        return False

    def exception(self):
        return None


def test_a_future_that_cannot_be_watched_comes_back_as_it_is():
    future = BrokenFuture()

    with collect_reports() as reports:
        assert expects(observe("rows", lambda: 1))(lambda: future)() is future

    assert reports[0].outcome == "observed"
    assert not open_windows()


def test_a_deferred_action_without_an_event_loop_of_asyncio_is_judged_at_once():
    async def probe():
        return 1

    async def action():
        return "done"

    coroutine = expects(observe("rows", probe), deferred=True)(action)()
    with collect_reports() as reports, pytest.raises(StopIteration) as end:
        coroutine.send(None)

    assert end.value.value == "done"
    assert [report.outcome for report in reports] == ["observed"]


def test_a_loop_that_is_closed_before_a_verdict_leaves_no_scope_open():
    rows = []

    async def probe():
        await asyncio.sleep(0)
        return len(rows)

    async def action():
        rows.append(1)

    check = change("rows", probe).by(2).eventually(60, every=30)
    loop = asyncio.new_event_loop()
    with collect_reports() as reports:
        loop.run_until_complete(expects(check, deferred=True)(action)())
        loop.close()
        _deferred.drain(5)

        assert not open_windows()
    assert [report["rows"].reason for report in reports] == ["abandoned"]


def test_without_a_thread_to_be_had_a_deferred_verdict_is_reached_all_the_same(monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_deferred, "_scheduler", _deferred._Scheduler())
    monkeypatch.setattr(_threads.threading.Thread, "start", no_thread)
    with collect_reports() as reports:
        assert expects(observe("rows", lambda: 1), deferred=True)(lambda: "done")() == "done"

    assert [report.outcome for report in reports] == ["observed"]


def test_a_lock_that_excludes_nobody_proves_nothing():
    rows = []
    check = change("rows", lambda: len(rows)).by(1)
    lazy = Window("lazy", check.exclusively(threading.Lock()))
    lazy.capture_baseline()
    with Window("busy", check.exclusively(threading.Lock())):
        rows.append(1)

    assert lazy.verify()["rows"].reason == "contended"


def test_a_lock_that_is_held_is_given_back_when_the_window_is_interrupted():
    lock = threading.Lock()

    def probe():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        expects(observe("rows", probe).exclusively(lock))(lambda: None)()

    assert not lock.locked()


def test_a_failure_that_cannot_be_pickled_whole_keeps_its_sentence():
    action = expects(change("rows", lambda: 1).by(1), on_failure="raise")(lambda: threading.Lock())
    with pytest.raises(DeltaCheckFailed) as caught:
        action()
    there = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  # our own

    assert str(there) == "<lambda>: expected rows to change by 1, but it changed by 0 (1 → 1)"
    assert there.result is None


def test_a_fraction_from_elsewhere_is_not_computed_from_a_power_of_ten():
    with pytest.raises(Unreadable):
        decode({"fraction": ["1e30000000"]})
