"""A lock is released on every path: exceptions, interrupts, generators, threads that change."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from filelock import FileLock

from deltaspan import change, collect_reports, expects, window
from support.process import held_locks


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
    with collect_reports() as reports:
        action(*args)
    return reports[-1]


def test_a_lock_that_cannot_be_released_is_told_and_breaks_nothing(caplog):
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


def test_every_lock_is_released_though_one_release_is_interrupted():
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
    assert 0 <= reports[0].verification_seconds < 5


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
        one.submit(next, steps).result(5)
    steps.close()
    with ThreadPoolExecutor(1) as other:
        taken = other.submit(lock.acquire, timeout=1).result(5)

    assert taken


def test_a_window_by_hand_may_be_verified_on_another_thread_than_took_its_rlock(tmp_path):
    rlock, file = threading.RLock(), FileLock(tmp_path / "rows.lock")
    opened = window(
        "load",
        change("a", lambda: 0).by(0).exclusively(rlock),
        change("b", lambda: 0).by(0).exclusively(file),
    )
    opened.capture_baseline()
    with ThreadPoolExecutor(1) as other:
        report = other.submit(opened.verify).result(5)
        taken = other.submit(rlock.acquire, timeout=1).result(5)
    with FileLock(tmp_path / "rows.lock", timeout=0.5):
        pass

    assert taken
    assert report.outcome == "pass"


def test_a_lock_that_raises_in_a_window_by_hand_leaves_the_check_without_a_verdict():
    opened = window("load", change("a", lambda: 0).exclusively(Noted(enter=TimeoutError("held"))))
    opened.capture_baseline()

    assert opened.verify()["a"].explanation == "a: its lock could not be taken: TimeoutError: held"
