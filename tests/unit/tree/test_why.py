"""Checks, enclosing spans and counts of a tree, as text and JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from deltaspan import change, expects, observe
from deltaspan.tree import Span, causal_tree
from deltaspan.tree._otlp import spans_in
from support.tree import TRACE, action, other, span_id, tag


def check(metric="rows", outcome="fail", explanation="", **more):
    return {
        "deltaspan.check.metric": metric,
        "deltaspan.check.outcome": outcome,
        "deltaspan.check.explanation": explanation or f"why {metric} is a {outcome}",
        **{f"deltaspan.check.{name}": value for name, value in more.items()},
    }


def checked(span, *checks):
    return replace(span, checks=checks)


def agent(number, *, under="", name="invoke_agent support", trace=TRACE):
    return Span(
        trace,
        span_id(number),
        under if isinstance(under, str) else span_id(under),
        name,
        "internal",
        "shop",
        0,
        1_000_000,
        {"gen_ai.operation.name": "invoke_agent"},
    )


def lines(*spans):
    return str(causal_tree(spans)).splitlines()


def names(*spans):
    """Return the lines of the tree without what runs took and their tags."""
    return [line.partition(" in ")[0] for line in lines(*spans)]


# A sender that contradicts itself ---------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["pass", "observed", "skipped"])
@pytest.mark.parametrize("worse", ["fail", "inconclusive"])
def test_a_check_that_is_worse_than_the_verdict_of_its_span_counts(outcome, worse):
    run = checked(action(0, outcome=outcome), check("flows", "pass"), check("rows", worse))
    tree = causal_tree([run])

    assert [each.outcome for each in tree.unproven] == [worse]
    assert names(run)[0].startswith(f"{'✗' if worse == 'fail' else '?'} action0 {worse}")


def test_a_failed_metric_that_a_passed_span_names_counts():
    run = action(0, **{"deltaspan.check.failed_metrics": ["rows"]})

    assert [each.outcome for each in causal_tree([run]).unproven] == ["fail"]


def test_a_check_never_improves_the_verdict_of_its_span():
    run = checked(action(0, outcome="observed"), check("rows", "pass"), check("flows", "unheard of"))

    assert [each.outcome for each in causal_tree([run])] == ["observed"]


def test_a_failed_check_does_not_stand_in_for_a_verdict_that_is_missing():
    run = checked(action(0, outcome=None), check("rows", "fail"))

    assert [each.outcome for each in causal_tree([run]).unproven] == [None]


# Checks of a run -------------------------------------------------------------------------------------------


def test_each_check_that_is_not_a_pass_says_why_below_its_run():
    run = checked(
        action(0, outcome="fail"),
        check("rows", "fail", "expected rows to change by 1, but it changed by 0 (3 → 3)"),
        check(
            "users",
            "inconclusive",
            "users: before the action the probe raised OSError",
            reason="baseline_failed",
        ),
        check("flows", "pass"),
        check("load", "observed", "load changed by 2 (1 → 3); no claim was made"),
    )

    assert lines(run, action(1, 0))[1:] == [
        "│  fail: expected rows to change by 1, but it changed by 0 (3 → 3)",
        "│  inconclusive (baseline_failed): users: before the action the probe raised OSError",
        "│  observed: load changed by 2 (1 → 3); no claim was made",
        f"└─ ✓ action1 pass in shop, 0.0 ms, {tag(1)}",
    ]


def test_a_run_is_drawn_with_its_claim():
    [line] = lines(action(0, outcome="fail", **{"deltaspan.action.claim": "success"}))

    assert line == f"✗ action0 fail (claims success) in shop, 0.0 ms, {tag(0)}"


def test_the_states_on_the_span_explain_a_failed_check_without_events():
    states = {"expected_delta": 1, "actual_delta": 0, "pre_state": 3, "post_state": 3}
    attributes = {f"deltaspan.{name}.rows": value for name, value in states.items()}
    run = action(0, outcome="fail", **{"deltaspan.check.failed_metrics": ["rows"]}, **attributes)

    assert lines(run)[1:] == ["   fail: rows: expected 1, but it was 0 (3 → 3)"]


def test_the_span_names_inconclusive_metrics_without_events():
    attributes = {
        "deltaspan.check.inconclusive_metrics": ["Active.rows"],
        "deltaspan.expected_delta.active_rows": 1,
        "deltaspan.expected_delta.users": 1,
    }

    [run] = causal_tree([action(0, outcome="inconclusive", **attributes)])
    assert [(check.metric, check.outcome) for check in run.checks] == [
        ("Active.rows", "inconclusive"),
        ("users", None),
    ]


def test_the_states_of_a_check_are_those_of_its_span():
    states = {"deltaspan.pre_state.active_rows": 3, "deltaspan.post_state.active_rows": 4}
    span = action(0, **{"deltaspan.expected_delta.active_rows": 1}, **states)

    [run] = causal_tree([checked(span, check("Active.rows", "pass"))])
    assert [(each.metric, each.pre_state, each.post_state) for each in run.checks] == [("Active.rows", 3, 4)]


def test_the_worse_of_two_verdicts_on_one_metric_counts():
    pass_, fail = (
        checked(action(0), check("rows", "pass")),
        checked(action(0, span=5, start=1), check("rows")),
    )

    [run] = causal_tree([fail, pass_])
    assert [each.outcome for each in run.checks] == ["fail"]


@pytest.mark.parametrize("text", ["a\x1b[31mb", "a\nb", "a\u202eb", "x" * 5000])
def test_an_explanation_can_neither_steer_the_terminal_nor_flood_it(text):
    line = lines(checked(action(0), check("rows", "fail", text, reason=text)))[1]

    assert line.isprintable()
    assert len(line) < 600


def test_very_many_checks_are_not_all_shown():
    drawn = lines(checked(action(0), *(check(f"m{number}") for number in range(20))))

    assert len(drawn) == 1 + 16 + 1
    assert drawn[-1] == "   and 4 more checks that are not a pass"


@pytest.mark.parametrize("event", [{}, {"deltaspan.check.metric": 7}, {"deltaspan.check.metric": None}])
def test_an_event_without_a_metric_is_not_a_check(event):
    [run] = causal_tree([checked(action(0), event)])

    assert run.checks == ()


def test_an_event_with_nonsense_in_it_is_a_check_that_says_little():
    event = {
        "deltaspan.check.metric": "rows",
        "deltaspan.check.outcome": ["fail"],
        "deltaspan.check.explanation": 7,
    }
    [run] = causal_tree([checked(action(0), event)])

    assert (run.checks[0].outcome, run.checks[0].explanation) == (None, "")


def test_events_are_read_from_otlp():
    event = {
        "name": "deltaspan.check.result",
        "attributes": [
            {"key": "deltaspan.check.metric", "value": {"stringValue": "rows"}},
            {"key": "deltaspan.check.pre_state", "value": {"intValue": "3"}},
        ],
    }
    span = {"traceId": TRACE, "spanId": span_id(0), "events": [{"name": "exception"}, event, "nonsense"]}
    [read] = spans_in({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})

    assert read.checks == ({"deltaspan.check.metric": "rows", "deltaspan.check.pre_state": 3},)


def test_a_recorded_run_has_its_checks_explanations_and_claim(recorded):
    @expects(change("rows", lambda: 3).by(1), observe("load", lambda: 0.5), claim=lambda result: result)
    def save():
        return True

    save()
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [as_otlp(recorded.span)]}]}]}
    [run] = causal_tree(span for span in spans_in(document) if span is not None)

    assert [(each.metric, each.outcome, each.pre_state) for each in run.checks] == [
        ("load", "observed", 0.5),
        ("rows", "fail", 3),
    ]
    assert run.checks[1].explanation == "expected rows to change by 1, but it changed by 0 (3 → 3)"
    assert run.claim == "success"


def as_otlp(span):
    written = json.loads(span.to_json())
    kinds = {str: "stringValue", bool: "boolValue", int: "intValue", float: "doubleValue"}

    def pairs(attributes):
        return [
            {"key": key, "value": {kinds[type(value)]: value}}
            for key, value in attributes.items()
            if type(value) in kinds
        ]

    return {
        "traceId": written["context"]["trace_id"][2:],
        "spanId": written["context"]["span_id"][2:],
        "attributes": pairs(written["attributes"]),
        "events": [
            {"name": event["name"], "attributes": pairs(event["attributes"])} for event in written["events"]
        ],
    }


# Enclosing spans -------------------------------------------------------------------------------------------


def test_the_spans_above_an_outermost_run_are_drawn_once_for_all_their_runs():
    assert lines(
        agent(8, name="POST /chat"),
        agent(9, under=8),
        action(0, under=9),
        action(1, 0, under=0),
        action(2, under=9),
    ) == [
        "○ POST /chat in shop, 1.0 ms",
        "└─ ○ invoke_agent support in shop, 1.0 ms",
        f"   ├─ ✓ action0 pass in shop, 0.0 ms, {tag(0)}",
        f"   │  └─ ✓ action1 pass in shop, 0.0 ms, {tag(1)}",
        f"   └─ ✓ action2 pass in shop, 0.0 ms, {tag(2)}",
    ]


def test_an_agent_between_two_runs_is_drawn_and_a_request_span_is_not():
    spans = [action(0), other(7, under=0, name="POST"), agent(8, under=7), action(1, 0, under=8)]

    assert names(*spans) == ["✓ action0 pass", "└─ ○ invoke_agent support", "   └─ ✓ action1 pass"]


def test_runs_of_two_alternating_agents_are_each_below_their_own_agent():
    spans = [agent(8, name="a"), agent(9, name="b")]
    spans += [action(number, under=8 + number % 2) for number in range(4)]

    assert names(*spans) == [
        "○ a",
        "├─ ✓ action0 pass",
        "└─ ✓ action2 pass",
        "○ b",
        "├─ ✓ action1 pass",
        "└─ ✓ action3 pass",
    ]


def test_spans_of_another_trace_enclose_nothing():
    assert names(agent(8, trace="b" * 32), action(0, under=8)) == ["✓ action0 pass"]


def test_spans_that_are_above_each_other_end_the_search():
    assert names(agent(8, under=9), agent(9, under=8), action(0, under=8))[-1].endswith("✓ action0 pass")


def test_the_spans_above_a_run_are_in_its_json():
    [run] = causal_tree([agent(8), action(0, under=8)]).to_dict()["runs"]

    assert [span["name"] for span in run["enclosing"]] == ["invoke_agent support"]


def test_a_tree_of_one_root_keeps_the_agent_that_encloses_it():
    tree = causal_tree([agent(8), action(0, under=8, root=0), action(1, root=1)], root=tag(0))

    assert [line.partition(" in ")[0] for line in str(tree).splitlines()] == [
        "○ invoke_agent support",
        "└─ ✓ action0 pass",
    ]


# The counts ------------------------------------------------------------------------------------------------


def test_the_summary_counts_runs_checks_and_findings():
    tree = causal_tree(
        [
            checked(action(0, outcome="fail"), check("rows"), check("users", "pass")),
            checked(action(1, 0), check("rows", "pass")),
            action(2, 7, outcome=None),
        ]
    )

    assert str(tree.summary) == (
        "3 actions: 1 fail, 1 pass, 1 no verdict; 3 checks: 1 fail, 2 pass; 1 finding"
    )
    assert tree.to_dict()["summary"] == {
        "actions": {"fail": 1, "pass": 1, "no verdict": 1},
        "checks": {"fail": 1, "pass": 2},
        "findings": 1,
    }


def test_the_summary_of_an_empty_tree_has_zero_counts():
    assert str(causal_tree([]).summary) == "0 actions; 0 checks; 0 findings"


def test_json_has_every_field_of_each_check():
    states = {"pre_state": 3, "post_state": 3, "expected_delta": 1, "actual_delta": 0}
    run = checked(action(0), check(**states, attribution="scoped", origin="unknown", reason="contended"))

    [told] = causal_tree([run]).to_dict()["runs"][0]["checks"]
    assert told == {
        "metric": "rows",
        "outcome": "fail",
        "reason": "contended",
        "attribution": "scoped",
        "origin": "unknown",
        **states,
        "explanation": "why rows is a fail",
    }
