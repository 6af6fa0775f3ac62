"""Any spans in any order give the one right tree."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from deltaspan.tree import Span, causal_tree
from deltaspan.tree._otlp import spans_in
from support.tree import action, other, tag

OUTCOMES = ("pass", "fail", "inconclusive", "observed", "skipped", None)
FEW = st.integers(0, 5)
TAGS = st.sampled_from(["", "forged", None, *map(tag, range(5))])
ATTRIBUTES = st.fixed_dictionaries(
    {
        "deltaspan.action.name": st.sampled_from(["", "load", "save", 7]),
        "deltaspan.action.outcome": st.sampled_from(["", "pass", "fail", None]),
        "deltaspan.causal_tag.id": TAGS,
        "deltaspan.causal_tag.parent_id": TAGS,
        "deltaspan.causal_tag.root_id": TAGS,
        "deltaspan.check.failed_metrics": st.sampled_from(["", "[[", ["rows"], [7, "rows"]]),
    }
)


@st.composite
def forests(draw):
    """Return the parent of each of some runs: an earlier one, or none."""
    size = draw(st.integers(1, 25))
    return [draw(st.none() | st.integers(0, number - 1)) if number else None for number in range(size)]


def root_of(parents, number):
    while parents[number] is not None:
        number = parents[number]
    return number


@st.composite
def whatever(draw):
    """Return a span of few names, so that they meet in every wrong way."""
    attributes = {key: value for key, value in draw(ATTRIBUTES).items() if value != ""}
    return Span(
        draw(st.sampled_from(["a" * 32, "b" * 32])),
        f"{draw(FEW):016x}",
        draw(st.just("") | FEW.map("{:016x}".format)),
        draw(st.sampled_from(["", "GET", "x\n\x1b"])),
        draw(st.sampled_from(["", "client", "server", "internal"])),
        draw(st.sampled_from(["", "shop"])),
        draw(FEW),
        draw(FEW),
        attributes,
    )


@given(forests(), st.data())
def test_any_forest_is_rebuilt_exactly(parents, data):
    outcomes = data.draw(st.lists(st.sampled_from(OUTCOMES), min_size=len(parents), max_size=len(parents)))
    starts = data.draw(st.lists(st.integers(0, 9), min_size=len(parents), max_size=len(parents)))
    spans = [
        action(number, parent, root=root_of(parents, number), outcome=outcome, start=start)
        for number, (parent, outcome, start) in enumerate(zip(parents, outcomes, starts, strict=True))
    ]
    tree = causal_tree(data.draw(st.permutations(spans)))

    assert {(run.tag, run.parent, run.root, run.outcome) for run in tree} == {
        (
            tag(number),
            None if parent is None else tag(parent),
            tag(root_of(parents, number)),
            outcomes[number],
        )
        for number, parent in enumerate(parents)
    }
    assert {(run.tag, child) for run in tree for child in run.children} == {
        (tag(parent), tag(number)) for number, parent in enumerate(parents) if parent is not None
    }
    assert tree.findings == ()


@given(forests(), st.data())
def test_any_forest_is_rebuilt_from_spans_of_any_trace_and_service(parents, data):
    places = st.sampled_from(["a", "b", "c"])
    spans = [
        replace(action(number, parent), trace_id=data.draw(places) * 32, service=data.draw(places))
        for number, parent in enumerate(parents)
    ]
    stamped = [other(100 + number, number) for number in range(len(parents))]
    tree = causal_tree([*stamped, *spans])

    assert {run.tag: run.parent for run in tree} == {
        tag(number): None if parent is None else tag(parent) for number, parent in enumerate(parents)
    }
    assert [effect.tag for run in tree for effect in run.effects] == [run.tag for run in tree]


@given(st.lists(whatever(), max_size=8), st.data())
def test_neither_order_nor_repetition_changes_the_tree(spans, data):
    again = data.draw(st.lists(st.sampled_from(spans), max_size=5)) if spans else []
    tree = causal_tree(spans)

    shuffled = causal_tree(data.draw(st.permutations([*spans, *again])))
    assert (shuffled, str(shuffled)) == (tree, str(tree))


@given(st.lists(whatever(), max_size=8))
def test_no_span_hides_a_failure_of_another(spans):
    runs = [span for span in spans if span.is_action]
    verdicts = {span.tag for span in runs if span.attributes.get("deltaspan.action.outcome")}
    failed = {span.tag for span in runs if span.attributes.get("deltaspan.action.outcome") == "fail"}
    named = {span.tag for span in runs if "rows" in span.attributes.get("deltaspan.check.failed_metrics", ())}

    assert {run.tag for run in causal_tree(spans) if run.outcome == "fail"} == failed | (named & verdicts)


@given(st.lists(whatever(), max_size=8))
def test_every_tag_of_an_action_is_one_run_after_its_parent(spans):
    tree = causal_tree(spans)
    place = {run.tag: number for number, run in enumerate(tree)}

    assert len(place) == len(tree)
    children = [child for run in tree for child in run.children]
    assert sorted(children) == sorted(run.tag for run in tree if run.depth)
    assert all(place[child] > place[run.tag] for run in tree for child in run.children)


@given(st.lists(whatever(), max_size=8), FEW)
def test_a_tree_cut_to_a_root_is_drawn_and_has_only_runs_of_the_whole(spans, number):
    whole, cut = causal_tree(spans), causal_tree(spans, root=tag(number))

    assert {run.tag for run in cut} <= {run.tag for run in whole}
    assert set(cut.findings) <= set(whole.findings)
    assert [len(run.children) for run in cut] == [
        sum(r.parent == run.tag and r.depth > 0 for r in cut) for run in cut
    ]
    assert str(cut)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["a" * 32, "b" * 16]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["traceId", "spanId", "attributes", "key", "value", "kind", "startTimeUnixNano", "values"]
            )
            | st.text(max_size=3),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=3))
def test_any_json_in_place_of_spans_is_read_or_left_out(anything):
    document = {"resourceSpans": [{"scopeSpans": [{"spans": anything}]}, *anything]}

    for span in spans_in(document):
        assert span is None or str(causal_tree([span]))
