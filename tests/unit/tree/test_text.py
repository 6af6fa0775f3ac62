"""The drawing of a tree."""

from __future__ import annotations

import pytest

from deltaspan.tree import causal_tree
from support.tree import action, other, tag


def lines(*spans):
    return str(causal_tree(spans)).splitlines()


def test_it_shows_who_caused_what_and_what_came_of_it():
    assert lines(
        action(0, service="agent"),
        action(1, 0, outcome="fail", **{"delta.checks.failed": ["rows", "users"]}),
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


def test_further_attempts_say_which_they_are():
    [line] = lines(action(0, service="", **{"delta.action.attempt": 3}))

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


def test_deep_runs_are_not_drawn_deeper_and_say_how_deep_they_are():
    deepest = lines(*(action(n, n - 1 if n else None) for n in range(50)))[-1]

    assert deepest == f"{'   ' * 39}└─ [depth 49] ✓ action49 pass in shop, 0.0 ms, {tag(49)}"


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\nb", "a\rb", "a\u202eb", "x" * 500])
def test_a_name_can_neither_steer_the_terminal_nor_flood_it(name):
    [line] = lines(action(0, name=name), other(5, 0, name=name))[:1]

    assert line.isprintable()
    assert len(line) < 200
