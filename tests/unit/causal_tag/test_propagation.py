"""Causal tags in headers and environments: written, adopted, and kept out."""

import asyncio
import os
import subprocess
import sys

import pytest
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.context import attach, detach
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import TextMapPropagator

from deltaspan import (
    adopt,
    causal_environ,
    causal_headers,
    change,
    current_causal_tag,
    expects,
    observe,
    window,
)
from deltaspan.exceptions import DefinitionTypeError
from support.reports import reports_of

TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"


ROOT = "7c1f0f5e-2222-4333-8444-555566667777"


TRACE = "0af7651916cd43dd8448eb211c80319c"


HEADERS = {
    "traceparent": f"00-{TRACE}-b7ad6b7169203331-01",
    "tracestate": "one=1",
    "baggage": f"deltaspan.causal_tag.id={TAG},deltaspan.causal_tag.root_id={ROOT}",
}


@expects(observe("nothing", lambda: 0))
def act():
    return causal_headers()


def reported(call, *args):
    return reports_of(call, *args)[-1]


def keys_of(header):
    return [pair.partition("=")[0] for pair in header.split(",")]


# Outgoing headers -----------------------------------------------------------------------------------------


def test_headers_carry_tag_and_trace_of_the_action(recorded):
    headers = {}
    report = reported(lambda: headers.update(act()))
    span = recorded.span.context

    assert headers == {
        "traceparent": f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}",
        "baggage": (
            f"deltaspan.causal_tag.id={report.causal_tag},deltaspan.causal_tag.root_id={report.root_tag}"
        ),
    }


def test_headers_are_w3c_with_any_configured_propagator(recorded, monkeypatch):
    monkeypatch.setattr(propagate, "propagator", CompositePropagator([]))
    assert isinstance(propagate.get_global_textmap(), TextMapPropagator)

    assert sorted(act()) == ["baggage", "traceparent"]


def test_no_headers_exist_outside_any_context():
    assert causal_headers() == causal_environ() == {}


def test_the_environment_has_the_same_in_upper_case():
    with adopt(HEADERS):
        assert causal_environ() == {name.upper(): value for name, value in causal_headers().items()}
        assert causal_environ()["TRACESTATE"] == "one=1"


def test_other_baggage_is_sent_after_the_causal_tag(caplog):
    current = context.get_current()
    for number in range(200):
        current = baggage.set_baggage(f"key{number}", "value", current)
    token = context.attach(current)
    try:
        headers = act()
    finally:
        context.detach(token)

    assert keys_of(headers["baggage"])[:3] == [
        "deltaspan.causal_tag.id",
        "deltaspan.causal_tag.root_id",
        "key0",
    ]


def test_a_window_opened_by_hand_hands_out_its_tag():
    w = window("load", observe("nothing", lambda: 0))
    w.capture_baseline()
    with adopt(w.causal_headers()):
        report = reported(act)
    w.verify()

    assert (report.parent_tag, report.root_tag) == (w.report.causal_tag, w.report.causal_tag)


def test_a_window_that_is_not_open_has_no_tag_to_hand_out():
    with pytest.raises(
        ValueError, match=r"window 'load' has no causal tag yet; call capture_baseline\(\) first"
    ):
        window("load", observe("nothing", lambda: 0)).causal_headers()


def test_an_action_under_the_adopted_tag_of_a_window_does_not_contend_with_it():
    rows = []
    w = window("load", change("rows", lambda: len(rows)).by(1))
    w.capture_baseline()
    add = expects(change("rows", lambda: len(rows)).by(1))(lambda: rows.append(1))
    with adopt(w.causal_headers()):
        inner = reported(add)

    assert (inner.outcome, w.verify().outcome) == ("pass", "pass")


def test_headers_of_a_disabled_window_are_those_of_its_context(environ):
    environ(DELTASPAN_ENABLED="false")
    w = window("load", observe("nothing", lambda: 0))
    w.capture_baseline()
    with adopt(HEADERS):
        assert w.causal_headers() == causal_headers()


# A child process ------------------------------------------------------------------------------------------

CHILD = """
import deltaspan
print(deltaspan.current_causal_tag())
with deltaspan.collect_reports() as reports:
    act = deltaspan.expects(deltaspan.observe("nothing", lambda: 0))(lambda: None)
    act()
    act()
print(*[report.parent_tag for report in reports])
print(*[report.attempt for report in reports])
print(deltaspan.causal_headers().get("traceparent"))
"""


