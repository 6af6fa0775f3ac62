"""Findings of a tree, each with its sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deltaspan.tree import causal_tree
from support.tree import action, other, shape, tag


def findings(*spans):
    return [(finding.kind, finding.tag, finding.others) for finding in causal_tree(spans).findings]


def sentence(*spans):
    [finding] = causal_tree(spans).findings
    return finding.explanation


def test_a_run_with_an_unknown_parent_is_an_orphan_at_the_top():
    tree = causal_tree([action(0, 7), action(1, 0)])

    assert shape(tree) == [(0, 0), (1, 1)]
    assert (tree.runs[0].parent, tree.runs[0].root) == (tag(7), tag(7))
    assert findings(action(0, 7), action(1, 0)) == [("orphan", tag(0), (tag(7),))]
    assert sentence(action(0, 7)) == (
        f"action0 ({tag(0)}) was caused by {tag(7)}, which no action here has: it was not sampled, its spans "
        "are late, or they went elsewhere"
    )


def test_effects_of_a_tag_that_no_run_has_are_unclaimed():
    assert findings(action(0), other(1, 7), other(2, 7)) == [("unclaimed_effects", tag(7), ())]
    assert sentence(action(0), other(1, 7), other(2, 7)) == (
        f"2 spans carry the tag {tag(7)}, which no action here has: GET"
    )


def test_one_tag_with_two_parents_is_a_conflict_and_the_first_span_counts():
    spans = action(0), action(1), action(2, 1, outcome=None), action(2, 0, span=9, start=9)

    assert findings(*spans) == [("parent_conflict", tag(2), (tag(1), tag(0)))]
    assert shape(causal_tree(spans)) == [(0, 0), (1, 0), (2, 1)]
    assert (
        sentence(*spans) == f"action2 ({tag(2)}) has 2 parents, of which the first counts: {tag(1)}, {tag(0)}"
    )


def test_a_half_of_a_window_without_a_parent_is_not_a_conflict():
    assert findings(action(0), action(1, 0, outcome=None), action(1, span=9, under=1)) == []


def test_a_root_that_is_not_the_parents_is_a_conflict():
    spans = action(0, root=0), action(1, 0, root=5), action(2, 1, root=5)

    assert findings(*spans) == [("root_conflict", tag(1), (tag(5),))]
    assert sentence(*spans) == (
        f"action1 ({tag(1)}) says its root is {tag(5)}, but its parent belongs to {tag(0)}"
    )


def test_a_root_of_another_than_itself_is_a_conflict_without_a_parent():
    assert (
        sentence(action(0, root=5)) == f"action0 ({tag(0)}) says its root is {tag(5)}, but it has no parent"
    )


def test_one_tag_with_two_roots_is_a_conflict():
    assert findings(action(0, root=0, outcome=None), action(0, span=9, root=5, start=9)) == [
        ("root_conflict", tag(0), (tag(0), tag(5)))
    ]


def test_a_run_below_the_span_of_another_has_lost_its_baggage_when_it_has_no_parent():
    spans = action(0), other(5, under=0), action(1, under=5)

    assert findings(*spans) == [("span_conflict", tag(1), (tag(0),))]
    assert sentence(*spans) == (
        f"action1 ({tag(1)}) is below the span of action0 ({tag(0)}), but has no parent: its baggage did not "
        "get through"
    )


def test_a_run_below_the_span_of_another_than_its_parent_is_a_conflict():
    spans = action(0), action(1, 0, under=0), action(2, 0, under=1)

    assert findings(*spans) == [("span_conflict", tag(2), (tag(1),))]
    assert sentence(*spans) == (
        f"action2 ({tag(2)}) is below the span of action1 ({tag(1)}), but its parent is {tag(0)}"
    )


def test_a_run_may_be_below_the_span_of_an_earlier_ancestor():
    assert findings(action(0), action(1, 0, trace="b" * 32), action(2, 1, under=0)) == []


def test_a_run_in_another_trace_than_its_parent_is_not_a_conflict():
    assert findings(action(0), action(1, 0, trace="b" * 32)) == []


def test_the_other_spans_of_a_run_are_not_above_it():
    assert findings(action(0), action(1, 0, under=0, outcome=None), action(1, 0, span=9, under=1)) == []


def test_an_orphan_is_not_compared_with_its_trace():
    assert findings(action(0), action(1, 7, under=0)) == [("orphan", tag(1), (tag(7),))]


def test_one_tag_with_two_actions_is_a_conflict():
    assert sentence(action(0, outcome=None, name="load"), action(0, span=9, name="save", start=9)) == (
        f"one tag, 2 actions: load, save ({tag(0)})"
    )


def test_one_tag_with_two_verdicts_is_a_duplicate_and_the_worst_counts():
    spans = action(0, outcome="fail"), action(0, span=9, under=0, outcome="pass", start=9)

    assert findings(*spans) == [("duplicate", tag(0), ())]
    assert causal_tree(spans).runs[0].outcome == "fail"
    assert sentence(*spans) == f"action0 ({tag(0)}) has 2 verdicts, of which the worst counts: fail, pass"


@pytest.mark.parametrize("late", ["pass", "observed", "skipped", "inconclusive"])
def test_copies_of_one_span_with_two_verdicts_are_a_conflict_and_the_worst_counts(late):
    spans = action(0, outcome="fail"), action(0, outcome=late, end=99)

    for order in (spans, spans[::-1]):
        assert findings(*order) == [("copy_conflict", tag(0), ())]
        assert [(run.outcome, len(run.spans)) for run in causal_tree(order)] == [("fail", 1)]
        assert sentence(*order) == (
            f"action0 ({tag(0)}) has one span with 2 verdicts, of which the worst counts: {late}, fail"
        )


def test_copies_of_one_span_with_two_tags_are_a_conflict_and_a_run_each():
    spans = action(0, outcome="fail"), action(1, span=0, outcome="pass", end=99)
    told = f"span {1:016x} of trace {'a' * 32} carries 2 tags, a run each: {tag(0)}, {tag(1)}"

    for order in (spans, spans[::-1]):
        tree = causal_tree(order)
        assert [(run.tag, run.outcome) for run in tree] == [(tag(0), "fail"), (tag(1), "pass")]
        assert findings(*order) == [
            ("copy_conflict", tag(0), (tag(1),)),
            ("copy_conflict", tag(1), (tag(0),)),
        ]
        assert {finding.explanation for finding in tree.findings} == {told}


@pytest.mark.parametrize("late", [action(0, outcome=None), other(0), other(0, 0)])
def test_a_copy_that_says_less_takes_no_verdict_away(late):
    spans = action(0, outcome="fail"), replace(late, end=99)

    for order in (spans, spans[::-1]):
        assert findings(*order) == []
        assert [run.outcome for run in causal_tree(order)] == ["fail"]


def test_copies_with_the_same_verdict_are_not_a_conflict():
    assert findings(action(0), action(0, end=99), action(0, end=99, name="action0", more="x")) == []


def test_runs_that_cause_each_other_are_a_cycle_cut_at_the_first():
    spans = action(0, 2), action(1, 0), action(2, 1), action(3, 1)

    assert shape(causal_tree(spans)) == [(0, 0), (1, 1), (2, 2), (3, 2)]
    assert findings(*spans) == [("cycle", tag(0), (tag(1), tag(2)))]
    assert sentence(*spans) == (f"runs cause each other: action0 → action1 → action2 → action0 ({tag(0)})")


def test_a_run_that_causes_itself_is_a_cycle():
    assert findings(action(0, 0)) == [("cycle", tag(0), ())]


@pytest.mark.parametrize(
    "value", ["", "not-a-uuid", tag(0).upper() + "A", "00000000-0000-0000-0000-000000000000", 7, None, ["x"]]
)
def test_a_tag_that_is_not_a_uuid_is_a_finding_and_its_action_is_left_out(value):
    tree = causal_tree([action(0, **{"deltaspan.causal_tag.id": value})])

    assert (len(tree), [finding.kind for finding in tree.findings]) == (0, ["invalid_tag"])


def test_a_parent_that_is_not_a_uuid_is_a_finding_and_is_ignored():
    tree = causal_tree([action(0, "forged\x1b[2J")])

    assert shape(tree) == [(0, 0)]
    assert tree.findings[0].explanation == (
        "1 span carries a deltaspan.causal_tag.parent_id that is not the canonical text of a UUID: "
        "forged\\x1b[2J, on execute_tool action0"
    )


def test_an_untagged_request_is_a_finding_if_others_are_stamped():
    spans = (
        action(0),
        other(5, 0, under=0),
        other(6, under=0, name="POST"),
        other(7, under=6, kind="server", name="x"),
    )

    assert findings(*spans) == [("untagged_effects", tag(0), ())]
    assert sentence(*spans) == (f"2 spans carry no causal tag in shop, below action0 ({tag(0)}): POST, x")


def test_no_effect_is_untagged_if_none_is_stamped():
    assert findings(action(0), other(6, under=0)) == []


def test_an_internal_span_need_not_be_stamped():
    assert findings(action(0), other(5, 0, under=0), other(6, under=0, kind="internal")) == []


def test_a_database_span_of_any_kind_is_an_effect():
    spans = action(0), other(5, 0), other(6, under=0, kind="internal", **{"db.system.name": "sqlite"})

    assert findings(*spans) == [("untagged_effects", tag(0), ())]


def test_untagged_effects_are_reported_by_service():
    spans = action(0), other(5, 0), other(6, under=0, service="b"), other(7, under=0, service="a")

    assert findings(*spans) == [("untagged_effects", tag(0), ())] * 2


def test_a_span_outside_every_run_need_not_be_stamped():
    assert findings(action(0), other(5, 0), other(6)) == []


def test_spans_that_are_above_each_other_are_climbed_once():
    assert findings(action(0, under=1), other(1, under=0), other(2, 0)) == [("untagged_effects", tag(0), ())]
