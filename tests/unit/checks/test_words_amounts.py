"""`resizing` and `by({key: n})`: changes in size, and amounts by key."""

from datetime import timedelta
from decimal import Decimal

import pytest

from deltaspan import DeltaspanError, change
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
def test_the_sentence_shows_the_amount(check, pre, post, sentence):
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


# Amounts that are refused -----------------------------------------------------------------------------------

CHECK = change("rows", lambda: 3)

WORDS = {
    "by": CHECK.by,
    "by_at_least": CHECK.by_at_least,
    "by_at_most": CHECK.by_at_most,
    "by_between": lambda amount: CHECK.by_between(amount, amount),
    "increasing(by=...)": lambda amount: CHECK.increasing(by=amount),
    "increasing(at_least=...)": lambda amount: CHECK.increasing(at_least=amount),
    "increasing(at_most=...)": lambda amount: CHECK.increasing(at_most=amount),
    "decreasing(by=...)": lambda amount: CHECK.decreasing(by=amount),
    "decreasing(at_least=...)": lambda amount: CHECK.decreasing(at_least=amount),
    "decreasing(at_most=...)": lambda amount: CHECK.decreasing(at_most=amount),
    "tolerance": lambda amount: CHECK.by(1, tolerance=amount),
}


def refusal(call):
    with pytest.raises(DeltaspanError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(
    ("amount", "shown"), [(True, "True"), ("1", "'1'"), ([1], "[1]"), (1j, "1j"), ((1, 2), "[1, 2]")]
)
@pytest.mark.parametrize("word", WORDS)
def test_an_amount_that_is_not_a_number_is_refused(word, amount, shown):
    error = refusal(lambda: WORDS[word](amount))

    assert isinstance(error, TypeError)
    assert str(error) == (f"{word} takes a number, a timedelta, or a callable that computes one, not {shown}")


def test_a_missing_amount_is_refused():
    error = refusal(lambda: CHECK.by(None))

    assert isinstance(error, TypeError)
    assert str(error) == "by takes a number, a timedelta, or a callable that computes one, not None"


@pytest.mark.parametrize("nan", [float("nan"), Decimal("nan"), Decimal("snan")], ids=repr)
@pytest.mark.parametrize("word", WORDS)
def test_an_amount_of_nan_is_refused(word, nan):
    error = refusal(lambda: WORDS[word](nan))

    assert isinstance(error, ValueError)
    assert str(error) == f"{word} takes a number, not NaN, which no delta satisfies"


@pytest.mark.parametrize(("tolerance", "shown"), [(-1, "-1"), (-0.5, "-0.5"), (Decimal(-1), "Decimal('-1')")])
def test_a_negative_tolerance_is_refused(tolerance, shown):
    error = refusal(lambda: CHECK.by(1, tolerance=tolerance))

    assert isinstance(error, ValueError)
    assert str(error) == f"tolerance={shown} must not be negative"


def test_a_range_given_backwards_is_refused():
    error = refusal(lambda: CHECK.by_between(5, 1))

    assert isinstance(error, ValueError)
    assert str(error) == "by_between(5, 1) holds for no delta: the first is larger; swap them"


@pytest.mark.parametrize("word", ["increasing", "decreasing"])
def test_bounds_given_backwards_are_refused(word):
    error = refusal(lambda: getattr(CHECK, word)(at_least=5, at_most=1))

    assert isinstance(error, ValueError)
    assert str(error) == f"{word}(at_least=5, at_most=1) holds for no delta: the first is larger; swap them"


@pytest.mark.parametrize("amount", [0, -1, -0.5, Decimal(0), timedelta(), timedelta(-1)], ids=repr)
@pytest.mark.parametrize("name", ["by", "at_least", "at_most"])
@pytest.mark.parametrize(("word", "opposite"), [("increasing", "decreasing"), ("decreasing", "increasing")])
def test_a_direction_with_an_amount_that_is_not_positive_is_refused(word, opposite, name, amount):
    error = refusal(lambda: getattr(CHECK, word)(**{name: amount}))

    assert isinstance(error, ValueError)
    assert str(error) == (
        f"{word}({name}={amount!r}) needs a positive amount; "
        f"use {opposite}({name}=...) for the other direction, or unchanged(...) for none"
    )


@pytest.mark.parametrize("other", ["at_least", "at_most"])
@pytest.mark.parametrize("word", ["increasing", "decreasing"])
def test_a_direction_by_exactly_and_by_a_bound_is_refused(word, other):
    error = refusal(lambda: getattr(CHECK, word)(**{"by": 1, other: 2}))

    assert isinstance(error, ValueError)
    assert str(error) == f"{word}() takes by= or {other}=, not both: by= is exact already"


@pytest.mark.parametrize(
    "call",
    [
        lambda: CHECK.by_between(1, timedelta(1)),
        lambda: CHECK.increasing(at_least=1, at_most=timedelta(1)),
        lambda: CHECK.decreasing(at_least=timedelta(1), at_most=1),
    ],
    ids=["by_between", "increasing", "decreasing"],
)
def test_bounds_of_kinds_that_do_not_compare_are_refused(call):
    error = refusal(call)

    assert isinstance(error, TypeError)


@pytest.mark.parametrize("word", WORDS)
def test_an_amount_may_be_computed(word):
    WORDS[word](lambda pre_state: pre_state)


AMOUNTS = [0, -3, 10**40, float("inf"), Decimal("0.1"), timedelta(seconds=-1)]


@pytest.mark.parametrize("amount", AMOUNTS, ids=repr)
def test_by_takes_any_amount_with_either_sign(amount):
    assert CHECK.by(amount).expectation.expected == amount


def test_a_range_of_one_amount_is_taken():
    assert CHECK.by_between(2, 2).expectation.expected == "between 2 and 2"
