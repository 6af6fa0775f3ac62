"""Locks of checks: held from before the baseline until after the verdict, released on every path."""

import asyncio
import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock

from deltaspan import change, collect_reports, expects, unchanged, window
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from support.overlapping import run_in_threads
from support.process import held_locks
from support.reports import reports_of


class Noted:
    """A context manager that notes what happens to it."""

    def __init__(self, *, enter=None, leave=None):
        self.events = []
        self.enter = enter
        self.leave = leave

    def __enter__(self):
        self.events.append("entered")
        if self.enter is not None:
            raise self.enter

    def __exit__(self, *_):
        self.events.append("left")
        if self.leave is not None:
            raise self.leave


@pytest.fixture(autouse=True)
def _nothing_stays_held():
    yield
    assert held_locks() == {}


def run(action, *args):
    return reports_of(action, *args)[-1]


def test_the_lock_is_taken_before_the_baseline_and_released_after_the_verdict():
    lock = Noted()
    check = change("rows", lambda: lock.events.append("read")).exclusively(lock)
    act = expects(check, on_report=lambda _: lock.events.append("reported"))(
        lambda: lock.events.append("acted")
    )
    act()

    assert lock.events == ["entered", "read", "acted", "read", "left", "reported"]


def test_the_attribution_is_exclusive():
    report = run(expects(change("rows", lambda: 0).exclusively(threading.Lock()))(lambda: None))

    assert report["rows"].attribution == "exclusive"


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock, lambda: threading.Semaphore(1)])
def test_writers_that_take_one_lock_do_not_contend(make):
    lock, rows = make(), []

    def act():
        before = len(rows)
        time.sleep(0.002)
        rows[before:] = [1]

    checked = expects(change("rows", lambda: len(rows)).by(1).exclusively(lock))(act)
    with ThreadPoolExecutor(4) as threads:
        reports = list(threads.map(lambda _: run(checked), range(8)))

    assert [report.outcome for report in reports] == ["pass"] * 8
    assert len(rows) == 8


def test_a_file_lock_keeps_writers_apart(tmp_path):
    rows = []

    def act():
        before = len(rows)
        time.sleep(0.002)
        rows[before:] = [1]

    check = (
        change("rows", lambda: len(rows))
        .by(1)
        .exclusively(lambda: FileLock(tmp_path / "rows.lock", poll_interval=0.002))
    )
    checked = expects(check)(act)
    with ThreadPoolExecutor(4) as threads:
        reports = list(threads.map(lambda _: run(checked), range(8)))

    assert [report.outcome for report in reports] == ["pass"] * 8


def test_the_wait_for_the_lock_is_reported(recorded):
    @contextlib.contextmanager
    def slow():
        time.sleep(0.3)
        yield

    report = run(expects(change("rows", lambda: 0).exclusively(slow))(lambda: None))
    lock_seconds = report["rows"].timing.lock_seconds

    assert lock_seconds >= 0.3
    assert recorded.event.attributes["deltaspan.check.lock_wait.duration"] == lock_seconds
    assert report.verification_seconds < lock_seconds


def test_a_lock_is_computed_from_the_parameters_of_the_action():
    locks = {"acme": threading.Lock(), "other": threading.Lock()}
    held = []

    @expects(change("rows", lambda tenant: 0).exclusively(lambda tenant: locks[tenant]))
    def act(tenant):
        held.append({name: lock.locked() for name, lock in locks.items()})

    act("acme")
    act("other")

    assert held == [{"acme": True, "other": False}, {"acme": False, "other": True}]


def test_any_context_manager_can_be_the_lock():
    events = []

    @contextlib.contextmanager
    def advisory(tenant):
        events.append(("locked", tenant))
        yield
        events.append(("unlocked", tenant))

    @expects(change("rows", lambda: 0).exclusively(advisory))
    def act(tenant):
        events.append("acted")

    act("acme")

    assert events == [("locked", "acme"), "acted", ("unlocked", "acme")]


def test_two_checks_with_one_lock_take_it_once():
    lock = Noted()
    checks = [change("a", lambda: 0).exclusively(lock), change("b", lambda: 0).exclusively(lock)]
    report = run(expects(*checks)(lambda: None))

    assert lock.events == ["entered", "left"]
    assert [check.attribution for check in report] == ["exclusive", "exclusive"]


def test_several_locks_are_released_in_reverse_order():
    events = []

    @contextlib.contextmanager
    def noted(name):
        events.append(f"{name} taken")
        yield
        events.append(f"{name} released")

    checks = [change(name, lambda: 0).exclusively(lambda name=name: noted(name)) for name in ("a", "b")]
    expects(*checks)(lambda: None)()

    assert events == ["a taken", "b taken", "b released", "a released"]


