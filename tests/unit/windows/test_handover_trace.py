"""Both halves of a window that is handed over are one run: one tag, one trace, one verdict."""

from __future__ import annotations

import pytest

from deltaspan import (
    Window,
    adopt,
    change,
    expects,
    observe,
    unchanged,
    window,
)

TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
ROOT = "7c1f0f5e-2222-4333-8444-555566667777"


class Rows(list):
    """A piece of state to act on."""

    def count(self):
        return len(self)


@pytest.fixture
def rows():
    return Rows([1, 2, 3])


def opened(*checks, name="load", **options):
    w = window(name, *checks, **options)
    w.capture_baseline()
    return w


def attributes(span):
    return dict(span.attributes)


def test_it_keeps_its_tag_its_parent_and_its_root(rows):
    check = change("rows", rows.count).by(1)
    with adopt({"baggage": f"delta.causal_tag.id={TAG},delta.causal_tag.root_id={ROOT}"}):
        w = opened(check)
    report = Window.from_json(w.to_json(), check).verify()

    assert (report.causal_tag, report.parent_tag, report.root_tag) == (w.causal_tag, TAG, ROOT)


def test_probes_that_name_the_tag_get_the_same_one():
    check = unchanged("mine", lambda causal_tag: causal_tag)

    assert Window.from_json(opened(check).to_json(), check).verify().outcome == "pass"


def test_the_verdict_is_on_a_child_of_the_half_that_captured(recorded, rows):
    check = change("rows", rows.count).by(0)
    Window.from_json(opened(check).to_json(), check).verify()
    captured, verified = recorded.spans

    assert [span.name for span in recorded.spans] == ["verify load"] * 2
    assert verified.parent.span_id == captured.context.span_id
    assert verified.context.trace_id == captured.context.trace_id
    assert attributes(captured)["delta.causal_tag.id"] == attributes(verified)["delta.causal_tag.id"]
    assert attributes(captured)["delta.window.handed_over"] is True
    assert "delta.action.outcome" not in attributes(captured)
    assert attributes(verified)["delta.action.outcome"] == "pass"


def test_the_trace_that_is_current_where_it_is_loaded_is_linked(recorded, rows):
    check = change("rows", rows.count).by(0)
    text = opened(check).to_json()
    with recorded.tracer.start_as_current_span("consume") as consumer:
        Window.from_json(text, check).verify()
    verified = recorded.spans[1]

    assert [link.context.span_id for link in verified.links] == [consumer.get_span_context().span_id]
    assert verified.context.trace_id == recorded.spans[0].context.trace_id


def test_baggage_of_others_is_not_in_the_text(rows):
    with adopt({"baggage": "password=hunter2"}):
        text = opened(change("rows", rows.count)).to_json()

    assert "hunter2" not in text


def test_nothing_stays_current_after_it_is_loaded(recorded, rows):
    check = change("rows", rows.count)
    before = recorded.tracer.start_span("probe").parent
    there = Window.from_json(opened(check).to_json(), check)
    after = recorded.tracer.start_span("probe").parent

    assert (before, after) == (None, None)
    there.verify()


def test_its_headers_hand_out_the_same_tag(rows):
    check = change("rows", rows.count)
    w = opened(check)
    there = Window.from_json(w.to_json(), check)

    assert there.causal_headers()["baggage"] == w.causal_headers()["baggage"]
    there.verify()


def test_which_attempt_it_is_stays_known(rows):
    check = observe("rows", rows.count)

    @expects(observe("turns", lambda: 0))
    def turn():
        opened(check).verify()
        return opened(check).to_json()

    assert Window.from_json(turn(), check).verify().attempt == 2
