"""Polling: eventually, holding_for, and the schedule of their reads."""

import asyncio
import logging
import time
from functools import partial

import pytest

from deltaspan import DeltaCheckFailed, change, collect_reports, expects, observe, unchanged, window
from deltaspan._engine import _polling
from deltaspan._engine._polling import Poll, poll, poll_steps
from deltaspan.checks import Polling
from deltaspan.exceptions import DefinitionValueError
from support.overlapping import run_in_threads
from support.queues import Queue, run, run_async
from support.reports import reports_of
from support.waiting import reached


def fail():
    raise LookupError("no")


def test_a_change_that_comes_later_passes():
    queue = Queue(0, 0, 0, 1)
    found, report = run(expects(change("done", queue.read).by(1).eventually(60, every=0.001))(queue.act))

    assert found == "queued"
    assert report["done"].explanation == "done changed by 1, as expected (0 → 1)"


async def test_a_change_that_comes_later_passes_in_an_async_action_too():
    queue = Queue(0, 0, 0, 1)
    check = change("done", queue.read_later).by(1).eventually(60, every=0.001)
    _, report = await run_async(expects(check)(queue.act_later))

    assert (report.outcome, queue.reads) == ("pass", 4)


def test_the_action_is_run_once():
    queue = Queue(0, 0, 0, 1)
    run(expects(change("done", queue.read).by(1).eventually(60, every=0.001))(queue.act))

    assert queue.runs == 1


def test_a_change_that_never_comes_fails_when_time_is_up():
    queue = Queue(0)
    began = time.perf_counter()
    _, report = run(expects(change("done", queue.read).by(1).eventually(0.03, every=0.01))(queue.act))

    assert report["done"].explanation == "expected done to change by 1, but it changed by 0 (0 → 0)"
    assert time.perf_counter() - began >= 0.03


def test_attempts_and_settle_time_are_reported():
    queue = Queue(0, 0, 0, 1)
    _, report = run(expects(change("done", queue.read).by(1).eventually(60, every=0.005))(queue.act))
    timing = report["done"].timing

    assert timing.attempts == 3
    assert 0.01 <= timing.settle_seconds < 60


def test_an_immediate_change_takes_one_attempt():
    queue = Queue(0, 1)
    _, report = run(expects(change("done", queue.read).by(1).eventually(60))(queue.act))

    assert report["done"].timing.attempts == 1


def test_attempts_and_settle_time_are_on_the_event(recorded):
    queue = Queue(0, 0, 1)
    expects(change("done", queue.read).by(1).eventually(60, every=0.005))(queue.act)()
    attributes = recorded.event.attributes

    assert attributes["deltaspan.check.attempt.count"] == 2
    assert attributes["deltaspan.check.settle.duration"] >= 0.005


def test_the_cost_of_every_read_is_counted():
    def slow():
        time.sleep(0.005)
        return 0

    _, report = run(expects(change("done", slow).by(1).eventually(0.03, every=0.001))(lambda: None))

    assert report["done"].probe_seconds >= 0.005 * report["done"].timing.attempts


def test_a_probe_that_fails_meanwhile_is_read_again():
    queue = Queue(0, OSError("gone"), OSError("gone"), 1)
    _, report = run(expects(change("done", queue.read).by(1).eventually(60, every=0.001))(queue.act))

    assert report.outcome == "pass"


def test_the_last_read_decides_even_if_it_failed():
    queue = Queue(0, 0, OSError("gone"))
    _, report = run(expects(change("done", queue.read).by(1).eventually(0.01, every=0.004))(queue.act))

    assert (report["done"].outcome, report["done"].reason) == ("inconclusive", "probe_failed")


def test_a_baseline_that_failed_is_not_waited_for():
    queue = Queue(OSError("gone"))
    _, report = run(expects(change("done", queue.read).by(1).eventually(60))(queue.act))

    assert (report["done"].reason, queue.reads) == ("baseline_failed", 1)


def test_other_checks_are_read_once():
    queue, other = Queue(0, 0, 0, 1), Queue(7)
    checks = [change("done", queue.read).by(1).eventually(60, every=0.001), unchanged("other", other.read)]
    run(expects(*checks)(queue.act))

    assert other.reads == 2


