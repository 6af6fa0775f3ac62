"""The causal tag: fresh for each run, visible inside it and what it calls, restored after it."""

from __future__ import annotations

import asyncio
import os
import random
import re
import threading
import uuid

import pytest
from opentelemetry import baggage, context

from deltaspan import collect_reports, current_causal_tag, expects, observe, window
from deltaspan.causal_tag import mint

CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
CHECK = observe("nothing", lambda: 0)


@expects(CHECK)
def tag():
    return current_causal_tag()


@expects(CHECK)
async def tag_async():
    await asyncio.sleep(0)
    return current_causal_tag()


def report_of(action):
    with collect_reports() as reports:
        action()
    return reports[-1]


def test_there_is_no_tag_outside_an_action():
    assert current_causal_tag() is None


def test_a_tag_is_a_canonical_random_uuid():
    assert CANONICAL.fullmatch(tag())


def test_a_tag_reads_as_version_4_of_the_rfc_variant():
    parsed = uuid.UUID(tag())

    assert (parsed.version, parsed.variant) == (4, uuid.RFC_4122)


def test_ten_thousand_tags_differ():
    tags = [mint(context.Context()).id for _ in range(10_000)]

    assert len(set(tags)) == 10_000
    assert all(CANONICAL.fullmatch(each) for each in tags)


def test_every_random_bit_of_a_tag_is_used():
    tags = [uuid.UUID(mint(context.Context()).id).int for _ in range(1000)]
    ever_set = ever_clear = 0
    for each in tags:
        ever_set |= each
        ever_clear |= ~each

    assert (ever_set & ever_clear & (2**128 - 1)).bit_count() == 122


def test_each_run_has_a_tag_of_its_own():
    assert tag() != tag()


def test_the_report_names_the_tag_that_was_current():
    seen = []
    report = report_of(lambda: seen.append(tag()))

    assert report.causal_tag == seen[0]


def test_the_tag_and_the_root_are_in_baggage_inside():
    @expects(CHECK)
    def action():
        return dict(baggage.get_all())

    with collect_reports() as reports:
        entries = action()

    own = reports[0].causal_tag
    assert entries == {"delta.causal_tag.id": own, "delta.causal_tag.root_id": own}


def test_other_baggage_stays():
    token = context.attach(baggage.set_baggage("tenant", "acme"))
    try:

        @expects(CHECK)
        def action():
            return baggage.get_baggage("tenant")

        assert action() == "acme"
    finally:
        context.detach(token)


def test_an_outermost_run_is_its_own_root_without_parent():
    report = report_of(tag)

    assert (report.parent_tag, report.root_tag) == (None, report.causal_tag)


@pytest.fixture
def nested():
    with collect_reports() as reports, window("outer", CHECK), window("middle", CHECK):
        tag()
    inner, middle, outer = reports
    return inner, middle, outer


def test_a_nested_run_has_the_enclosing_one_as_parent(nested):
    inner, middle, outer = nested

    assert [inner.parent_tag, middle.parent_tag] == [middle.causal_tag, outer.causal_tag]


def test_nested_runs_share_the_root(nested):
    outer = nested[-1]

    assert {report.root_tag for report in nested} == {outer.causal_tag}


async def test_a_nested_async_run_has_the_enclosing_one_as_parent():
    @expects(CHECK)
    async def outer():
        await tag_async()
        return current_causal_tag()

    with collect_reports() as reports:
        own = await outer()

    assert (reports[0].parent_tag, reports[0].root_tag) == (own, own)


async def test_tasks_inherit_the_tag_of_the_action_that_started_them():
    @expects(CHECK)
    async def outer():
        await asyncio.gather(tag_async(), tag_async())
        return current_causal_tag()

    with collect_reports() as reports:
        own = await outer()

    assert [report.parent_tag for report in reports[:2]] == [own, own]


async def test_concurrent_tasks_do_not_see_each_other():
    with collect_reports() as reports:
        tags = await asyncio.gather(*[tag_async() for _ in range(50)])

    assert sorted(tags) == sorted(report.causal_tag for report in reports)
    assert {report.parent_tag for report in reports} == {None}


async def test_a_thread_that_carries_the_context_carries_the_tag():
    @expects(CHECK)
    async def outer():
        return current_causal_tag(), await asyncio.to_thread(current_causal_tag)

    own, in_thread = await outer()
    assert own == in_thread


def test_a_bare_thread_has_no_tag():
    seen = []

    @expects(CHECK)
    def outer():
        thread = threading.Thread(target=lambda: seen.append(current_causal_tag()))
        thread.start()
        thread.join()

    outer()
    assert seen == [None]


@pytest.mark.parametrize(
    "error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3), GeneratorExit(), asyncio.CancelledError()]
)
def test_the_context_is_restored_after_the_action_raised(error):
    @expects(CHECK)
    def action():
        raise error

    before = context.get_current()
    with pytest.raises(type(error)):
        action()
    assert context.get_current() is before


def test_the_context_is_restored_after_the_action_returned():
    before = context.get_current()
    tag()

    assert context.get_current() is before


def test_the_context_is_restored_after_a_baseline_was_interrupted():
    def interrupted():
        raise KeyboardInterrupt

    @expects(observe("state", interrupted))
    def action():
        raise AssertionError

    before = context.get_current()
    with pytest.raises(KeyboardInterrupt):
        action()
    assert context.get_current() is before


async def test_the_context_is_restored_after_a_cancellation():
    after = []

    @expects(CHECK)
    async def action():
        await asyncio.sleep(60)

    async def caller():
        try:
            await action()
        finally:
            after.append(current_causal_tag())

    task = asyncio.create_task(caller())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert after == [None]


def test_the_tag_of_the_outer_action_is_back_after_the_inner_one():
    @expects(CHECK)
    def outer():
        before = current_causal_tag()
        tag()
        return before, current_causal_tag()

    before, after = outer()
    assert before == after


def test_a_window_opened_by_hand_leaves_no_tag_current():
    w = window("import", CHECK)
    w.capture_baseline()
    between = current_causal_tag()
    w.verify()

    assert (between, current_causal_tag()) == (None, None)


def test_a_seed_does_not_repeat_tags():
    random.seed(7)
    first = tag()
    random.seed(7)

    assert tag() != first


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_does_not_repeat_tags():
    tag()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, tag().encode())
        os._exit(0)
    own = tag()
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() not in ("", own)
