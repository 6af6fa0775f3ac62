"""`resizing` and `by({key: n})`: how many members more, and by how much each number."""

from datetime import timedelta

import pytest

from deltaspan import change
from support.verdicts import verdict

CHANGE = change("x", lambda: None)


OUTCOMES = {
    "a set that grew": (
        CHANGE.resizing(1), {1}, {2, 3}, "x changed in size by 1, as expected ({1} → {2, 3})",
    ),
    "a list that shrank": (
        CHANGE.resizing(-2), [1, 2], [], "x changed in size by -2, as expected ([1, 2] → [])",
    ),
    "a mapping's top level": (
        CHANGE.resizing(1), {"a": {"b": 1}}, {"a": {}, "c": 1},
        "x changed in size by 1, as expected ({'a': {'b': 1}} → {'a': {}, 'c': 1})",
    ),
    "an exchange": (CHANGE.resizing(0), {1}, {2}, "x changed in size by 0, as expected ({1} → {2})"),
    "another size": (
        CHANGE.resizing(2), {1}, {2},
        "expected x to change in size by 2, but it changed in size by 0 ({1} → {2})",
    ),
    "a size and an end": (
        CHANGE.resizing(1).to({1, 2}), {1}, {1, 3},
        "expected x to change to {1, 2} in size by 1, but it ended at {1, 3} ({1} → {1, 3})",
    ),
    "the size of a number": (
        CHANGE.resizing(1), 1, 2,
        ("resizing needs a collection before and after the action, but the states were 1 → 2; "
         "use .by(n) for a number"),
    ),
    "the amount of a mapping": (
        CHANGE.by(1), {"a": 1}, {"a": 2},
        ("by needs a number before and after the action, but the states were {'a': 1} → {'a': 2}; "
         "use .resizing(n) for its size, or .by({key: n}) for the numbers in it"),
    ),
    "the amount of a list": (
        CHANGE.by_at_least(1), [], [1],
        ("by_at_least needs a number before and after the action, but the states were [] → [1]; "
         "use .resizing(n) for its size"),
    ),
    "by key": (
        CHANGE.by({"a": 1, "b": -1}), {"a": 1, "b": 1}, {"a": 2},
        "x changed 'b' by -1, 'a' by 1, as expected ({'a': 1, 'b': 1} → {'a': 2})",
    ),
    "by key, from nothing": (
        CHANGE.by({7: 2}), {}, {7: 2}, "x changed key 7 by 2, as expected ({} → {7: 2})",
    ),
    "by key, within tolerance": (
        CHANGE.by({"a": 1}, tolerance=0.5), {"a": 1, "b": 1}, {"a": 2.25, "b": 1},
        "x changed 'a' by 1.25, as expected ({'a': 1, 'b': 1} → {'a': 2.25, 'b': 1})",
    ),
    "by path": (
        CHANGE.by({"eu/a": 1, "eu/b": 2}), {"us": {"a": 1}}, {"us": {"a": 1}, "eu": {"a": 1, "b": 2}},
        "x changed 'eu/a' by 1, 'eu/b' by 2, as expected",
    ),
    "by key, a declared key that appears with 0": (
        CHANGE.by({"a": 1, "b": 0}), {}, {"a": 1, "b": 0},
        "x changed 'a' by 1 and added 'b', as expected ({} → {'a': 1, 'b': 0})",
    ),
    "by key, a timedelta": (
        CHANGE.by({"a": timedelta(1)}), {}, {"a": timedelta(1)},
        "x changed 'a' by 1 day, 0:00:00, as expected ({} → {'a': 1 day, 0:00:00})",
    ),
    "by key, others allowed": (
        CHANGE.by({"a": 1}).allowing_others(), {"a": 1, "n": "x"}, {"a": 2, "n": "y"},
        "x changed 'a' by 1 and modified 'n', as expected ({'a': 1, 'n': 'x'} → {'a': 2, 'n': 'y'})",
    ),
    "by key, another amount": (
        CHANGE.by({"a": 1, "b": 0}), {"a": 1}, {"a": 3},
        "expected x to change by {'a': 1, 'b': 0}, but it changed 'a' by 2 ({'a': 1} → {'a': 3})",
    ),
    "by key, another key": (
        CHANGE.by({"a": 1}), {"a": 1, "b": 1}, {"a": 2, "b": 3, "c": "x"},
        ("expected x to change by {'a': 1}, but it also changed 'b' by 2 and added 'c', which were not "
         "declared"),
    ),
    "by key, all wrong": (
        CHANGE.by({"a": 1}), {"b": 1}, {"b": 2},
        ("expected x to change by {'a': 1}, but it changed 'a' by 0 and it changed 'b' by 1, which was not "
         "declared ({'b': 1} → {'b': 2})"),
    ),
    "by key, a text": (
        CHANGE.by({"a": 1}), {"a": "x"}, {"a": "y"},
        ("by({'a': ...}) needs a number there before and after the action, and it was modified, "
         "but the states were {'a': 'x'} → {'a': 'y'}"),
    ),
    "by key, a number": (
        CHANGE.by({"a": 1}), 1, 2,
        ("by({...}) needs a mapping before and after the action, but the states were 1 → 2; "
         "use .by(n) for a number"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("check", "pre", "post", "sentence"), OUTCOMES.values(), ids=OUTCOMES)
def test_the_sentence_says_by_how_much(check, pre, post, sentence):
    outcome, text = verdict(check, pre, post)

    expected = "pass" if ", as expected" in sentence else "fail" if sentence.startswith("expected") else None
    assert (outcome, text) == (expected or "inconclusive", sentence)


def test_the_demand_by_key_is_the_mapping_itself():
    assert dict(CHANGE.by({"a": 1}).expectation.expected) == {"a": 1}


def test_amounts_by_key_are_a_snapshot():
    amounts = {"a": 1}
    check = CHANGE.by(amounts)
    amounts["b"] = 2

    assert dict(check.expectation.expected) == {"a": 1}
