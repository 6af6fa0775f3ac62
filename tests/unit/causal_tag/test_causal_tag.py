"""Causal tags: fresh for each run, current inside it, equal by id, untrusted if inbound."""

import asyncio
import copy
import os
import pickle
import random
import re
import uuid
from dataclasses import FrozenInstanceError

import pytest
from opentelemetry import baggage, context
from opentelemetry.baggage.propagation import W3CBaggagePropagator

from deltaspan import collect_reports, current_causal_tag, expects, observe, window
from deltaspan.causal_tag import CausalTag, attempt_of, mint
from support.overlapping import run_in_threads
from support.reports import reports_of

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
    return reports_of(action)[-1]


def test_no_tag_is_current_outside_an_action():
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
    assert entries == {"deltaspan.causal_tag.id": own, "deltaspan.causal_tag.root_id": own}


def test_other_baggage_is_kept():
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
        run_in_threads(lambda: seen.append(current_causal_tag()))

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


# Causal tags as values ----------------------------------------------------------------------------------


ROOT_VALUE = CausalTag("a" * 8, "a" * 8)


TAG_VALUE = CausalTag("b" * 8, "a" * 8, "a" * 8, ROOT_VALUE)


def test_two_tags_are_equal_if_their_ids_are():
    same = CausalTag(TAG_VALUE.id, "another root")

    assert same == TAG_VALUE
    assert hash(same) == hash(TAG_VALUE)
    assert TAG_VALUE != ROOT_VALUE
    assert TAG_VALUE.id != TAG_VALUE
    assert {TAG_VALUE, same, ROOT_VALUE} == {TAG_VALUE, ROOT_VALUE}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_tag_keeps_its_ids_and_those_above(protocol):
    attempt_of(TAG_VALUE, "act")
    restored = pickle.loads(pickle.dumps(TAG_VALUE, protocol))  # noqa: S301  # our own bytes

    assert restored == TAG_VALUE
    assert (restored.id, restored.root_id, restored.parent_id) == (
        TAG_VALUE.id,
        TAG_VALUE.root_id,
        TAG_VALUE.parent_id,
    )
    assert restored.above == TAG_VALUE.above
    assert restored.parent == ROOT_VALUE


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_tag_is_the_tag(copied):
    assert copied(TAG_VALUE) is TAG_VALUE


@pytest.mark.parametrize("name", ["id", "root_id", "parent_id", "parent", "attempt_counters", "above", "new"])
def test_a_tag_cannot_be_changed(name):
    with pytest.raises(FrozenInstanceError):
        setattr(TAG_VALUE, name, "other")


def test_a_tag_is_not_a_tuple():
    assert not isinstance(TAG_VALUE, tuple)
    with pytest.raises(TypeError):
        iter(TAG_VALUE)


def test_the_repr_of_a_tag_shows_only_its_ids():
    assert (
        repr(TAG_VALUE)
        == f"CausalTag(id={TAG_VALUE.id!r}, root_id={TAG_VALUE.root_id!r}, parent_id={TAG_VALUE.parent_id!r})"
    )


# Inbound baggage ----------------------------------------------------------------------------------------


INBOUND = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"


INBOUND_ROOT = "7c1f0f5e-2222-4333-8444-555566667777"


@expects(observe("nothing", lambda: 0))
def current_tag():
    return current_causal_tag()


@pytest.fixture
def inbound():
    tokens = []

    def attach(**entries):
        current = context.get_current()
        for name, value in entries.items():
            current = baggage.set_baggage(f"deltaspan.causal_tag.{name}", value, current)
        tokens.append(context.attach(current))

    yield attach
    for token in reversed(tokens):
        context.detach(token)


def test_an_inbound_tag_is_current_outside_an_action(inbound):
    inbound(id=INBOUND)

    assert current_causal_tag() == INBOUND


def test_an_inbound_tag_becomes_the_parent(inbound):
    inbound(id=INBOUND, root_id=INBOUND_ROOT)
    report = report_of(current_tag)

    assert (report.parent_tag, report.root_tag) == (INBOUND, INBOUND_ROOT)


def test_an_inbound_tag_without_root_is_the_root(inbound):
    inbound(id=INBOUND)

    assert report_of(current_tag).root_tag == INBOUND


def test_an_inbound_root_without_a_tag_is_ignored(inbound):
    inbound(root_id=INBOUND_ROOT)
    report = report_of(current_tag)

    assert (report.parent_tag, report.root_tag) == (None, report.causal_tag)


def test_an_inbound_tag_never_replaces_the_tag_of_an_action(inbound):
    inbound(id=INBOUND)

    assert current_tag() != INBOUND


@pytest.mark.parametrize("properties", [";a=b", ";a", ";a=%3B", ";a=b;c"])
def test_baggage_properties_of_an_inbound_tag_are_not_part_of_it(properties):
    pairs = (
        f"deltaspan.causal_tag.id={INBOUND}{properties},"
        f"deltaspan.causal_tag.root_id={INBOUND_ROOT}{properties}"
    )
    token = context.attach(W3CBaggagePropagator().extract({"baggage": pairs}))
    try:
        seen, report = current_causal_tag(), report_of(current_tag)
    finally:
        context.detach(token)

    assert (seen, report.parent_tag, report.root_tag) == (INBOUND, INBOUND, INBOUND_ROOT)


WRONG = {
    "nil": "00000000-0000-0000-0000-000000000000",
    "upper-case": INBOUND.upper(),
    "braces": f"{{{INBOUND}}}",
    "urn": f"urn:uuid:{INBOUND}",
    "bare digits": INBOUND.replace("-", ""),
    "short": INBOUND[:-1],
    "long": INBOUND + "0",
    "line end": INBOUND + "\n",
    "white space": f" {INBOUND}",
    "garbage": "'; drop table flows --",
    "other digits": INBOUND.replace("3", "\N{ARABIC-INDIC DIGIT THREE}"),
    "empty": "",
    "a number": 7,
    "none": None,
    "bytes": INBOUND.encode(),
    "a UUID object": uuid.UUID(INBOUND),
}


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_an_inbound_tag_that_is_not_canonical_is_ignored(inbound, value, caplog):
    inbound(id=value, root_id=INBOUND_ROOT)
    report = report_of(current_tag)

    assert (current_causal_tag(), report.parent_tag, caplog.records) == (None, None, [])


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_an_inbound_root_that_is_not_canonical_is_ignored(inbound, value):
    inbound(id=INBOUND, root_id=value)

    assert report_of(current_tag).root_tag == INBOUND
