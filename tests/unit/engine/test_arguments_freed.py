"""Arguments are freed without the garbage collector, even after a run raised."""

import asyncio
import contextlib
import gc
import threading
import time
import weakref

import pytest

from deltaspan import DeltaCheckFailed, DeltaInconclusive, change, collect_reports, expects, window
from deltaspan._engine import _deferred
from deltaspan.probes import combine


class Argument:
    """An argument of an action."""


@pytest.fixture(autouse=True)
def _without_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def freed(use, seconds=10):
    """Return whether an argument is gone once its use has ended.

    A thread that read a probe may hold its last frame for a moment after the call has returned.
    """
    argument = Argument()
    watching = weakref.ref(argument)
    use(argument)
    del argument
    ends_at = time.monotonic() + seconds
    while watching() is not None and time.monotonic() < ends_at:
        time.sleep(0.002)
    return watching() is None


def fail(*_):
    raise ValueError("no")


class Broken:
    def __enter__(self):
        raise OSError("no lock")

    def __exit__(self, *_):
        pass


def probe(it):
    held = it
    fail(held)


both = combine(probe)

CHECKS = {
    "the action": lambda: change("rows", lambda it: 0).by(1),
    "the probe": lambda: change("rows", probe),
    "a limited probe": lambda: change("rows", probe).timeout(60),
    "a combined probe": lambda: change("rows", both["rows"]),
    "the lock": lambda: change("rows", lambda it: 0).exclusively(Broken()),
    "a computed lock": lambda: change("rows", lambda it: 0).exclusively(lambda it: fail(it)),
    "an expected value": lambda: change("rows", lambda it: 0).by(lambda it: fail(it)),
    "a predicate": lambda: change("rows", lambda it: 0).satisfying(lambda it, delta: fail(it), "whatever"),
    "a state": lambda: change("rows", lambda it: (it, threading.Lock())),
}


@pytest.mark.parametrize("place", CHECKS)
@pytest.mark.parametrize("kind", ["sync", "async", "generator", "async generator"])
def test_an_argument_is_freed_when_its_caller_lets_go(place, kind):
    raises = place == "the action"

    def act(it):
        if raises:
            fail(it)

    async def act_later(it):
        await asyncio.sleep(0)
        act(it)

    def generate(it):
        yield 1
        act(it)

    async def generate_later(it):
        yield 1
        act(it)

    reports = []

    async def consume(action, it):
        return [value async for value in action(it)]

    uses = {
        "sync": (act, lambda action, it: action(it)),
        "async": (act_later, lambda action, it: asyncio.run(action(it))),
        "generator": (generate, lambda action, it: list(action(it))),
        "async generator": (generate_later, lambda action, it: asyncio.run(consume(action, it))),
    }
    function, call = uses[kind]
    # The event loop of asyncio creates reference cycles itself.
    bare = freed(lambda it: attempt(lambda: call(function, it)), seconds=0)
    checked = expects(CHECKS[place](), on_report=reports.append)(function)

    reasons = []

    def use(it):
        attempt(lambda: call(checked, it))
        reasons.append(reports.pop()["rows"].reason)

    assert freed(use, seconds=10 if bare else 0) >= bare
    assert reasons[0] is not None


def attempt(call):
    with contextlib.suppress(ValueError):
        call()


def test_an_argument_is_freed_although_the_report_is_held():
    held = []
    checked = expects(change("rows", lambda it: 0).by(1), on_report=held.append)(fail_with)

    assert freed(lambda it: attempt(lambda: checked(it)))
    assert held[0]["rows"].reason == "action_failed"


def fail_with(it):
    raise ValueError("no")


def test_an_argument_is_freed_although_the_frame_that_called_held_its_reports():
    def use(it):
        with collect_reports() as reports:
            attempt(lambda: expects(change("rows", lambda it: 0).by(1))(fail_with)(it))
        assert reports[0].outcome == "inconclusive"

    assert freed(use)


def test_an_argument_is_freed_although_a_window_is_held_by_the_frame_that_raised():
    def block(it):
        with window("block", change("rows", lambda it: 0).by(1), args={"it": it}) as opened:
            assert opened.causal_tag
            fail(it)

    assert freed(lambda it: attempt(lambda: block(it)))


@pytest.mark.parametrize(
    ("check", "raised"),
    [
        (lambda: change("rows", lambda it: 0).by(1), DeltaCheckFailed),
        (lambda: change("rows", probe), DeltaInconclusive),
    ],
    ids=["a failed check", "a check without a verdict"],
)
def test_an_argument_is_freed_when_a_raised_verdict_is_dropped(check, raised):
    def act(it):
        pass

    checked = expects(check(), on_failure="raise", on_inconclusive="raise")(act)

    outcomes = []

    def use(it):
        try:
            checked(it)
        except raised as verdict:
            outcomes.append(verdict.report.outcome)

    assert freed(use)
    assert outcomes[0] in ("fail", "inconclusive")


@pytest.mark.parametrize("place", CHECKS)
def test_an_argument_of_a_deferred_action_is_freed_when_it_has_settled(place):
    if place in ("the lock", "a computed lock"):
        return

    def act(it):
        if place == "the action":
            fail(it)

    checked = expects(CHECKS[place](), deferred=True)(act)

    def use(it):
        attempt(lambda: checked(it))
        assert _deferred.drain(60)

    assert freed(use)


def test_the_exception_of_a_probe_is_reported_without_its_frames():
    with collect_reports() as reports:
        expects(change("rows", fail))(lambda: None)()

    error = reports[0]["rows"].error
    assert isinstance(error, ValueError)
    assert error.__traceback__ is None