async def test_a_slow_probe_does_not_hold_up_the_polling_of_others():
    slow_reads, quick_passed = [], asyncio.Event()

    async def read_slowly():
        slow_reads.append(1)
        if len(slow_reads) == 3:  # the second read is made together with that of the other check
            await quick_passed.wait()
        return 0

    def read_quickly():
        if len(slow_reads) < 3:
            return 0
        quick_passed.set()
        return 1

    async def act():
        pass

    checks = [
        change("slow", read_slowly).by(1).eventually(0.02, every=0.01),
        change("quick", read_quickly).by(1).eventually(60, every=0.005),
    ]
    _, report = await asyncio.wait_for(run_async(expects(*checks)(act)), 60)

    assert report["quick"].outcome == "pass"


async def test_windows_poll_at_once():
    reads = dict.fromkeys(range(50), 0)

    async def poll(number):
        def read():
            reads[number] += 1
            return int(min(reads.values()) >= 2)  # all windows have read again

        check = change("done", read).by(1).eventually(60, every=0.02)
        async with window("one", check, on_contention="ignore") as opened:
            pass
        return opened.report.outcome

    assert await asyncio.gather(*map(poll, reads)) == ["pass"] * 50


def test_polling_in_threads_keeps_to_itself():
    outcomes = []

    def one(tenant):
        queue = Queue(0, 0, 0, 1)
        with window(
            "one",
            change("done", lambda tenant: queue.read()).by(1).eventually(60, every=0.001),
            args={"tenant": tenant},
        ) as opened:
            pass
        outcomes.append((opened.report.outcome, queue.reads))

    run_in_threads(*[partial(one, number) for number in range(8)])

    assert outcomes == [("pass", 4)] * 8


def test_an_action_that_raised_is_not_waited_for():
    queue = Queue(0)

    with collect_reports() as reports, pytest.raises(LookupError):
        expects(change("done", queue.read).by(1).eventually(60))(fail)()

    assert (reports[0]["done"].reason, queue.reads) == ("action_failed", 2)
    assert reports[0]["done"].timing is None


def test_an_action_that_raised_must_leave_no_trace_for_as_long_as_a_change_is_waited_for():
    queue = Queue(0, 0, 0, 1)

    check = change("done", queue.read).by(1).eventually(60, every=0.001).or_unchanged_on_error()
    with collect_reports() as reports, pytest.raises(LookupError):
        expects(check)(fail)()

    assert (reports[0]["done"].outcome, queue.reads) == ("fail", 4)


async def test_an_action_that_is_cancelled_is_not_waited_for():
    queue = Queue(0)

    async def act():
        raise asyncio.CancelledError

    with collect_reports() as reports, pytest.raises(asyncio.CancelledError):
        await expects(change("done", queue.read).by(1).eventually(60))(act)()

    assert (reports[0]["done"].reason, queue.reads) == ("action_failed", 2)


async def test_cancellation_while_polling_abandons_the_window():
    queue = Queue(0)
    act = expects(change("done", queue.read).by(1).eventually(60, every=0.01))(queue.act_later)
    with collect_reports() as reports:
        task = asyncio.ensure_future(act())
        await reached(lambda: queue.reads >= 2)
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError):
            await task

    assert task.cancelled()
    assert (reports[0]["done"].outcome, reports[0]["done"].reason) == ("inconclusive", "abandoned")
    reads = queue.reads
    await asyncio.sleep(0.03)
    assert queue.reads == reads


def test_an_interrupt_while_polling_abandons_the_window():
    queue = Queue(0, 0, 0)

    def read():
        if queue.reads == 3:
            raise KeyboardInterrupt
        return queue.read()

    with collect_reports() as reports, pytest.raises(KeyboardInterrupt):
        expects(change("done", read).by(1).eventually(60, every=0.001))(queue.act)()

    assert reports[0]["done"].reason == "abandoned"


def test_a_computed_value_may_name_yielded():
    queue = Queue(0, 0, 0, 2)
    check = change("sent", queue.read).by(lambda yielded: yielded).eventually(60, every=0.001)

    @expects(check)
    def act():
        yield 1
        yield 2

    reports = reports_of(lambda: list(act()))

    assert (reports[0].outcome, queue.reads) == ("pass", 4)