def test_a_window_that_is_nested_under_the_holder_does_not_take_it_again():
    lock, rows = threading.Lock(), []
    check = change("rows", lambda: len(rows)).exclusively(lock)
    inner = expects(check.by(1), name="inner")(lambda: rows.append(1))
    reports = reports_of(expects(check.by(2), name="outer")(lambda: [inner(), inner()]))

    assert [(report.action, report.outcome) for report in reports] == [
        ("inner", "pass"),
        ("inner", "pass"),
        ("outer", "pass"),
    ]
    assert not lock.locked()


def test_a_recomputed_lock_is_not_taken_again_for_equal_arguments(tmp_path):
    check = (
        change("rows", lambda: 0).by(0).exclusively(lambda tenant: FileLock(tmp_path / tenant, timeout=0.05))
    )
    inner = expects(check, name="inner")(lambda tenant: None)
    outer = expects(check, name="outer")(lambda tenant: inner(tenant=tenant))
    reports = reports_of(outer, "acme")

    assert [report.outcome for report in reports] == ["pass", "pass"]


def test_siblings_under_one_holder_contend_since_they_share_its_lock():
    lock, rows, together, inner_reports = threading.Lock(), [], threading.Barrier(2), []
    check = change("rows", lambda: len(rows)).exclusively(lock)

    @expects(check, name="inner", on_report=inner_reports.append)
    def inner():
        together.wait(60)
        rows.append(1)
        together.wait(60)

    @expects(check, name="outer")
    def outer():
        run_in_threads(*[partial(copy_context().run, inner) for _ in range(2)])

    report = run(outer)

    assert [inner_report["rows"].reason for inner_report in inner_reports] == ["contended"] * 2
    assert report.outcome == "pass"


def test_a_lock_that_raises_makes_the_check_inconclusive_and_the_action_runs():
    lock = Noted(enter=TimeoutError("held by another"))
    ran = []
    report = run(
        expects(change("rows", lambda: 0).exclusively(lock), unchanged("users", lambda: 3))(
            lambda: ran.append(1)
        )
    )

    assert ran == [1]
    assert (report["rows"].outcome, report["rows"].reason) == ("inconclusive", "baseline_failed")
    assert report["rows"].explanation == "rows: its lock could not be taken: TimeoutError: held by another"
    assert report["users"].outcome == "pass"
    assert lock.events == ["entered"]


def test_a_lock_that_cannot_be_computed_makes_the_check_inconclusive():
    locks = {}
    report = run(
        expects(change("rows", lambda: 0).exclusively(lambda tenant: locks[tenant]))(lambda tenant: None),
        "acme",
    )

    assert report["rows"].explanation == "rows: its lock could not be taken: KeyError: 'acme'"


def test_a_computed_lock_must_be_a_lock():
    report = run(expects(change("rows", lambda: 0).exclusively(lambda: 3))(lambda: None))

    assert report["rows"].explanation == (
        "rows: its lock could not be taken: TypeError: 3 is not a lock that a sync action can take"
    )


def test_an_async_lock_on_a_sync_action_is_refused_at_decoration():
    check = change("rows", lambda: 0).exclusively(asyncio.Lock())

    with pytest.raises(DefinitionTypeError) as caught:
        expects(check, name="load")(lambda: None)

    assert str(caught.value) == (
        "action 'load' is not async, but the lock of check 'rows' is; use a lock that blocks, such as "
        "threading.Lock(), or an async action"
    )


def test_an_async_lock_on_a_sync_window_is_refused_when_it_opens():
    opened = window("load", change("rows", lambda: 0).exclusively(asyncio.Lock()))

    with pytest.raises(DefinitionTypeError, match="but the lock of check 'rows' is async; use async with"):
        opened.__enter__()


def test_a_lock_that_is_computed_async_is_refused():
    async def find():
        return threading.Lock()

    with pytest.raises(DefinitionTypeError, match="the lock of check 'rows' on action 'act' is async"):
        expects(change("rows", lambda: 0).exclusively(find), name="act")(lambda: None)


def test_a_computed_lock_that_names_no_parameter_of_the_action_is_refused():
    with pytest.raises(DefinitionTypeError, match="the lock of check 'rows' on action 'act' needs 'tenent'"):
        expects(change("rows", lambda: 0).exclusively(lambda tenent: tenent), name="act")(lambda tenant: None)


def test_an_object_that_is_not_a_lock_is_refused():
    with pytest.raises(DefinitionTypeError, match="exclusively takes a lock, which is a context manager"):
        change("rows", len).exclusively(3)
    with pytest.raises(DefinitionValueError, match="was already set on"):
        change("rows", len).exclusively(threading.Lock()).exclusively(threading.Lock())
    with pytest.raises(DefinitionValueError, match="this semaphore allows 2; use a lock"):
        change("rows", len).exclusively(threading.Semaphore(2))


