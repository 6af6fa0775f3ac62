"""What counts as an amount, and what is refused when a check is written."""

from datetime import timedelta
from decimal import Decimal

import pytest

from deltaspan import DeltaspanError, change

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
