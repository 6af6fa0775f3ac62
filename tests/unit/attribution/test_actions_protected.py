"""Actions are protected from probes, hooks, arguments, results, futures and locks that misbehave."""

import asyncio
import logging
import pickle
import sys
import threading
from dataclasses import dataclass

import pytest
from opentelemetry import baggage, context

from deltaspan import (
    DeltaCheckFailed,
    Window,
    change,
    collect_reports,
    current_causal_tag,
    expects,
    observe,
    unchanged,
)
from deltaspan import _workers as _threads
from deltaspan._engine import _deferred
from deltaspan._state.codec import Unreadable, decode
from support.process import open_windows
from support.reports import reports_of

EXITS = [SystemExit(2), GeneratorExit(), type("Outcome", (BaseException,), {})("failed")]


class Hostile:
    """An argument whose equality and hash raise."""

    def __eq__(self, other):
        raise RuntimeError("no equality")

    def __hash__(self):
        raise RuntimeError("no hash")


class Unhashable(type):
    """A metaclass of classes that do not hash, and do not say what they are."""

    __hash__ = None

    def __eq__(cls, other):
        raise RuntimeError("no equality of classes")

    def __getattr__(cls, name):
        raise RuntimeError("no attributes")


class Odd(metaclass=Unhashable):
    pass


def raising(error):
    def call(*_):
        raise error

    return call


@pytest.mark.parametrize("error", EXITS, ids=lambda error: type(error).__name__)
def test_a_probe_that_exits_is_a_probe_that_failed(error):
    with collect_reports() as reports:
        assert expects(observe("rows", raising(error)))(lambda: "done")() == "done"

    assert reports[0]["rows"].reason == "baseline_failed"


@pytest.mark.parametrize("error", [EXITS[0], EXITS[2]], ids=lambda error: type(error).__name__)
async def test_a_probe_that_exits_is_a_probe_that_failed_in_an_async_action_too(error):
    async def action():
        return "done"

    assert await expects(observe("rows", raising(error)))(action)() == "done"


@pytest.mark.parametrize("error", EXITS, ids=lambda error: type(error).__name__)
def test_a_probe_that_exits_afterwards_does_not_replace_the_exception_of_the_action(error):
    reads = iter([lambda: 1, raising(error)])

    with pytest.raises(ValueError, match="its own"):
        expects(observe("rows", lambda: next(reads)()))(raising(ValueError("its own")))()


@pytest.mark.parametrize("error", EXITS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "arrange",
    [
        lambda call: {"check": observe("rows", lambda: 1), "on_report": call},
        lambda call: {"check": observe("rows", lambda: 1).redacted(by=call)},
        lambda call: {"check": change("rows", lambda: 1).satisfying(lambda delta: call(), "it")},
        lambda call: {"check": change("rows", lambda: 1).by(lambda: call())},
    ],
    ids=["hook", "redaction", "predicate", "expected value"],
)
def test_an_exit_in_any_other_hook_does_not_end_the_action(arrange, error):
    options = arrange(raising(error))
    check = options.pop("check")

    assert expects(check, **options)(lambda: "done")() == "done"


def test_a_keyboard_interrupt_in_a_probe_is_the_users():
    with pytest.raises(KeyboardInterrupt):
        expects(observe("rows", raising(KeyboardInterrupt())))(lambda: None)()


def test_a_probe_that_calls_its_own_action_runs_it_without_checks():
    calls = []

    @expects(unchanged("rows", lambda: count()))
    def count():
        calls.append(1)
        return 0

    count()

    assert len(calls) == 3  # the action itself, and once for each read


def test_a_logging_handler_that_raises_breaks_no_action(monkeypatch):
    monkeypatch.setattr(logging.getLogger("deltaspan"), "handle", raising(RuntimeError("a broken handler")))

    assert expects(change("rows", lambda: 1), on_failure="warn")(lambda: "done")() == "done"
    with pytest.raises(ValueError, match="its own"):
        expects(change("rows", lambda: 1), on_inconclusive="warn")(raising(ValueError("its own")))()


