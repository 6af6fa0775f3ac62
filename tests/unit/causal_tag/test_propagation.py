"""A causal tag crosses processes in headers and in the environment, always in W3C's form, or is kept in."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from opentelemetry import baggage, context, propagate
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import TextMapPropagator

from deltaspan import (
    adopt,
    causal_environ,
    causal_headers,
    change,
    collect_reports,
    current_causal_tag,
    expects,
    observe,
    window,
)

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


def keys_of(header):
    return [pair.partition("=")[0] for pair in header.split(",")]


# Giving out -----------------------------------------------------------------------------------------------


def test_headers_carry_tag_and_trace_of_the_action(recorded):
    headers = {}
    report = reported(lambda: headers.update(act()))
    span = recorded.span.context

    assert headers == {
        "traceparent": f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}",
        "baggage": f"delta.causal_tag.id={report.causal_tag},delta.causal_tag.root_id={report.root_tag}",
    }


def test_headers_are_w3c_whatever_propagator_is_configured(recorded, monkeypatch):
    monkeypatch.setattr(propagate, "propagator", CompositePropagator([]))
    assert isinstance(propagate.get_global_textmap(), TextMapPropagator)

    assert sorted(act()) == ["baggage", "traceparent"]


def test_outside_any_context_there_are_no_headers():
    assert causal_headers() == causal_environ() == {}


def test_the_environment_has_the_same_in_upper_case():
    with adopt(HEADERS):
        assert causal_environ() == {name.upper(): value for name, value in causal_headers().items()}
        assert causal_environ()["TRACESTATE"] == "one=1"


def test_other_baggage_goes_along_but_ours_comes_first(caplog):
    current = context.get_current()
    for number in range(200):
        current = baggage.set_baggage(f"key{number}", "value", current)
    token = context.attach(current)
    try:
        headers = act()
    finally:
        context.detach(token)

    assert keys_of(headers["baggage"])[:3] == ["delta.causal_tag.id", "delta.causal_tag.root_id", "key0"]


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


def test_an_action_under_the_adopted_tag_of_an_open_window_is_no_rival():
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
    assert child(TRACEPARENT="x", BAGGAGE="delta.causal_tag.id=me,=") == ["None", "None None", "1 1", "None"]


def test_a_child_process_leaves_its_environment_aside_where_it_has_a_context_of_its_own():
    script = f"""
import deltaspan
with deltaspan.adopt({{"baggage": "delta.causal_tag.id={ROOT}"}}):
    print(deltaspan.current_causal_tag())
"""
    assert child(script, BAGGAGE=HEADERS["baggage"]) == [ROOT]


# Keeping it in ----------------------------------------------------------------------------------------------


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

    with collect_reports() as reports:
        outer()

    assert reports[0].parent_tag == reports[1].causal_tag


@pytest.mark.usefixtures("_kept_in")
def test_kept_in_an_inbound_tag_is_a_parent_but_goes_no_further():
    with adopt({**HEADERS, "baggage": HEADERS["baggage"] + ",tenant=acme"}):
        headers, report = causal_headers(), reported(act)

    assert report.parent_tag == TAG
    assert headers["baggage"] == "tenant=acme"