def test_a_failure_is_raised_after_the_wait():
    queue = Queue(0)
    check = change("done", queue.read).by(1).eventually(0.005, every=0.002)

    with pytest.raises(DeltaCheckFailed) as caught:
        expects(check, on_failure="raise")(queue.act)()

    assert caught.value.result == "queued"


async def test_a_sync_action_that_polls_on_an_event_loop_is_warned_about_once(caplog):
    for _ in range(3):
        queue = Queue(0, 0, 0, 1)
        run(expects(change("done", queue.read).by(1).eventually(60, every=0.001))(queue.act))

    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            logging.WARNING,
            (
                "a sync action looks at its post-state again on the thread of a running event loop, which "
                "waits meanwhile; make the action async, or run it in a thread"
            ),
        )
    ]


def test_a_sync_action_that_polls_elsewhere_is_not_warned_about(caplog):
    queue = Queue(0, 0, 1)
    run(expects(change("done", queue.read).by(1).eventually(60, every=0.001))(queue.act))

    assert caplog.records == []


def test_an_async_action_without_asyncio_is_polled_too():
    queue = Queue(0, 0, 0, 1)
    coroutine = expects(change("done", queue.read).by(1).eventually(60, every=0.001))(queue.act_later)()
    with collect_reports() as reports, pytest.raises(StopIteration):
        coroutine.send(None)

    assert (reports[0].outcome, queue.reads) == ("pass", 4)


def test_holding_for_passes_when_nothing_changes_throughout():
    queue = Queue(3)
    _, report = run(expects(unchanged("users", queue.read).holding_for(0.02, every=0.005))(queue.act))

    assert report["users"].outcome == "pass"
    assert report["users"].timing.attempts >= 2


def test_holding_for_fails_at_the_first_read_that_differs():
    queue = Queue(3, 3, 3, 4)
    _, report = run(expects(unchanged("users", queue.read).holding_for(60, every=0.001))(queue.act))

    assert report["users"].explanation == "expected users to stay unchanged, but it changed by 1 (3 → 4)"
    assert report["users"].timing.attempts == 3


def test_a_change_can_be_asked_to_hold():
    queue = Queue(3, 4, 4, 3)
    _, report = run(expects(change("users", queue.read).by(1).holding_for(60, every=0.001))(queue.act))

    assert report["users"].explanation == "expected users to change by 1, but it changed by 0 (3 → 3)"


def test_a_failed_read_ends_holding_for_without_a_verdict():
    queue = Queue(3, 3, OSError("gone"), 3)
    _, report = run(expects(unchanged("users", queue.read).holding_for(60, every=0.001))(queue.act))

    assert (report["users"].outcome, report["users"].reason) == ("inconclusive", "probe_failed")


def test_unchanged_holds_after_an_action_that_raised_too():
    queue = Queue(3, 3, 4)

    with collect_reports() as reports, pytest.raises(LookupError):
        expects(unchanged("users", queue.read).holding_for(60, every=0.001))(fail)()

    assert reports[0]["users"].outcome == "fail"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: unchanged("a", len).eventually(1), "say .holding_for(seconds)"),
        (lambda: observe("a", len).eventually(1), "makes no claim to wait for"),
        (lambda: observe("a", len).holding_for(1), "makes no claim to wait for"),
        (
            lambda: change("a", len).eventually(1).eventually(2),
            "only one of eventually and holding_for can be set; keep one",
        ),
        (
            lambda: change("a", len).eventually(1).holding_for(2),
            "only one of eventually and holding_for can be set; keep one",
        ),
        (
            lambda: change("a", len).eventually(0),
            "eventually: seconds=0 must be a positive number of seconds",
        ),
        (lambda: change("a", len).eventually(1, every=-1), "eventually: every=-1 must be a positive"),
        (lambda: change("a", len).eventually(float("inf")), "must be a positive number of seconds"),
    ],
)
def test_a_wait_that_makes_no_sense_is_refused(make, text):
    with pytest.raises(DefinitionValueError) as caught:
        make()

    assert text in str(caught.value)


# Schedule -----------------------------------------------------------------------------------------------


