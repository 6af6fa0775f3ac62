"""State of the process: renewed in a forked child, and by one reset for tests."""

import asyncio
import gc
import logging
import os
import threading

import pytest

import deltaspan
from deltaspan import _process, change, collect_reports, expects, window
from deltaspan._attribution import _lock_threads
from deltaspan._config import settings
from deltaspan._engine import _deferred
from deltaspan._guard import guarded
from deltaspan._telemetry import Instruments, _recorder, install, instruments
from support.process import open_windows, tracked_runs

FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
ANY_FORK = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded, use of fork:DeprecationWarning"
)


@pytest.fixture
def registered(monkeypatch):
    """Return empty lists of the functions called in a forked child and by a reset."""
    monkeypatch.setattr(_process, "_on_fork", [])
    monkeypatch.setattr(_process, "_on_reset", [])


def exit_status_of_a_fork(work):
    child = os.fork()
    if child == 0:
        os._exit(work())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_reset_closes_the_windows_that_were_left_open():
    left = window("load", change("rows", lambda: 1))
    left.capture_baseline()
    assert open_windows() == {"rows": {left.causal_tag}}

    _process.reset()

    assert (open_windows(), tracked_runs()) == ({}, set())


def test_a_reset_restores_the_default_settings():
    deltaspan.configure(max_state_chars=99)

    _process.reset()

    assert settings().max_state_chars == 1024


def test_a_reset_goes_back_to_the_global_providers():
    chosen = install(Instruments())

    _process.reset()

    assert instruments() is not chosen


def test_a_fault_after_a_reset_is_a_warning_again(caplog):
    def fault():
        raise ValueError

    guarded("the hook", fault)
    _process.reset()
    guarded("the hook", fault)

    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


def test_functions_are_called_in_the_order_in_which_they_were_registered(registered):
    called = []
    for number in range(3):
        _process.on_reset(lambda number=number: called.append(number))

    _process.reset()

    assert called == [0, 1, 2]


def test_a_function_that_raises_keeps_no_other_from_being_called(registered):
    called = []
    _process.on_reset(lambda: 1 / 0)
    _process.on_reset(lambda: called.append("second"))

    with pytest.raises(ZeroDivisionError):
        _process.reset()

    assert called == ["second"]


@FORKS
@ANY_FORK
def test_a_forked_child_is_another_process():
    parent = _process.current_process()

    assert parent is _process.current_process()
    assert exit_status_of_a_fork(lambda: _process.current_process() is parent) == 0


@FORKS
@ANY_FORK
def test_a_forked_child_has_no_open_windows_and_keeps_the_settings():
    deltaspan.configure(max_state_chars=99)
    with window("load", change("rows", lambda: 1)):
        status = exit_status_of_a_fork(lambda: len(open_windows()) * 100 + settings().max_state_chars)

    assert status == 99


@FORKS
@ANY_FORK
def test_a_forked_child_does_not_wait_for_the_threads_of_its_parent():
    gates, recording = _lock_threads._gates, _recorder._recording
    gate = asyncio.Lock()
    gates["a lock"] = gate
    recording.update({0, threading.get_ident()})
    try:
        status = exit_status_of_a_fork(lambda: len(gates) * 100 + (recording == {threading.get_ident()}))
    finally:
        recording.clear()

    assert status == 1
    assert gates["a lock"] is gate


@FORKS
@ANY_FORK
def test_a_deferred_run_whose_event_loop_was_closed_is_reported_by_the_parent_alone():
    async def read():
        return 1

    @expects(change("rows", read).by(1).eventually(60), deferred=True)
    async def act():
        """Change nothing, so that the verdict is awaited."""

    with collect_reports() as reports:
        loop = asyncio.new_event_loop()
        loop.run_until_complete(act())
        loop.close()

        def count_reports():
            _deferred.drain()
            gc.collect()
            return len(reports)

        assert exit_status_of_a_fork(count_reports) == 0
        _deferred.drain()

    assert [report["rows"].reason for report in reports] == ["abandoned"]
