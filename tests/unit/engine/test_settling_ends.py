"""Waiting for a change ends where the run ends: with an exception, an interrupt, a warning."""

import asyncio
import logging

import pytest

from deltaspan import DeltaCheckFailed, change, collect_reports, expects
from support.queues import Queue, run


def test_an_action_that_raised_is_not_waited_for():
    queue = Queue(0)

    def act():
        raise LookupError("no")

    with collect_reports() as reports, pytest.raises(LookupError):
        expects(change("done", queue.read).by(1).eventually(60))(act)()

    assert (reports[0]["done"].reason, queue.reads) == ("action_failed", 2)
    assert reports[0]["done"].timing is None


def test_an_action_that_raised_must_leave_no_trace_for_as_long_as_a_change_is_waited_for():
    queue = Queue(0, 0, 0, 1)

    def act():
        raise LookupError("no")

    check = change("done", queue.read).by(1).eventually(5, every=0.001).or_unchanged_on_error()
    with collect_reports() as reports, pytest.raises(LookupError):
        expects(check)(act)()

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
        await asyncio.sleep(0.03)
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


def test_a_computed_value_may_name_what_a_generator_yielded():
    queue = Queue(0, 0, 0, 2)
    check = change("sent", queue.read).by(lambda yielded: yielded).eventually(5, every=0.001)

    @expects(check)
    def act():
        yield 1
        yield 2

    with collect_reports() as reports:
        list(act())

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
        run(expects(change("done", queue.read).by(1).eventually(5, every=0.001))(queue.act))

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
    run(expects(change("done", queue.read).by(1).eventually(5, every=0.001))(queue.act))

    assert caplog.records == []


def test_without_asyncio_an_async_action_is_polled_all_the_same():
    queue = Queue(0, 0, 0, 1)
    coroutine = expects(change("done", queue.read).by(1).eventually(5, every=0.001))(queue.act_later)()
    with collect_reports() as reports, pytest.raises(StopIteration):
        coroutine.send(None)

    assert (reports[0].outcome, queue.reads) == ("pass", 4)
