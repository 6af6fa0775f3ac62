"""When a post-state is looked at again: at each tick, at the deadline, and never more often than that."""

import pytest

from deltaspan._engine import _polling
from deltaspan._engine._polling import Poll, poll, poll_steps
from deltaspan.checks import Polling


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


def test_a_change_that_is_there_at_once_is_read_once(clock):
    assert looked(clock, 5, 0.1, always).reads == [0]


def test_a_change_that_never_comes_is_read_at_each_tick_and_at_the_deadline(clock):
    assert looked(clock, 0.5, 0.2, never).reads == [0, 0.2, 0.4, 0.5]


def test_a_deadline_on_a_tick_is_read_once(clock):
    assert looked(clock, 1, 0.1, never).reads == [round(tick / 10, 1) for tick in range(11)]


def test_a_deadline_before_the_first_tick_is_read_all_the_same(clock):
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
