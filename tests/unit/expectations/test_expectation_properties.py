"""Properties of every expectation on any two states."""

import math
from datetime import timedelta
from decimal import Decimal, localcontext

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deltaspan import change, observe, unchanged
from deltaspan._state.diff import difference
from deltaspan._state.snapshot import freeze

# The answer is tested, not the speed of the machine.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

CHECKS = [
    change("x", abs),
    change("x", abs).by(1),
    change("x", abs).by(0.5, tolerance=0.25),
    change("x", abs).by(Decimal("0.1"), tolerance=Decimal("0.01")),
    change("x", abs).by(timedelta(1), tolerance=timedelta(1)),
    change("x", abs).by(math.inf),
    change("x", abs).by_at_least(1, tolerance=0.5),
    change("x", abs).by_at_least(timedelta(1)),
    change("x", abs).by_at_most(Decimal(1), tolerance=Decimal(1)),
    change("x", abs).by_between(-1, 1.5),
    change("x", abs).by_between(timedelta(-1), timedelta(1), tolerance=timedelta(1)),
    change("x", abs).increasing(),
    change("x", abs).increasing(by=1, tolerance=1),
    change("x", abs).increasing(at_least=timedelta(1), at_most=timedelta.max),
    change("x", abs).decreasing(),
    change("x", abs).decreasing(by=Decimal(1)),
    change("x", abs).decreasing(at_least=0.1, at_most=10),
    change("x", abs).from_(0),
    change("x", abs).from_([1, {"a": {2}}]).to(math.nan),
    change("x", abs).to(None).by(1),
    unchanged("x", abs),
    observe("x", abs),
]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.text(max_size=8),
    st.binary(max_size=8),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.sampled_from([Decimal("snan"), Decimal("-inf"), timedelta.min, timedelta.max, 10**700, -0.0, 1e308]),
)
states = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=3) | st.integers(0, 3), inner, max_size=3),
        st.frozensets(st.integers(0, 5) | st.text(max_size=2), max_size=3),
    ),
    max_leaves=6,
).map(freeze)


@settings(CALM, max_examples=400)
@given(check=st.sampled_from(CHECKS), pre=states, post=states)
@example(check=change("x", abs).decreasing(), pre=timedelta(), post=timedelta.max)
@example(check=change("x", abs).decreasing(by=Decimal(1)), pre=0, post=Decimal("snan"))
def test_judging_and_explaining_never_raise_and_explain_every_verdict(check, pre, post):
    delta = difference(pre, post)
    verdict = check.expectation.judge(delta, pre, post)
    sentence = verdict.note or check.expectation.explain(
        "x", delta, pre, post, holds=verdict.outcome == "pass"
    )

    assert verdict.outcome in ("pass", "fail", "inconclusive", "observed")
    assert (verdict.outcome == "inconclusive") == (verdict.reason is not None)
    assert sentence


@CALM
@given(check=st.sampled_from(CHECKS), state=states)
def test_a_state_that_stayed_as_it_was_is_never_a_change_from_one_to_another(check, state):
    delta = difference(state, state)
    outcome = check.expectation.judge(delta, state, state).outcome

    assert (outcome == "observed") == (check == CHECKS[-1])
    assert outcome != "pass" or check.expectation.expected not in ("some change", "increase", "decrease")


@CALM
@given(pre=states, post=states)
def test_bare_change_and_unchanged_judge_any_two_states_and_never_agree(pre, post):
    delta = difference(pre, post)
    outcomes = {check.expectation.judge(delta, pre, post).outcome for check in (CHECKS[0], CHECKS[-2])}

    assert outcomes == {"pass", "fail"}


@CALM
@given(pre=states, post=states)
def test_from_the_baseline_to_the_post_state_passes_if_and_only_if_the_state_changed(pre, post):
    delta = difference(pre, post)
    outcome = change("x", abs).from_(pre).to(post).expectation.judge(delta, pre, post).outcome

    assert (outcome == "pass") == delta.changed


@CALM
@given(pre=st.integers(), post=st.integers(), amount=st.integers(-3, 3))
def test_by_passes_if_and_only_if_its_amount_is_the_difference(pre, post, amount):
    outcome = change("x", abs).by(amount).expectation.judge(difference(pre, post), pre, post).outcome

    assert (outcome == "pass") == (post - pre == amount)


@CALM
@given(pre=st.integers(), amount=st.integers())
def test_by_passes_if_the_amount_was_added(pre, amount):
    post = pre + amount
    verdict = change("x", abs).by(amount).expectation.judge(difference(pre, post), pre, post)

    assert verdict.outcome == "pass"


@CALM
@given(
    pre=st.integers(-9, 9), post=st.integers(-9, 9), bounds=st.tuples(st.integers(-9, 9), st.integers(-9, 9))
)
def test_bounds_pass_if_and_only_if_the_difference_is_within_them(pre, post, bounds):
    low, high = sorted(bounds)
    delta = difference(pre, post)

    def holds(check):
        return check.expectation.judge(delta, pre, post).outcome == "pass"

    assert holds(change("x", abs).by_between(low, high)) == (low <= post - pre <= high)
    assert holds(change("x", abs).by_at_least(low)) == (post - pre >= low)
    assert holds(change("x", abs).by_at_most(high)) == (post - pre <= high)


@CALM
@given(
    pre=st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000),
    amount=st.decimals(allow_nan=False, allow_infinity=False, min_value=1, max_value=1000),
    off=st.integers(30, 60),
)
def test_a_direction_by_a_decimal_is_exact(pre, amount, off):
    check = change("x", abs)
    post = exact_sum(pre, amount)
    nearly = exact_sum(post, Decimal(1).scaleb(-off))

    assert check.increasing(by=amount).expectation.judge(difference(pre, post), pre, post).outcome == "pass"
    assert (
        check.increasing(by=amount).expectation.judge(difference(pre, nearly), pre, nearly).outcome == "fail"
    )
    assert check.decreasing(by=amount).expectation.judge(difference(post, pre), post, pre).outcome == "pass"
    assert (
        check.decreasing(by=amount).expectation.judge(difference(nearly, pre), nearly, pre).outcome == "fail"
    )


def exact_sum(start, amount):
    with localcontext() as context:
        context.prec = 400
        return start + amount
