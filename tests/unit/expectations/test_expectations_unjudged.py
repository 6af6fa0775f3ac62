"""What no expectation judges: states that do not compare in the way asked for, and observations."""

from datetime import datetime, timedelta, timezone

import pytest

from deltaspan import change, observe, unchanged
from support.verdicts import verdict

NOON = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
NAIVE = datetime(2026, 11, 30, 12)  # noqa: DTZ001  # naive is the case under test
INF = float("inf")
NAN = float("nan")
CHANGE = change("x", lambda: None)
UNCHANGED = unchanged("x", lambda: None)
OBSERVE = observe("x", lambda: None)


INCOMPARABLE = {
    "by": (
        CHANGE.by(1), "a", "b",
        ("by needs a number before and after the action, but the states were 'a' → 'b'"
         "; use .from_(...) or .to(...) for a state that is not a number"),
    ),
    "by, text after a number": (
        CHANGE.by(1), 1, "2",
        ("by needs a number before and after the action, but the states were 1 → '2'; "
         "use .from_(...) or .to(...) for a state that is not a number"),
    ),
    "by, None before a number": (
        CHANGE.by(1), None, 1,
        ("by needs a number before and after the action, but the states were None → 1; "
         "let the probe return 0 where there is nothing to count"),
    ),
    "by, bool": (
        CHANGE.by(1), False, True,
        ("by needs a number before and after the action, but the states were False → True"
         "; use .from_(...) or .to(...) for a state that is not a number"),
    ),
    "by, naive before aware": (
        CHANGE.by(timedelta()), NAIVE, NOON,
        ("by needs a number before and after the action, but the states were "
        "2026-11-30T12:00:00 → 2026-11-30T12:00:00+00:00"),
    ),
    "by, a collection": (
        CHANGE.by(1), [1], [1, 2],
        ("by needs a number before and after the action, but the states were [1] → [1, 2]"
         "; use .resizing(n) for its size"),
    ),
    "by_at_least": (
        CHANGE.by_at_least(1), None, None,
        ("by_at_least needs a number before and after the action, but the states were None → None"
         "; let the probe return 0 where there is nothing to count"),
    ),
    "by_at_most": (
        CHANGE.by_at_most(1), "a", 1,
        ("by_at_most needs a number before and after the action, but the states were 'a' → 1"
         "; use .from_(...) or .to(...) for a state that is not a number"),
    ),
    "by_between": (
        CHANGE.by_between(1, 2), "a", "b",
        ("by_between needs a number before and after the action, but the states were 'a' → 'b'"
         "; use .from_(...) or .to(...) for a state that is not a number"),
    ),
    "increasing": (
        CHANGE.increasing(), "a", "b",
        ("increasing needs a number before and after the action, but the states were 'a' → 'b'"
         "; use .from_(...) or .to(...) for a state that is not a number"),
    ),
    "decreasing": (
        CHANGE.decreasing(by=1), None, 3,
        ("decreasing needs a number before and after the action, but the states were None → 3"
         "; let the probe return 0 where there is nothing to count"),
    ),
}  # fmt: skip

OBSERVED = {
    "a number": (3, 4, "x changed by 1 (3 → 4); no claim was made"),
    "no change": (3, 3, "x did not change (3 → 3); no claim was made"),
    "a text": ("a", "b", "x changed ('a' → 'b'); no claim was made"),
    "a list": ([1], [], "x removed member 1 ([1] → []); no claim was made"),
}


@pytest.mark.parametrize(("check", "pre", "post", "sentence"), INCOMPARABLE.values(), ids=INCOMPARABLE)
def test_a_numeric_expectation_of_states_that_are_no_numbers_is_inconclusive(check, pre, post, sentence):
    assert verdict(check, pre, post) == ("inconclusive", sentence)


@pytest.mark.parametrize(("pre", "post", "sentence"), OBSERVED.values(), ids=OBSERVED)
def test_an_observation_is_no_claim(pre, post, sentence):
    assert verdict(OBSERVE, pre, post) == ("observed", sentence)


@pytest.mark.parametrize(
    ("check", "bound"),
    [
        (CHANGE.by_at_least(timedelta(1)), "1 and 1 day, 0:00:00"),
        (CHANGE.by_between(timedelta(2), timedelta(3)), "1 and 2 days, 0:00:00"),
    ],
    ids=["by_at_least", "by_between"],
)
def test_an_amount_of_time_does_not_compare_with_a_number(check, bound):
    assert verdict(check, 1, 2) == (
        "inconclusive",
        f"the amounts are of kinds that do not compare: {bound}, but the states were 1 → 2",
    )
