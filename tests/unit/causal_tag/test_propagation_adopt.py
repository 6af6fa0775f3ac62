"""`adopt` takes a causal tag up from headers, and ignores without a word what it cannot understand."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry import baggage, propagate, trace
from opentelemetry.context import attach, detach

from deltaspan import (
    adopt,
    causal_headers,
    collect_reports,
    current_causal_tag,
    expects,
    observe,
)
from deltaspan.exceptions import DefinitionTypeError

TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
ROOT = "7c1f0f5e-2222-4333-8444-555566667777"
TRACE = "0af7651916cd43dd8448eb211c80319c"
HEADERS = {
    "traceparent": f"00-{TRACE}-b7ad6b7169203331-01",
    "tracestate": "one=1",
    "baggage": f"delta.causal_tag.id={TAG},delta.causal_tag.root_id={ROOT}",
}


@expects(observe("nothing", lambda: 0))
def act():
    return causal_headers()


def reported(call, *args):
    with collect_reports() as reports:
        call(*args)
    return reports[-1]


@expects(observe("nothing", lambda: 0))
def act_with_the_global_propagator():
    carrier = {}
    propagate.inject(carrier)
    return carrier


def keys_of(header):
    return [pair.partition("=")[0] for pair in header.split(",")]


def test_inside_actions_are_children_of_the_adopted_tag(recorded):
    with adopt(HEADERS):
        tag, report = current_causal_tag(), reported(act)

    assert tag == TAG
    assert (report.parent_tag, report.root_tag) == (TAG, ROOT)
    assert f"{recorded.span.context.trace_id:032x}" == TRACE
    assert recorded.span.context.trace_state.to_header() == "one=1"


def test_afterwards_everything_is_as_before():
    with adopt(HEADERS):
        pass

    assert (current_causal_tag(), trace.get_current_span().get_span_context().is_valid) == (None, False)


def test_it_is_restored_after_an_exception_too():
    with pytest.raises(KeyError), adopt(HEADERS):
        raise KeyError

    assert current_causal_tag() is None


@pytest.mark.parametrize(
    "headers",
    [
        {name.upper(): value for name, value in HEADERS.items()},
        {name.title(): value for name, value in HEADERS.items()},
        {name.encode(): value.encode() for name, value in HEADERS.items()},
        {**HEADERS, "Host": "shop", "X": None, 7: 8},
    ],
    ids=["environment", "HTTP", "bytes", "with others"],
)
def test_headers_of_any_mapping_are_understood(headers):
    with adopt(headers):
        assert causal_headers() == HEADERS


def test_an_adopted_tag_replaces_the_one_that_is_current():
    @expects(observe("nothing", lambda: 0))
    def outer():
        with adopt(HEADERS):
            inside = current_causal_tag()
        return inside, current_causal_tag()

    inside, after = outer()

    assert inside == TAG
    assert after not in (TAG, None)


def test_a_span_of_that_trace_that_is_current_stays_current(recorded):
    with adopt(HEADERS), recorded.tracer.start_as_current_span("server") as server, adopt(HEADERS):
        assert trace.get_current_span() is server


async def test_in_async_code_each_task_has_its_own():
    async def take_up(tag):
        with adopt({"baggage": f"delta.causal_tag.id={tag}"}):
            await asyncio.sleep(0)
            return current_causal_tag()

    assert await asyncio.gather(take_up(TAG), take_up(ROOT)) == [TAG, ROOT]
    assert current_causal_tag() is None


async def test_an_async_generator_closed_elsewhere_makes_no_noise(caplog):
    async def numbers():
        with adopt(HEADERS):
            yield 1

    generator = numbers()
    await asyncio.create_task(anext(generator))
    await asyncio.create_task(generator.aclose())

    assert caplog.records == []


def test_other_baggage_is_taken_up_too():
    with adopt({"baggage": "tenant=J%C3%BCrgen+%26+Co"}):
        assert baggage.get_baggage("tenant") == "Jürgen & Co"


PROPERTIES = [";a=b", ";a", " ; a=b;c ", ";", ";a=%3B", "\t;\ta = b"]


@pytest.mark.parametrize("properties", PROPERTIES)
def test_properties_behind_a_tag_are_no_part_of_it(properties):
    pairs = f"delta.causal_tag.id={TAG}{properties},delta.causal_tag.root_id={ROOT}{properties}"
    with adopt({"baggage": pairs}):
        tag, report, sent = current_causal_tag(), reported(act), causal_headers()

    assert (tag, report.parent_tag, report.root_tag) == (TAG, TAG, ROOT)
    assert sent == {"baggage": HEADERS["baggage"]}


WRONG = {
    "nil": {"baggage": "delta.causal_tag.id=00000000-0000-0000-0000-000000000000"},
    "upper case": {"baggage": f"delta.causal_tag.id={TAG.upper()}"},
    "a property of nothing": {"baggage": f"delta.causal_tag.id=;{TAG}"},
    "white space within": {"baggage": f"delta.causal_tag.id=+{TAG[1:]}"},
    "garbage": {
        "baggage": "===,;;,\x00,delta.causal_tag.id",
        "traceparent": "00-xyz",
        "tracestate": "=,,A=B",
    },
    "a root alone": {"baggage": f"delta.causal_tag.root_id={ROOT}"},
    "a nil trace": {"traceparent": f"00-{'0' * 32}-{'0' * 16}-01"},
    "too long": {"baggage": f"delta.causal_tag.id={TAG}," + "a" * 9000, "traceparent": "0" * 600},
    "not text": {"baggage": 7, "traceparent": None},
    "not ASCII": {"baggage": "schlüssel=wert", "traceparent": "ä"},
    "nothing": {},
}


@pytest.mark.parametrize("headers", WRONG.values(), ids=WRONG)
def test_what_cannot_be_understood_is_ignored_without_a_word(headers, caplog):
    with adopt(headers):
        tag, report = current_causal_tag(), reported(act)

    assert (tag, report.parent_tag, caplog.records) == (None, None, [])


def test_a_broken_tracestate_costs_no_trace_and_no_line_in_the_log(recorded, caplog):
    with adopt({**HEADERS, "tracestate": "=,A=B, two=2 ,x"}):
        act()

    assert f"{recorded.span.context.trace_id:032x}" == TRACE
    assert recorded.span.context.trace_state.to_header() == "two=2"
    assert caplog.records == []


def test_what_is_no_mapping_is_refused():
    with pytest.raises(DefinitionTypeError, match="adopt takes a mapping of headers, not list"), adopt([]):
        pass


def members(count, text="x"):
    return ",".join(f"foreign{number}={text}" for number in range(count))


def sent_under(header):
    """Return the names that an action sends on under a header, in order."""
    with adopt({"baggage": header}):
        return keys_of(act()["baggage"])


@pytest.mark.parametrize("count", [178, 179, 180, 400])
def test_the_tag_and_its_root_go_before_whatever_number_of_foreign_members(count, caplog):
    names = sent_under(f"{HEADERS['baggage']},{members(count)}")

    assert names[:2] == ["delta.causal_tag.id", "delta.causal_tag.root_id"]
    assert len(names) == 180
    assert caplog.messages == []


@pytest.mark.parametrize("count", [0, 179, 180, 400])
def test_the_tag_and_its_root_are_read_behind_whatever_number_of_foreign_members(count):
    with adopt({"baggage": f"{members(count)},{HEADERS['baggage']}"}):
        report = reported(act)

    assert (report.parent_tag, report.root_tag) == (TAG, ROOT)


def test_the_tag_and_its_root_go_before_foreign_members_that_fill_the_header(caplog):
    names = sent_under(f"a={'x' * 4050},b={'x' * 4050},c=x")

    assert names == ["delta.causal_tag.id", "delta.causal_tag.root_id", "a"]
    assert caplog.messages == []


@pytest.mark.parametrize(
    "text", ["x" * 4100, "%78" * 1400, "!" * 1400], ids=["as it is", "longer when read", "longer when sent"]
)
def test_a_foreign_member_above_4096_bytes_is_dropped_without_a_word_when_it_is_read(text, caplog):
    with adopt({"baggage": f"long={text},user=ada"}):
        held = dict(baggage.get_all())
        names = [keys_of(act()["baggage"]) for _ in range(2)]

    assert held == {"user": "ada"}
    assert names == [["delta.causal_tag.id", "delta.causal_tag.root_id", "user"]] * 2
    assert caplog.messages == []


def test_the_tag_goes_before_the_members_that_a_program_set_itself():
    context = baggage.set_baggage("user", "ada")
    for number in range(400):
        context = baggage.set_baggage(f"own{number}", number, context)
    token = attach(context)
    try:
        carrier = act_with_the_global_propagator()
    finally:
        detach(token)

    assert keys_of(carrier["baggage"])[:3] == ["delta.causal_tag.id", "delta.causal_tag.root_id", "user"]


def test_the_tag_of_a_caller_goes_first_again_after_an_action_that_leaves_baggage_behind():
    @expects(observe("nothing", lambda: 0))
    def leave():
        attach(baggage.set_baggage("left", "behind"))

    with adopt({"baggage": f"{HEADERS['baggage']},user=ada"}):
        leave()
        held = list(baggage.get_all())

    assert held == ["delta.causal_tag.id", "delta.causal_tag.root_id", "user", "left"]
