"""Trees from spans: structure, order, and runs with several spans."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from deltaspan.tree import causal_tree
from support.tree import action, other, shape, tag


def test_a_run_stands_below_the_one_that_caused_it():
    tree = causal_tree([action(0), action(1, 0), action(2, 1), action(3, 0)])

    assert shape(tree) == [(0, 0), (1, 1), (2, 2), (3, 1)]
    assert [run.children for run in tree] == [(tag(1), tag(3)), (tag(2),), (), ()]
    assert tree.findings == ()


def test_no_order_of_the_spans_changes_it():
    spans = [action(0), action(1, 0), action(2, 1), action(3, 0), other(9, 1)]

    assert {str(causal_tree(order).to_dict()) for order in permutations(spans)} == {
        str(causal_tree(spans).to_dict())
    }


def test_siblings_stand_in_order_of_their_starts():
    tree = causal_tree([action(0), action(1, 0, start=30), action(2, 0, start=20), action(3, 0, start=20)])

    assert shape(tree) == [(0, 0), (2, 1), (3, 1), (1, 1)]


def test_a_parent_whose_clock_is_behind_is_still_the_parent():
    assert shape(causal_tree([action(0, start=100), action(1, 0, start=5)])) == [(0, 0), (1, 1)]


def test_a_run_has_the_values_of_its_span():
    span = action(
        1, 0, root=0, outcome="fail", service="web", start=5, end=2_000_000_005,
        **{"deltaspan.check.failed_metrics": ["rows", "users"], "deltaspan.action.attempt": 2},
    )  # fmt: skip
    [_, run] = causal_tree([action(0), span])

    assert (run.tag, run.parent, run.root, run.action) == (tag(1), tag(0), tag(0), "action1")
    assert (run.outcome, run.failed, run.attempt, run.service) == ("fail", ("rows", "users"), 2, "web")
    assert (run.start, run.duration) == (5, 2.0)
    assert (run.trace_id, run.span_id, run.spans) == (span.trace_id, span.span_id, (span.id,))


def test_failed_metrics_are_read_from_a_store_that_has_no_lists():
    [run] = causal_tree([action(0, outcome="fail", **{"deltaspan.check.failed_metrics": '["rows"]'})])

    assert run.failed == ("rows",)


def test_a_verdict_that_came_later_belongs_to_the_run():
    acted = action(0, outcome=None, start=10, end=20)
    verified = action(0, span=7, under=0, outcome="fail", start=20, end=1_000_000_010)
    [run] = causal_tree([verified, acted])

    assert (run.outcome, run.duration, run.spans) == ("fail", 1.0, (acted.id, verified.id))


def test_both_halves_of_a_window_are_one_run():
    halves = [
        action(0, outcome=None, service="here", **{"deltaspan.window.handed_over": True}),
        action(0, span=8, under=0, start=9, service="there"),
    ]
    tree = causal_tree([*halves, action(1, 0)])

    assert shape(tree) == [(0, 0), (1, 1)]
    assert (tree.runs[0].outcome, tree.runs[0].service, tree.findings) == ("pass", "here", ())


def test_a_run_without_an_outcome_is_unproven():
    tree = causal_tree([action(0, outcome=None)])

    assert (tree.runs[0].outcome, tree.unproven) == (None, tree.runs)


def test_a_stamped_span_in_any_trace_is_an_effect_of_its_tag():
    spans = [other(5, 0), other(6, 0, trace="b" * 32)]
    [run] = causal_tree([action(0), *spans])

    assert run.effects == tuple(spans)


def test_the_later_of_two_copies_of_a_span_counts():
    early, late = action(0, outcome=None, end=1), action(0, outcome="fail", end=2)

    assert causal_tree([early, late]) == causal_tree([late, early]) == causal_tree([late])


def test_only_runs_of_a_root_are_returned_if_one_is_named():
    spans = [
        action(0, root=0),
        action(1, 0, root=0),
        action(2, root=2),
        action(3, 2, root=2),
        action(4, tag(77)),
    ]
    tree = causal_tree(spans, root=tag(2))

    assert shape(tree) == [(2, 0), (3, 1)]
    assert tree.findings == ()


def test_runs_that_name_another_root_stay_with_the_root_that_caused_them():
    tree = causal_tree([action(0, root=0), action(1, 0, root=9), action(2, 1, root=9)], root=tag(0))

    assert shape(tree) == [(0, 0), (1, 1), (2, 2)]
    assert [finding.kind for finding in tree.findings] == ["root_conflict"]


def test_a_chain_of_ten_thousand_is_rebuilt_drawn_and_written():
    tree = causal_tree(action(number, number - 1 if number else None) for number in range(10_000))

    assert shape(tree) == [(number, number) for number in range(10_000)]
    assert len(str(tree)) < 3_000_000
    assert len(json.loads(json.dumps(tree.to_dict()))["runs"]) == 10_000


def test_a_chain_of_ten_thousand_spans_is_climbed():
    between = [other(n, under=n - 1, kind="internal") for n in range(1, 10_000)]
    tree = causal_tree([action(0, span=0), *between, action(10_000, under=9_999), other(10_001, 0)])

    assert [finding.kind for finding in tree.findings] == ["span_conflict"]


def test_nothing_is_an_empty_tree():
    tree = causal_tree([])

    assert (len(tree), tree.roots, tree.findings, str(tree)) == (0, (), (), "no actions")


@pytest.mark.parametrize("outcome", ["passed", "", 1, True, ["pass"], None])
def test_an_unknown_outcome_is_not_a_verdict(outcome):
    [run] = causal_tree([action(0, outcome=None, **{"deltaspan.action.outcome": outcome})])

    assert run.outcome is None


# The drawing ------------------------------------------------------------------------------------------------


def lines(*spans):
    return str(causal_tree(spans)).splitlines()


def test_a_drawing_shows_causes_and_outcomes():
    assert lines(
        action(0, service="agent"),
        action(1, 0, outcome="fail", **{"deltaspan.check.failed_metrics": ["rows", "users"]}),
        action(2, 1, outcome="inconclusive"),
        action(3, 1, outcome=None),
        action(4, 0, outcome="observed", end=1_500_004),
    ) == [
        f"✓ action0 pass in agent, 0.0 ms, {tag(0)}",
        f"├─ ✗ action1 fail: rows, users in shop, 0.0 ms, {tag(1)}",
        f"│  ├─ ? action2 inconclusive in shop, 0.0 ms, {tag(2)}",
        f"│  └─ ? action3 no verdict in shop, 0.0 ms, {tag(3)}",
        f"└─ · action4 observed in shop, 1.5 ms, {tag(4)}",
    ]


def test_further_attempts_are_drawn_with_their_number():
    [line] = lines(action(0, service="", **{"deltaspan.action.attempt": 3}))

    assert line == f"✓ action0 (attempt 3) pass, 0.0 ms, {tag(0)}"


def test_effects_are_counted_below_their_run():
    spans = [action(0), action(1, 0), other(5, 0), other(6, 0), other(7, 0, name="commit", kind="internal")]

    assert lines(*spans)[1] == "│  effects: GET (client) x2, commit"


def test_many_effects_are_not_all_shown():
    *_, line = lines(action(0), *(other(n, 0, name=f"e{n}", kind="") for n in range(1, 10)))

    assert line == "   effects: e1, e2, e3, e4, e5, e6 and 3 more"


def test_findings_stand_below():
    tree = causal_tree([action(0), action(1, 7)])

    assert str(tree).splitlines()[2:] == ["", f"! {tree.findings[0].explanation}"]


def test_deep_runs_are_indented_to_a_maximum_and_show_their_depth():
    deepest = lines(*(action(n, n - 1 if n else None) for n in range(50)))[-1]

    assert deepest == f"{'   ' * 39}└─ [depth 49] ✓ action49 pass in shop, 0.0 ms, {tag(49)}"


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\nb", "a\rb", "a\u202eb", "x" * 500])
def test_a_name_can_neither_steer_the_terminal_nor_flood_it(name):
    [line] = lines(action(0, name=name), other(5, 0, name=name))[:1]

    assert line.isprintable()
    assert len(line) < 200
