"""Inbound baggage is untrusted: only the canonical text of a non-nil UUID counts, and only as parent."""

from __future__ import annotations

import uuid

import pytest
from opentelemetry import baggage, context
from opentelemetry.baggage.propagation import W3CBaggagePropagator

from deltaspan import collect_reports, current_causal_tag, expects, observe

INBOUND = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
INBOUND_ROOT = "7c1f0f5e-2222-4333-8444-555566667777"


@expects(observe("nothing", lambda: 0))
def tag():
    return current_causal_tag()


@pytest.fixture
def inbound():
    tokens = []

    def attach(**entries):
        current = context.get_current()
        for name, value in entries.items():
            current = baggage.set_baggage(f"delta.causal_tag.{name}", value, current)
        tokens.append(context.attach(current))

    yield attach
    for token in reversed(tokens):
        context.detach(token)


def report_of(action):
    with collect_reports() as reports:
        action()
    return reports[-1]


def test_an_inbound_tag_is_current_outside_an_action(inbound):
    inbound(id=INBOUND)

    assert current_causal_tag() == INBOUND


def test_an_inbound_tag_becomes_the_parent(inbound):
    inbound(id=INBOUND, root_id=INBOUND_ROOT)
    report = report_of(tag)

    assert (report.parent_tag, report.root_tag) == (INBOUND, INBOUND_ROOT)


def test_an_inbound_tag_without_root_is_the_root(inbound):
    inbound(id=INBOUND)

    assert report_of(tag).root_tag == INBOUND


def test_an_inbound_root_without_tag_counts_for_nothing(inbound):
    inbound(root_id=INBOUND_ROOT)
    report = report_of(tag)

    assert (report.parent_tag, report.root_tag) == (None, report.causal_tag)


def test_an_inbound_tag_never_replaces_the_tag_of_an_action(inbound):
    inbound(id=INBOUND)

    assert tag() != INBOUND


@pytest.mark.parametrize("properties", [";a=b", ";a", ";a=%3B", ";a=b;c"])
def test_properties_behind_an_inbound_tag_are_no_part_of_it(properties):
    pairs = f"delta.causal_tag.id={INBOUND}{properties},delta.causal_tag.root_id={INBOUND_ROOT}{properties}"
    token = context.attach(W3CBaggagePropagator().extract({"baggage": pairs}))
    try:
        seen, report = current_causal_tag(), report_of(tag)
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
    report = report_of(tag)

    assert (current_causal_tag(), report.parent_tag, caplog.records) == (None, None, [])


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_an_inbound_root_that_is_not_canonical_is_ignored(inbound, value):
    inbound(id=INBOUND, root_id=value)

    assert report_of(tag).root_tag == INBOUND