def child(script=CHILD, **environ):
    plain = {name: value for name, value in os.environ.items() if name not in ("TRACEPARENT", "BAGGAGE")}
    done = subprocess.run(  # this interpreter with a script of ours
        [sys.executable, "-W", "error", "-c", script],
        env={**plain, **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def test_a_child_process_takes_its_environment_up():
    with adopt(HEADERS):
        environ = causal_environ()

    assert child(**environ) == [TAG, f"{TAG} {TAG}", "1 2", HEADERS["traceparent"]]


def test_a_child_process_takes_up_no_trace_without_a_tag():
    assert child(TRACEPARENT=HEADERS["traceparent"]) == ["None", "None None", "1 1", "None"]


def test_a_child_process_ignores_carriers_that_are_not_in_upper_case():
    with adopt(HEADERS):
        environ = causal_environ()

    nothing = child()
    for respell in (str.lower, str.title):
        assert child(**{respell(name): value for name, value in environ.items()}) == nothing


@pytest.mark.parametrize("change", [str.lower, str.title])
def test_an_environment_that_is_adopted_has_carriers_in_upper_case_alone(monkeypatch, change):
    for name, value in HEADERS.items():
        monkeypatch.setenv(change(name), value)
    with adopt(os.environ):
        assert current_causal_tag() is None
    for name, value in HEADERS.items():
        monkeypatch.setenv(name.upper(), value)
    with adopt(os.environ):
        assert current_causal_tag() == TAG


def test_a_child_process_ignores_an_environment_that_is_not_understood():
    assert child(TRACEPARENT="x", BAGGAGE="deltaspan.causal_tag.id=me,=") == [
        "None",
        "None None",
        "1 1",
        "None",
    ]


def test_a_child_process_with_a_context_ignores_its_environment():
    script = f"""
import deltaspan
with deltaspan.adopt({{"baggage": "deltaspan.causal_tag.id={ROOT}"}}):
    print(deltaspan.current_causal_tag())
"""
    assert child(script, BAGGAGE=HEADERS["baggage"]) == [ROOT]


# Tags that are not sent -------------------------------------------------------------------------------------


@pytest.fixture
def _kept_in(environ):
    environ(DELTASPAN_PROPAGATE="off")


@pytest.mark.usefixtures("_kept_in")
def test_kept_in_the_tag_is_in_no_baggage_and_no_headers(recorded):
    @expects(observe("nothing", lambda: 0))
    def look():
        return dict(baggage.get_all()), sorted(causal_headers()), sorted(causal_environ())

    assert look() == ({}, ["traceparent"], ["TRACEPARENT"])


@pytest.mark.usefixtures("_kept_in")
def test_kept_in_actions_of_this_process_still_nest():
    @expects(observe("nothing", lambda: 0))
    def outer():
        assert current_causal_tag()
        act()

    reports = reports_of(outer)

    assert reports[0].parent_tag == reports[1].causal_tag


@pytest.mark.usefixtures("_kept_in")
def test_an_inbound_tag_is_a_parent_and_is_not_sent_on_if_propagation_is_off():
    with adopt({**HEADERS, "baggage": HEADERS["baggage"] + ",tenant=acme"}):
        headers, report = causal_headers(), reported(act)

    assert report.parent_tag == TAG
    assert headers["baggage"] == "tenant=acme"


# Adopting headers ---------------------------------------------------------------------------------------


@expects(observe("nothing", lambda: 0))
def act_with_the_global_propagator():
    carrier = {}
    propagate.inject(carrier)
    return carrier


def test_actions_inside_adopt_are_children_of_the_adopted_tag(recorded):
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


def test_the_previous_tag_is_restored_after_an_exception_too():
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


async def test_each_async_task_has_its_own_adopted_tag():
    async def take_up(tag):
        with adopt({"baggage": f"deltaspan.causal_tag.id={tag}"}):
            await asyncio.sleep(0)
            return current_causal_tag()

    assert await asyncio.gather(take_up(TAG), take_up(ROOT)) == [TAG, ROOT]
    assert current_causal_tag() is None


async def test_an_async_generator_closed_in_another_context_logs_nothing(caplog):
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
def test_baggage_properties_of_a_tag_are_not_part_of_it(properties):
    pairs = f"deltaspan.causal_tag.id={TAG}{properties},deltaspan.causal_tag.root_id={ROOT}{properties}"
    with adopt({"baggage": pairs}):
        tag, report, sent = current_causal_tag(), reported(act), causal_headers()

    assert (tag, report.parent_tag, report.root_tag) == (TAG, TAG, ROOT)
    assert sent == {"baggage": HEADERS["baggage"]}


WRONG = {
    "nil": {"baggage": "deltaspan.causal_tag.id=00000000-0000-0000-0000-000000000000"},
    "upper case": {"baggage": f"deltaspan.causal_tag.id={TAG.upper()}"},
    "a property of nothing": {"baggage": f"deltaspan.causal_tag.id=;{TAG}"},
    "white space within": {"baggage": f"deltaspan.causal_tag.id=+{TAG[1:]}"},
    "garbage": {
        "baggage": "===,;;,\x00,deltaspan.causal_tag.id",
        "traceparent": "00-xyz",
        "tracestate": "=,,A=B",
    },
    "a root alone": {"baggage": f"deltaspan.causal_tag.root_id={ROOT}"},
    "a nil trace": {"traceparent": f"00-{'0' * 32}-{'0' * 16}-01"},
    "too long": {"baggage": f"deltaspan.causal_tag.id={TAG}," + "a" * 9000, "traceparent": "0" * 600},
    "not text": {"baggage": 7, "traceparent": None},
    "not ASCII": {"baggage": "schlüssel=wert", "traceparent": "ä"},
    "nothing": {},
}


@pytest.mark.parametrize("headers", WRONG.values(), ids=WRONG)
def test_headers_that_are_not_understood_are_ignored_silently(headers, caplog):
    with adopt(headers):
        tag, report = current_causal_tag(), reported(act)

    assert (tag, report.parent_tag, caplog.records) == (None, None, [])


def test_a_broken_tracestate_costs_no_trace_and_no_line_in_the_log(recorded, caplog):
    with adopt({**HEADERS, "tracestate": "=,A=B, two=2 ,x"}):
        act()

    assert f"{recorded.span.context.trace_id:032x}" == TRACE
    assert recorded.span.context.trace_state.to_header() == "two=2"
    assert caplog.records == []


def test_an_object_that_is_not_a_mapping_is_refused():
    with pytest.raises(DefinitionTypeError, match="adopt takes a mapping of headers, not list"), adopt([]):
        pass


def members(count, text="x"):
    return ",".join(f"foreign{number}={text}" for number in range(count))


def sent_under(header):
    """Return the names that an action sends on under a header, in order."""
    with adopt({"baggage": header}):
        return keys_of(act()["baggage"])


@pytest.mark.parametrize("count", [178, 179, 180, 400])
def test_the_tag_and_its_root_go_before_any_number_of_foreign_members(count, caplog):
    names = sent_under(f"{HEADERS['baggage']},{members(count)}")

    assert names[:2] == ["deltaspan.causal_tag.id", "deltaspan.causal_tag.root_id"]
    assert len(names) == 180
    assert caplog.messages == []


@pytest.mark.parametrize("count", [0, 179, 180, 400])
def test_the_tag_and_its_root_are_read_behind_any_number_of_foreign_members(count):
    with adopt({"baggage": f"{members(count)},{HEADERS['baggage']}"}):
        report = reported(act)

    assert (report.parent_tag, report.root_tag) == (TAG, ROOT)


def test_the_tag_and_its_root_go_before_foreign_members_that_fill_the_header(caplog):
    names = sent_under(f"a={'x' * 4050},b={'x' * 4050},c=x")

    assert names == ["deltaspan.causal_tag.id", "deltaspan.causal_tag.root_id", "a"]
    assert caplog.messages == []


@pytest.mark.parametrize(
    "text", ["x" * 4100, "%78" * 1400, "!" * 1400], ids=["as it is", "longer when read", "longer when sent"]
)
def test_a_foreign_member_above_4096_bytes_is_dropped_silently(text, caplog):
    with adopt({"baggage": f"long={text},user=ada"}):
        held = dict(baggage.get_all())
        names = [keys_of(act()["baggage"]) for _ in range(2)]

    assert held == {"user": "ada"}
    assert names == [["deltaspan.causal_tag.id", "deltaspan.causal_tag.root_id", "user"]] * 2
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

    assert keys_of(carrier["baggage"])[:3] == [
        "deltaspan.causal_tag.id",
        "deltaspan.causal_tag.root_id",
        "user",
    ]


def test_the_tag_of_a_caller_goes_first_again_after_an_action_that_leaves_baggage_behind():
    @expects(observe("nothing", lambda: 0))
    def leave():
        attach(baggage.set_baggage("left", "behind"))

    with adopt({"baggage": f"{HEADERS['baggage']},user=ada"}):
        leave()
        held = list(baggage.get_all())

    assert held == ["deltaspan.causal_tag.id", "deltaspan.causal_tag.root_id", "user", "left"]
