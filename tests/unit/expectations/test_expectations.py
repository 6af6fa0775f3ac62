"""The verdict and the sentence of each expectation, for each kind of delta that it may meet."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

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


PASSES = {
    "some change of a number": (CHANGE, 3, 5, "x changed by 2, as expected (3 → 5)"),
    "some change of a text": (CHANGE, "new", "done", "x changed, as expected ('new' → 'done')"),
    "some change of a kind": (CHANGE, None, 0, "x changed, as expected (None → 0)"),
    "some change of a set": (CHANGE, {"a"}, {"a", "b"}, "x added 'b', as expected ({'a'} → {'a', 'b'})"),
    "by": (CHANGE.by(1), 3, 4, "x changed by 1, as expected (3 → 4)"),
    "by nothing": (CHANGE.by(0), 3, 3, "x changed by 0, as expected (3 → 3)"),
    "by a negative amount": (CHANGE.by(-2), 3, 1, "x changed by -2, as expected (3 → 1)"),
    "by within tolerance": (
        CHANGE.by(0.3, tolerance=1e-9), 0.1, 0.4, "x changed by 0.30000000000000004, as expected (0.1 → 0.4)",
    ),
    "by a Decimal": (
        CHANGE.by(Decimal("0.3")), Decimal("0.1"), Decimal("0.4"),
        "x changed by 0.3, as expected (0.1 → 0.4)",
    ),
    "by a Fraction": (
        CHANGE.by(Fraction(1, 3)), Fraction(1, 3), Fraction(2, 3),
        "x changed by 1/3, as expected (1/3 → 2/3)",
    ),
    "by a timedelta": (
        CHANGE.by(timedelta(hours=1)), NOON, NOON + timedelta(hours=1),
        "x changed by 1:00:00, as expected (2026-11-30T12:00:00+00:00 → 2026-11-30T13:00:00+00:00)",
    ),
    "by a timedelta of naive datetimes": (
        CHANGE.by(timedelta(days=1)), NAIVE, NAIVE + timedelta(days=1),
        "x changed by 1 day, 0:00:00, as expected (2026-11-30T12:00:00 → 2026-12-01T12:00:00)",
    ),
    "by one in large integers": (
        CHANGE.by(1), 10**30, 10**30 + 1, f"x changed by 1, as expected ({10**30} → {10**30 + 1})",
    ),
    "by infinity": (CHANGE.by(INF), 0.0, INF, "x changed by inf, as expected (0.0 → inf)"),
    "by_at_least": (CHANGE.by_at_least(2), 3, 5, "x changed by 2, as expected (3 → 5)"),
    "by_at_least, less than nothing": (CHANGE.by_at_least(-2), 3, 2, "x changed by -1, as expected (3 → 2)"),
    "by_at_least within tolerance": (
        CHANGE.by_at_least(1, tolerance=0.5), 0, 0.5, "x changed by 0.5, as expected (0 → 0.5)",
    ),
    "by_at_most": (CHANGE.by_at_most(2), 3, 5, "x changed by 2, as expected (3 → 5)"),
    "by_at_most, a decrease": (CHANGE.by_at_most(2), 3, 0, "x changed by -3, as expected (3 → 0)"),
    "by_at_most within tolerance": (
        CHANGE.by_at_most(1, tolerance=0.5), 0, 1.5, "x changed by 1.5, as expected (0 → 1.5)",
    ),
    "by_between, lower end": (CHANGE.by_between(2, 4), 0, 2, "x changed by 2, as expected (0 → 2)"),
    "by_between, upper end": (CHANGE.by_between(2, 4), 0, 4, "x changed by 4, as expected (0 → 4)"),
    "by_between within tolerance": (
        CHANGE.by_between(2, 4, tolerance=1), 0, 5, "x changed by 5, as expected (0 → 5)",
    ),
    "increasing": (CHANGE.increasing(), 1, 2, "x changed by 1, as expected (1 → 2)"),
    "increasing by": (CHANGE.increasing(by=2), 1, 3, "x changed by 2, as expected (1 → 3)"),
    "increasing within bounds": (
        CHANGE.increasing(at_least=1, at_most=3), 0, 3, "x changed by 3, as expected (0 → 3)",
    ),
    "decreasing": (CHANGE.decreasing(), 2, 1, "x changed by -1, as expected (2 → 1)"),
    "decreasing by": (CHANGE.decreasing(by=2), 3, 1, "x changed by -2, as expected (3 → 1)"),
    "decreasing at least": (CHANGE.decreasing(at_least=2), 3, 0, "x changed by -3, as expected (3 → 0)"),
    "decreasing timedelta": (
        CHANGE.decreasing(by=timedelta(hours=1)), timedelta(hours=2), timedelta(hours=1),
        "x changed by -1:00:00, as expected (2:00:00 → 1:00:00)",
    ),
    "from": (CHANGE.from_(3), 3, 9, "x changed by 6, as expected (3 → 9)"),
    "to": (CHANGE.to("done"), "new", "done", "x changed, as expected ('new' → 'done')"),
    "from and to None": (CHANGE.from_(None).to([1]), None, [1], "x changed, as expected (None → [1])"),
    "to a list": (CHANGE.to([1, 2]), [1], [1, 2], "x appended member 2, as expected ([1] → [1, 2])"),
    "to a mapping": (
        CHANGE.to({"a": [2]}), {"a": [1]}, {"a": [2]},
        "x modified 'a/0' (1 → 2), as expected ({'a': [1]} → {'a': [2]})",
    ),
    "to NaN": (CHANGE.to(NAN), 1.0, NAN, "x changed by nan, as expected (1.0 → nan)"),
    "from and by": (CHANGE.from_(3).by(1), 3, 4, "x changed by 1, as expected (3 → 4)"),
    "unchanged number": (
        UNCHANGED, 3, 3,
        "x did not change, as expected (3 → 3); it was 3 already before the action",
    ),
    "unchanged NaN": (
        UNCHANGED, NAN, float("nan"),
        "x did not change, as expected (nan → nan); it was nan already before the action",
    ),
    "unchanged list": (
        UNCHANGED, [1], [1],
        "x did not change, as expected ([1] → [1]); it was [1] already before the action",
    ),
    "unchanged, ignoring a part": (
        UNCHANGED.ignoring("at"), {"a": 1, "at": 1}, {"a": 1, "at": 2},
        ("x did not change, ignoring 'at', as expected ({'a': 1, 'at': 1} → {'a': 1, 'at': 2}); "
         "it was so already before the action"),
    ),
    "unchanged in another zone": (
        UNCHANGED, NOON, NOON.astimezone(timezone(timedelta(hours=1))),
        ("x did not change, as expected (2026-11-30T12:00:00+00:00 → 2026-11-30T13:00:00+01:00); "
         "it was 2026-11-30T13:00:00+01:00 already before the action"),
    ),
}  # fmt: skip

FAILS = {
    "some change": (CHANGE, 3, 3, "expected x to change, but it did not change (3 → 3)"),
    "some change of a list": (CHANGE, [1], [1], "expected x to change, but it did not change ([1] → [1])"),
    "some change of infinity": (CHANGE, INF, INF, "expected x to change, but it did not change (inf → inf)"),
    "by": (CHANGE.by(1), 3, 3, "expected x to change by 1, but it changed by 0 (3 → 3)"),
    "by, twice as much": (CHANGE.by(1), 3, 5, "expected x to change by 1, but it changed by 2 (3 → 5)"),
    "by, too far for the tolerance": (
        CHANGE.by(1.0, tolerance=0.25), 0.0, 1.5,
        "expected x to change by 1.0 ± 0.25, but it changed by 1.5 (0.0 → 1.5)",
    ),
    "by a float that was not hit": (
        CHANGE.by(0.3), 0.1, 0.4,
        "expected x to change by 0.3, but it changed by 0.30000000000000004 (0.1 → 0.4)",
    ),
    "by one in large integers": (
        CHANGE.by(1), 10**30, 10**30, "expected x to change by 1, but it changed by 0",
    ),
    "by, to NaN": (CHANGE.by(1), 1.0, NAN, "expected x to change by 1, but it changed by nan (1.0 → nan)"),
    "by_at_least": (
        CHANGE.by_at_least(2), 3, 4,
        "expected x to change by at least 2, but it changed by 1 (3 → 4)",
    ),
    "by_at_least beyond tolerance": (
        CHANGE.by_at_least(2, tolerance=0.5), 3, 4,
        "expected x to change by at least 2 ± 0.5, but it changed by 1 (3 → 4)",
    ),
    "by_at_most": (
        CHANGE.by_at_most(2), 3, 6,
        "expected x to change by at most 2, but it changed by 3 (3 → 6)",
    ),
    "by_between, too little": (
        CHANGE.by_between(2, 4), 0, 1, "expected x to change by between 2 and 4, but it changed by 1 (0 → 1)",
    ),
    "by_between, too much": (
        CHANGE.by_between(2, 4), 0, 5, "expected x to change by between 2 and 4, but it changed by 5 (0 → 5)",
    ),
    "increasing, no change": (
        CHANGE.increasing(), 1, 1, "expected x to increase, but it changed by 0 (1 → 1)",
    ),
    "increasing, a decrease": (
        CHANGE.increasing(), 2, 1, "expected x to increase, but it changed by -1 (2 → 1)",
    ),
    "increasing by": (
        CHANGE.increasing(by=2), 1, 2,
        "expected x to increase by 2, but it changed by 1 (1 → 2)",
    ),
    "increasing at most, no change": (
        CHANGE.increasing(at_most=3), 0, 0,
        "expected x to increase by at most 3, but it changed by 0 (0 → 0)",
    ),
    "increasing within bounds": (
        CHANGE.increasing(at_least=1, at_most=3), 0, 4,
        "expected x to increase by between 1 and 3, but it changed by 4 (0 → 4)",
    ),
    "decreasing": (CHANGE.decreasing(), 1, 2, "expected x to decrease, but it changed by 1 (1 → 2)"),
    "decreasing by": (
        CHANGE.decreasing(by=2), 3, 2,
        "expected x to decrease by 2, but it changed by -1 (3 → 2)",
    ),
    "decreasing by at least": (
        CHANGE.decreasing(at_least=2), 3, 2,
        "expected x to decrease by at least 2, but it changed by -1 (3 → 2)",
    ),
    "decreasing a duration, the longest increase": (
        CHANGE.decreasing(), timedelta(), timedelta.max,
        f"expected x to decrease, but it changed by {timedelta.max} (0:00:00 → {timedelta.max})",
    ),
    "decreasing by a Decimal, exactly": (
        CHANGE.decreasing(by=Decimal(1)), Decimal(0), Decimal("-1.00000000000000000000000000000000001"),
        ("expected x to decrease by 1, but it changed by -1.00000000000000000000000000000000001 "
        "(0 → -1.00000000000000000000000000000000001)"),
    ),
    "from": (CHANGE.from_(3), 4, 5, "expected x to change from 3, but it started at 4 (4 → 5)"),
    "from, and no change": (
        CHANGE.from_(3), 3, 3, "expected x to change from 3, but it did not change (3 → 3)",
    ),
    "from another kind": (
        CHANGE.from_(1), True, False, "expected x to change from 1, but it started at True (True → False)",
    ),
    "to": (
        CHANGE.to("done"), "new", "open",
        "expected x to change to 'done', but it ended at 'open' ('new' → 'open')",
    ),
    "to, where it was already": (
        CHANGE.to("done"), "done", "done",
        ("expected x to change to 'done', but it did not change ('done' → 'done'); "
         "it was 'done' already before the action"),
    ),
    "from and to": (
        CHANGE.from_(1).to(3), 2, 4,
        "expected x to change from 1 to 3, but it started at 2 and ended at 4 (2 → 4)",
    ),
    "from, to and by": (
        CHANGE.from_(1).to(3).by(2), 2, 2,
        "expected x to change from 1 to 3 by 2, but it started at 2 and did not change (2 → 2)",
    ),
    "from and to, still at the start": (
        CHANGE.from_(1).to(3), 1, 1, "expected x to change from 1 to 3, but it stayed at 1 (1 → 1)",
    ),
    "from and to, already at the end": (
        CHANGE.from_(1).to(3), 3, 3,
        ("expected x to change from 1 to 3, but it started at 3 and did not change (3 → 3); "
         "it was 3 already before the action"),
    ),
    "to and increasing": (
        CHANGE.to(3).increasing(at_least=1), 4, 3,
        "expected x to increase to 3 by at least 1, but it changed by -1 (4 → 3)",
    ),
    "unchanged": (UNCHANGED, 3, 4, "expected x to stay unchanged, but it changed by 1 (3 → 4)"),
    "unchanged text": (UNCHANGED, "a", "b", "expected x to stay unchanged, but it changed ('a' → 'b')"),
    "unchanged set": (
        UNCHANGED, {"a"}, set(), "expected x to stay unchanged, but it removed 'a' ({'a'} → set())",
    ),
    "unchanged, naive and aware": (
        UNCHANGED, NAIVE, NOON,
        "expected x to stay unchanged, but it changed (2026-11-30T12:00:00 → 2026-11-30T12:00:00+00:00)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("check", "pre", "post", "sentence"), PASSES.values(), ids=PASSES)
def test_a_met_expectation_passes_and_says_so(check, pre, post, sentence):
    assert verdict(check, pre, post) == ("pass", sentence)


@pytest.mark.parametrize(("check", "pre", "post", "sentence"), FAILS.values(), ids=FAILS)
def test_an_unmet_expectation_fails_and_names_the_change(check, pre, post, sentence):
    assert verdict(check, pre, post) == ("fail", sentence)


# States without a verdict, and observations -----------------------------------------------------------------


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
def test_a_numeric_expectation_of_states_that_are_not_numbers_is_inconclusive(check, pre, post, sentence):
    assert verdict(check, pre, post) == ("inconclusive", sentence)


@pytest.mark.parametrize(("pre", "post", "sentence"), OBSERVED.values(), ids=OBSERVED)
def test_an_observation_is_not_a_claim(pre, post, sentence):
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