@pytest.mark.parametrize(
    ("outer", "inner"),
    [(Path("/srv/x"), Path("/srv/x")), (Path("/srv/x"), "/srv/x/"), (7, "7")],
    ids=["equal paths", "a path and its text", "a number and its text"],
)
def test_a_computed_lock_is_not_taken_again_for_an_argument_of_the_same_place(tmp_path, outer, inner):
    def lock(folder):
        return FileLock(tmp_path / "one.lock", timeout=1)

    check = change("rows", lambda folder: 0).by(0).exclusively(lock)

    @expects(check, name="inner")
    def nested(folder):
        """Do nothing."""

    @expects(check, name="outer")
    def act(folder):
        nested(inner)

    reports = reports_of(act, outer)

    assert [(report.action, report.outcome) for report in reports] == [("inner", "pass"), ("outer", "pass")]


# Release ------------------------------------------------------------------------------------------------


def test_a_lock_that_cannot_be_released_is_logged_and_breaks_nothing(caplog):
    first, second = Noted(), Noted(leave=RuntimeError("no longer owned"))
    checks = [
        change("a", lambda: 0).by(0).exclusively(first),
        change("b", lambda: 0).by(0).exclusively(second),
    ]
    report = run(expects(*checks)(lambda: None))

    assert report.outcome == "pass"
    assert first.events == ["entered", "left"]
    assert "the release of a lock raised and was ignored" in caplog.text


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_the_lock_is_released_when_the_action_raises(error):
    lock = threading.Lock()

    def act():
        raise error

    with pytest.raises(type(error)) as caught:
        expects(change("rows", lambda: 0).exclusively(lock))(act)()

    assert caught.value is error
    assert not lock.locked()


@pytest.mark.parametrize("read", [1, 2])
def test_the_lock_is_released_when_a_probe_is_interrupted(read):
    lock, reads = threading.Lock(), []

    def probe():
        reads.append(1)
        if len(reads) == read:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        expects(change("rows", probe).exclusively(lock))(lambda: None)()

    assert not lock.locked()


def test_every_lock_is_released_even_if_one_release_is_interrupted():
    first = threading.Lock()
    checks = [
        change("a", lambda: 0).exclusively(first),
        change("b", lambda: 0).exclusively(Noted(leave=KeyboardInterrupt())),
    ]
    with pytest.raises(KeyboardInterrupt):
        expects(*checks)(lambda: None)()

    assert not first.locked()


def test_an_interrupt_while_waiting_for_the_lock_abandons_the_window():
    taken = Noted()
    checks = [
        change("a", lambda: 0).exclusively(taken),
        change("b", lambda: 0).exclusively(Noted(enter=KeyboardInterrupt())),
    ]
    with collect_reports() as reports, pytest.raises(KeyboardInterrupt):
        expects(*checks)(lambda: None)()

    assert [check.reason for check in reports[0]] == ["abandoned", "abandoned"]
    assert taken.events == ["entered", "left"]
    assert 0 <= reports[0].verification_seconds < 60


def test_a_check_that_is_not_read_takes_no_lock():
    lock = Noted()
    run(expects(change("rows", lambda: 0).exclusively(lock).sampled(0))(lambda: None))

    assert lock.events == []


def test_the_lock_of_a_generator_is_held_until_it_ends():
    lock = threading.Lock()

    @expects(change("rows", lambda: 0).exclusively(lock))
    def act():
        yield lock.locked()

    steps = act()
    before = lock.locked()
    during = [next(steps), lock.locked()]
    with pytest.raises(StopIteration):
        next(steps)

    assert (before, during, lock.locked()) == (False, [True, True], False)


def test_the_lock_of_a_generator_is_released_when_it_is_closed():
    lock = threading.Lock()

    @expects(change("rows", lambda: 0).exclusively(lock))
    def act():
        yield 1

    steps = act()
    next(steps)
    steps.close()

    assert not lock.locked()


def test_a_generator_may_end_on_another_thread_than_took_its_rlock():
    lock = threading.RLock()

    @expects(change("rows", lambda: 0).exclusively(lock))
    def act():
        yield 1

    steps = act()
    with ThreadPoolExecutor(1) as one:
        one.submit(next, steps).result(60)
    steps.close()
    with ThreadPoolExecutor(1) as other:
        taken = other.submit(lock.acquire, timeout=1).result(60)

    assert taken


def test_a_manual_window_may_be_verified_on_another_thread_than_its_rlock(tmp_path):
    rlock, file = threading.RLock(), FileLock(tmp_path / "rows.lock")
    opened = window(
        "load",
        change("a", lambda: 0).by(0).exclusively(rlock),
        change("b", lambda: 0).by(0).exclusively(file),
    )
    opened.capture_baseline()
    with ThreadPoolExecutor(1) as other:
        report = other.submit(opened.verify).result(60)
        taken = other.submit(rlock.acquire, timeout=1).result(60)
    with FileLock(tmp_path / "rows.lock", timeout=0.5):
        pass

    assert taken
    assert report.outcome == "pass"


def test_a_lock_that_raises_in_a_manual_window_makes_the_check_inconclusive():
    opened = window("load", change("a", lambda: 0).exclusively(Noted(enter=TimeoutError("held"))))
    opened.capture_baseline()

    assert opened.verify()["a"].explanation == "a: its lock could not be taken: TimeoutError: held"
