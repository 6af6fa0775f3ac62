"""An action that is called where the stack ends: its window closes, and it disturbs no later run."""

import asyncio
import sys
from contextlib import suppress

import pytest
from opentelemetry.context import get_current

from deltaspan import change, collect_reports, expects

count = change("count", lambda: 0).by(1)


@expects(count)
def act():
    pass


@expects(count)
async def act_later():
    pass


def _run_later():
    coroutine = act_later()
    try:
        coroutine.send(None)
    except StopIteration:
        pass
    finally:
        coroutine.close()


def _at_depth(depth, call):
    return call() if depth == 0 else _at_depth(depth - 1, call)


def _depth():
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


@pytest.mark.parametrize("call", [act, _run_later], ids=["sync", "async"])
def test_a_run_that_ends_with_the_stack_leaves_no_window_and_no_context(call):
    limit = sys.getrecursionlimit() - _depth()
    context = get_current()
    outcomes = set()
    for room in range(3, 120):
        with collect_reports() as reports:
            try:
                _at_depth(limit - room, call)
            except RecursionError:
                outcomes.add("exhausted")
        with collect_reports() as later:
            act()
        assert not any(report.passed for report in reports)
        assert later[-1].outcome == "fail", later[-1].explanation
        assert get_current() == context
    assert "exhausted" in outcomes


def test_a_run_that_could_not_close_is_reported_with_the_next_one():
    limit = sys.getrecursionlimit() - _depth()
    with collect_reports() as reports:
        for room in range(3, 120):
            with suppress(RecursionError):
                _at_depth(limit - room, act)
        act()
    # Python 3.10 lends a run that reached the limit fifty more frames, so a run ends or does not begin.
    unclosed = set() if sys.version_info < (3, 11) else {"inconclusive"}
    assert {report.outcome for report in reports} == {"fail", *unclosed}


def test_an_async_run_still_closes_in_its_loop():
    with collect_reports() as reports:
        asyncio.run(act_later())
    assert reports[0].outcome == "fail"