class Clock:
    """A clock that goes on when somebody sleeps, or takes time to read."""

    def __init__(self):
        self.now = 1000.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Looked:
    """A check that passes from some time on, and notes when it is read."""

    def __init__(self, clock, polling, passes, takes=0.0):
        self.clock = clock
        self.polling = polling
        self.passes = passes
        self.takes = takes
        self.reads = []
        self.settle_seconds = None
        self.perform()

    def perform(self):
        self.reads.append(self.elapsed)
        self.read_at = self.elapsed
        self.clock.now += self.takes

    @property
    def elapsed(self):
        return round(self.clock.now - 1000, 6)

    def read_again(self, batch):
        return self

    def holds(self):
        return self.passes(self.read_at)

    def poll(self):
        return Poll(self, self.polling, self.holds, 1000.0)

    @property
    def seconds(self):
        return round(self.settle_seconds, 6)


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(_polling, "time", made)
    return made


def never(_):
    return False


def always(_):
    return True


def looked(clock, seconds, every, passes, *, until="pass", takes=0.0):
    check = Looked(clock, Polling(seconds, every, until), passes, takes)
    poll([check.poll()])
    return check


def test_an_immediate_change_is_read_once(clock):
    assert looked(clock, 5, 0.1, always).reads == [0]


def test_a_change_that_never_comes_is_read_at_each_tick_and_at_the_deadline(clock):
    assert looked(clock, 0.5, 0.2, never).reads == [0, 0.2, 0.4, 0.5]


def test_a_deadline_on_a_tick_is_read_once(clock):
    assert looked(clock, 1, 0.1, never).reads == [round(tick / 10, 1) for tick in range(11)]


def test_a_deadline_before_the_first_tick_is_still_read(clock):
    assert looked(clock, 0.05, 10, never).reads == [0, 0.05]


def test_the_first_read_that_passes_is_the_last(clock):
    check = looked(clock, 5, 0.1, lambda at: at >= 0.25)

    assert check.reads == [0, 0.1, 0.2, 0.3]
    assert check.seconds == 0.3


def test_a_change_that_comes_at_the_deadline_is_seen(clock):
    check = looked(clock, 0.5, 0.2, lambda at: at >= 0.5)

    assert check.holds()
    assert check.seconds == 0.5


def test_reads_that_take_longer_than_the_pause_skip_ticks_instead_of_following_each_other(clock):
    check = looked(clock, 1, 0.1, never, takes=0.15)

    assert check.reads == [0, 0.2, 0.4, 0.6, 0.8, 1.0]


def test_a_read_that_outlasts_the_deadline_is_made_once_more_since_it_began_before(clock):
    assert looked(clock, 0.5, 0.1, never, takes=2).reads == [0, 2]


def test_holding_is_read_at_each_tick_until_the_deadline(clock):
    check = looked(clock, 0.5, 0.2, always, until="fail")

    assert check.reads == [0, 0.2, 0.4, 0.5]
    assert check.seconds == 0.5


def test_holding_ends_at_the_first_read_that_refutes_it(clock):
    check = looked(clock, 5, 0.1, lambda at: at < 0.25, until="fail")

    assert check.reads == [0, 0.1, 0.2, 0.3]
    assert not check.holds()


def test_several_checks_have_a_schedule_each(clock):
    quick = Looked(clock, Polling(1, 0.25, until="pass"), lambda at: at >= 0.5)
    slow = Looked(clock, Polling(1.1, 0.6, until="pass"), never)
    poll([quick.poll(), slow.poll()])

    assert (quick.reads, slow.reads) == ([0, 0.25, 0.5], [0, 0.6, 1.1])
    assert (quick.seconds, slow.seconds) == (0.5, 1.1)


def test_a_check_is_judged_once_a_read(clock):
    asked = []

    def passes(at):
        asked.append(at)
        return False

    other = Looked(clock, Polling(1, 0.1, until="pass"), never)
    check = Looked(clock, Polling(1, 0.5, until="pass"), passes)
    poll([check.poll(), other.poll()])

    assert asked == [0, 0.5]  # at the deadline nothing is left to decide


def test_a_pause_is_asked_for_exactly(clock):
    check = Looked(clock, Polling(0.5, 0.2, until="pass"), never)
    steps = poll_steps([check.poll()])

    assert next(steps) == pytest.approx(0.2)
