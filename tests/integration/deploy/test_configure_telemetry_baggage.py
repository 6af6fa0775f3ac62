"""Baggage processors stamp every span and log record inside an action."""

from __future__ import annotations

from functools import cache

import pytest

from integration._otlp import Program, attributes_of, http_receiver

TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
BODY = """
    from opentelemetry import trace, _logs
    telemetry = deltaspan.configure_telemetry()

    def work():
        trace.get_tracer("a library").start_span("query").end()
        _logs.get_logger("a library").emit(event_name="queried", severity_number=_logs.SeverityNumber.INFO)

    @deltaspan.expects(deltaspan.observe("nothing", lambda: 0))
    def act():
        print(deltaspan.current_causal_tag())
        work()

"""
KEYS = ("delta.causal_tag.id", "delta.causal_tag.root_id")


@cache
def run(call, before=""):
    with http_receiver() as (endpoint, received):
        program = Program(before + BODY + f"    {call}\n", OTEL_EXPORTER_OTLP_ENDPOINT=endpoint).end()
    [span] = [each for each in received.spans if each.name == "query"]
    [log] = [each for each in received.logs if each.event_name == "queried"]
    return program, attributes_of(span), attributes_of(log)


@pytest.fixture(scope="module")
def inside():
    return run("act()")


@pytest.mark.parametrize("signal", [1, 2], ids=["span", "log record"])
def test_what_happens_in_an_action_carries_tag_and_root(inside, signal):
    tag = inside[0].out.strip()

    assert [inside[signal][key] for key in KEYS] == [tag, tag]


@pytest.mark.parametrize("signal", [1, 2], ids=["span", "log record"])
def test_what_happens_outside_carries_none(signal):
    assert run("work()")[signal].keys() & set(KEYS) == set()


@pytest.mark.parametrize("signal", [1, 2], ids=["span", "log record"])
def test_no_other_baggage_is_copied_not_even_of_ours(signal):
    headers = {"baggage": f"delta.causal_tag.id={TAG},delta.action.outcome=pass,user=ada"}
    found = run(f"with deltaspan.adopt({headers}): work()")[signal]

    assert {key: value for key, value in found.items() if key in (*KEYS, "delta.action.outcome", "user")} == {
        "delta.causal_tag.id": TAG,
        "delta.causal_tag.root_id": TAG,
    }


MISSING = """
    logging.basicConfig(level=logging.INFO, force=True, format="%(name)s %(levelname)s %(message)s")
    sys.modules["opentelemetry.processor.baggage"] = None
"""


def test_without_the_package_it_goes_on_and_names_the_extra():
    program, span, _ = run("act()", before=MISSING)

    assert (program.status, span.keys() & set(KEYS)) == (0, set())
    assert (
        "deltaspan INFO only the spans of actions carry the causal tag; for every span and log record inside "
        "them: pip install 'deltaspan[baggage]'"
    ) in program.err.splitlines()
