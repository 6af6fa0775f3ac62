"""`Serial`: steps run one at a time, and a thread never waits for itself."""

import os
import sys
import threading

import pytest

from deltaspan import _concurrency as _serial
from deltaspan._concurrency import Serial
from support.interrupting import Interrupting
from support.overlapping import run_in_threads

FILES = (_serial.__file__, __file__)


class Account:
    """A number that is read and written in two steps, so that a step in between would be lost."""

    def __init__(self):
        self.amount = 0
        self.order = []

    def add(self, name, amount):
        found = self.amount
        self.order.append(name)
        self.amount = found + amount


@pytest.fixture
def account():
    return Account()


def test_a_step_runs_at_once(account):
    assert Serial().run(account.add, "a", 2) is True
    assert account.amount == 2


def test_a_step_within_a_step_runs_right_after_it(account):
    steps, ran = Serial(), []

    def outer():
        ran.append(steps.run(account.add, "inner", 1))
        account.add("outer", 1)

    assert steps.run(outer) is True
    assert (ran, account.order) == ([False], ["outer", "inner"])


def test_steps_within_a_step_keep_their_order(account):
    steps = Serial()

    def outer():
        for name in "abc":
            steps.run(lambda name=name: (steps.run(account.add, name * 2, 0), account.add(name, 0)))

    steps.run(outer)

    assert account.order == ["a", "b", "c", "aa", "bb", "cc"]


def test_no_step_is_lost_if_a_handler_interrupts_at_any_line(account):
    steps, wanted, line = Serial(), 0, 1
    while True:
        handler = Interrupting(lambda: steps.run(account.add, "handler", 1), *FILES, only=line)
        with handler:
            steps.run(account.add, "thread", 10)
        if handler.lines < line:
            wanted += 10
            break
        wanted += 11
        line += 1

        assert account.amount == wanted, f"a handler before line {line - 1} lost a step"
    assert line > 10


def test_a_handler_before_every_line_never_waits(account):
    steps = Serial()
    handler = Interrupting(lambda: steps.run(account.add, "handler", 1), *FILES)
    with handler:
        for _ in range(100):
            steps.run(account.add, "thread", 1)

    assert account.amount == 100 + handler.lines


def test_threads_do_not_run_their_steps_at_once(account):
    steps = Serial()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        run_in_threads(*[lambda: [steps.run(account.add, None, 1) for _ in range(2000)]] * 4)
    finally:
        sys.setswitchinterval(before)

    assert account.amount == 8000


def test_a_step_that_raises_leaves_others_able_to_run(account):
    steps = Serial()

    def fail():
        steps.run(account.add, "inner", 1)
        raise KeyError("gone")

    with pytest.raises(KeyError):
        steps.run(fail)
    steps.run(account.add, "next", 1)

    assert account.order == ["inner", "next"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_does_not_wait_for_a_thread_that_it_does_not_have(account):
    steps, entered, may_end = Serial(), threading.Event(), threading.Event()
    thread = threading.Thread(target=steps.run, args=(lambda: (entered.set(), may_end.wait(10)),))
    thread.start()
    entered.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(0 if steps.run(account.add, "child", 1) and account.amount == 1 else 1)
    may_end.set()
    thread.join()

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_step_that_forks_continues_in_the_child(account):
    steps, children = Serial(), []

    def fork():
        children.append(os.fork())
        steps.run(account.add, "inner", 1)

    steps.run(fork)
    if children == [0]:
        steps.run(account.add, "child", 1)
        os._exit(0 if account.order == ["inner", "child"] else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
