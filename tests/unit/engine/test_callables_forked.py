"""Processes: a forked child reports its own actions alone, and a spawned one finds decorated functions."""

import functools
import gc
import multiprocessing
import os
import pickle
import sys
import traceback

import pytest

from deltaspan import _workers as _background
from deltaspan import change, collect_reports, expects, observe, window

rows = []


@expects(change("rows", lambda: len(rows)).by(1))
def create(name):
    rows.append(name)
    return name


FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded, use of fork:DeprecationWarning"  # what Python says of any fork
)


def in_a_fork(work):
    """Return what `work` returns in a forked child."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = work()
        except BaseException:  # the child must end here, not in the test runner
            answer = traceback.format_exc()
        with os.fdopen(write, "wb") as stream:
            pickle.dump(answer, stream)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        answer = pickle.load(stream)  # noqa: S301  # our own child wrote it
    os.waitpid(child, 0)
    return answer


def outcomes(act, *args):
    with collect_reports() as reports:
        act(*args)
    return [report.outcome for report in reports]


@FORKS
def test_an_action_in_a_forked_child_is_verified():
    outcomes(create, "before")

    assert in_a_fork(lambda: outcomes(create, "a")) == ["pass"]


@FORKS
def test_an_open_window_of_the_parent_does_not_contend_with_the_child():
    with window("parent", change("rows", lambda: len(rows))):
        assert in_a_fork(lambda: outcomes(create, "a")) == ["pass"]


@FORKS
def test_a_child_that_leaves_the_action_it_was_forked_in_reports_nothing():
    answers = []

    @expects(observe("rows", lambda: 1))
    def act():
        answers.append(in_a_fork(leave))

    def leave():
        # What the child does when it falls out of the block that it was forked in.
        opened[0].__exit__(None, None, None)
        return len(reports)

    opened = [window("parent", observe("rows", lambda: 1))]
    with collect_reports() as reports:
        opened[0].__enter__()
        act()
        opened[0].__exit__(None, None, None)

    assert answers == [0]
    assert [report.action for report in reports] == ["act", "parent"]


@FORKS
def test_a_generator_that_the_parent_began_is_not_reported_when_the_child_ends_it():
    @expects(observe("rows", lambda: 1))
    def act():
        yield 1

    acting = act()
    next(acting)

    def leave():
        acting.close()
        gc.collect()
        return len(reports)

    with collect_reports() as reports:
        assert in_a_fork(leave) == 0
        acting.close()

    assert len(reports) == 1


@FORKS
def test_the_thread_in_the_background_is_started_anew_in_a_child():
    def work():
        done = []
        _background.start_background_thread()
        _background.run_in_background(lambda: done.append(1))
        return _background.drain(), done

    _background.start_background_thread()

    assert in_a_fork(work) == (True, [1])


@pytest.mark.skipif(sys.platform == "win32", reason="a fork of its own")
def test_a_decorated_function_can_be_sent_to_a_spawned_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_spawned_outcomes, ("a",)) == ["pass"]


def _spawned_outcomes(name):
    return outcomes(create, name)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_partial_of_a_decorated_function_pickles(protocol):
    act = pickle.loads(pickle.dumps(functools.partial(create, "a"), protocol))  # noqa: S301  # our own bytes

    assert act.func is create
    assert outcomes(act) == ["pass"]
