"""Without what is private in OpenTelemetry the public functions do the same."""

import importlib
import logging
from contextvars import copy_context

import pytest
from opentelemetry import baggage
from opentelemetry import context as otel_context
from opentelemetry.context import Context, attach, detach, get_current

from deltaspan import adopt, causal_headers, current_causal_tag, expects, observe, override
from deltaspan._telemetry import _suppression
from deltaspan.causal_tag import _context, detach_here, untagged

TAG, ROOT = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f", "7c1f0f5e-2222-4333-8444-555566667777"
HEADERS = {"baggage": f"deltaspan.causal_tag.id={TAG},deltaspan.causal_tag.root_id={ROOT},user=ada"}


@pytest.fixture(params=["private", "public"])
def key(request, monkeypatch):
    """Take the key of OpenTelemetry's baggage away in one of two runs."""
    if request.param == "public":
        monkeypatch.setattr(_context, "_BAGGAGE_KEY", None)


@pytest.fixture
def seen():
    """The baggage that an action, its probe and a request to a third party have."""
    seen = {}

    def read():
        seen["probe"] = dict(baggage.get_all())
        return 1

    @expects(observe("n", read))
    def act():
        seen["tag"] = current_causal_tag()
        seen["action"] = dict(baggage.get_all())
        seen["third party"] = dict(baggage.get_all(untagged()))
        seen["headers"] = causal_headers()
        attach(baggage.set_baggage("left", "behind"))

    with adopt(HEADERS):
        act()
        seen["caller"] = dict(baggage.get_all())
    return seen


@pytest.mark.usefixtures("key")
class TestBaggage:
    def test_an_action_has_its_tag_first_and_the_root_of_its_caller(self, seen):
        own = {"deltaspan.causal_tag.id": seen["tag"], "deltaspan.causal_tag.root_id": ROOT}

        assert seen["action"] == {**own, "user": "ada"}
        assert list(seen["action"])[:2] == list(own)

    def test_probes_and_third_parties_have_no_tag(self, seen):
        assert seen["probe"] == {"user": "ada"}
        assert seen["third party"] == {"user": "ada"}

    def test_headers_carry_the_tag(self, seen):
        assert seen["headers"]["baggage"].startswith(f"deltaspan.causal_tag.id={seen['tag']},")

    def test_the_caller_has_its_own_tag_again_and_what_the_action_left(self, seen):
        assert seen["caller"] == {
            "deltaspan.causal_tag.id": TAG,
            "deltaspan.causal_tag.root_id": ROOT,
            "user": "ada",
            "left": "behind",
        }

    def test_without_propagation_no_tag_is_in_baggage(self):
        with override(propagate=False):
            expects(observe("n", lambda: 1))(lambda: self.check(dict(baggage.get_all())))()

    def check(self, pairs):
        assert pairs == {}


@pytest.mark.parametrize("values", [{}, {"one": 1, "two": 2}])
def test_baggage_without_a_single_key_has_none(monkeypatch, values):
    monkeypatch.setattr(baggage, "set_baggage", lambda name, value, context: Context(values))

    assert _context._find_baggage_key() is None


class OpaqueToken:
    """A token of a context that has no context variable."""


def test_a_token_without_a_context_variable_is_detached_by_opentelemetry(monkeypatch):
    detached = []
    monkeypatch.setattr(_context, "detach", detached.append)
    token = OpaqueToken()

    assert detach_here(token)
    assert detached == [token]


def test_detaching_restores_the_context():
    before = get_current()

    assert detach_here(attach(Context({"x": 1})))
    assert get_current() == before


def test_detaching_in_another_context_does_nothing_and_logs_nothing(caplog):
    token = attach(Context({"x": 1}))
    with caplog.at_level(logging.DEBUG):
        assert not copy_context().run(detach_here, token)
    detach(token)

    assert caplog.records == []


def test_without_the_key_of_opentelemetry_the_plain_one_suppresses(monkeypatch):
    monkeypatch.delattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY")
    try:
        importlib.reload(_suppression)
        assert _suppression.SUPPRESSED == {"suppress_instrumentation": True}
        assert _suppression.is_suppressed(Context({"suppress_instrumentation": True}))
        assert not _suppression.is_suppressed(Context({"other": True}))
    finally:
        monkeypatch.undo()
        importlib.reload(_suppression)