@pytest.mark.parametrize("argument", [Hostile(), frozenset(), {1: Hostile()}, Odd(), Odd])
def test_a_scope_argument_may_be_any_object(argument):
    action = expects(change("rows", lambda thing: 1))(lambda thing: "done")

    assert [action(argument), action(argument)] == ["done", "done"]


@pytest.mark.parametrize("result", [Odd(), Odd, Hostile()], ids=["instance", "class", "hostile"])
def test_a_result_may_be_any_object(result):
    assert expects(observe("rows", lambda: 1))(lambda: result)() is result


def test_a_query_among_the_arguments_is_not_run():
    class Query:
        def __iter__(self):
            raise AssertionError("it was run")

        def __eq__(self, other):
            raise AssertionError("it was compared")

        __hash__ = None

    assert expects(change("rows", lambda query: 1))(lambda query: "done")(Query()) == "done"


def test_a_context_that_an_action_attaches_stays_attached_without_the_tag():
    before = context.get_current()

    @expects(observe("rows", lambda: 1))
    def login():
        context.attach(baggage.set_baggage("session", "42"))

    try:
        login()

        assert baggage.get_all() == {"session": "42"}
        assert current_causal_tag() is None
    finally:
        context.attach(before)


def test_an_interrupted_export_leaves_nothing_current(record):
    recorded = record()
    recorded.tracer_provider._active_span_processor.on_end = raising(KeyboardInterrupt())

    with collect_reports() as reports:
        with pytest.raises(KeyboardInterrupt):
            expects(observe("rows", lambda: 1))(lambda: None)()

        assert current_causal_tag() is None
    assert len(reports) == 1


def test_a_deep_stack_is_the_actions_own():
    @expects(observe("rows", lambda: 1))
    def dive(depth):
        return depth if depth == 0 else dive(depth - 1)

    assert dive(20) == 0
    assert sys.getrecursionlimit() > 20


@dataclass
class Pending:
    """A state without fields."""


@dataclass
class Paid:
    """Another."""


def test_a_record_of_another_class_has_changed():
    states = iter([Pending(), Paid()])

    reports = reports_of(expects(unchanged("order", lambda: next(states)))(lambda: None))

    assert reports[0]["order"].explanation == (
        "expected order to stay unchanged, but it became a Paid and was a Pending ({} → {})"
    )


def test_a_record_in_a_collection_remembers_its_class():
    states = iter([[Pending(), Pending()], [Pending(), Paid()]])

    reports = reports_of(expects(unchanged("orders", lambda: next(states)))(lambda: None))

    assert reports[0].outcome == "fail"


def test_a_predicate_that_returns_a_coroutine_has_not_answered():
    async def later(delta):
        return False

    check = change("rows", lambda: 1).satisfying(lambda delta: later(delta), "asked")
    reports = reports_of(expects(check)(lambda: None))

    assert reports[0]["rows"].reason == "expectation_failed"


def test_a_name_that_no_encoder_takes_is_escaped(recorded):
    expects(observe("rows", lambda: 1), name="load \ud800")(lambda: None)()

    assert recorded.span.name == "execute_tool load \\ud800"


# After the action ---------------------------------------------------------------------------------------


class BrokenFuture:
    """Looks like a future, and tells nothing."""

    def add_done_callback(self, call):
        raise RuntimeError("no callbacks")

    def cancelled(self):
        return False

    def exception(self):
        return None


def test_a_future_that_cannot_be_watched_is_returned_unchanged():
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
        _deferred.drain(60)

        assert not open_windows()
    assert [report["rows"].reason for report in reports] == ["abandoned"]


def test_a_deferred_verdict_is_reached_even_if_no_thread_can_start(monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_deferred, "_scheduler", _deferred._Scheduler())
    monkeypatch.setattr(_threads.threading.Thread, "start", no_thread)
    with collect_reports() as reports:
        assert expects(observe("rows", lambda: 1), deferred=True)(lambda: "done")() == "done"

    assert [report.outcome for report in reports] == ["observed"]


def test_a_lock_that_excludes_no_writer_does_not_prevent_contention():
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
