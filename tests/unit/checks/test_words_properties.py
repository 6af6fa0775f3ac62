"""Properties of every word on any two states."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspan import change, unchanged
from deltaspan._state.diff import difference
from deltaspan._state.snapshot import freeze
from deltaspan.expectations import BoundPredicate
from deltaspan.expectations._order import kept_order

CHANGE = change("x", abs)
ASKED = CHANGE.satisfying(abs, "anything")


class Answers:
    """The values of a run whose predicate is `ask`."""

    def __init__(self, ask):
        self.ask = ask

    def bind(self, predicate):
        return BoundPredicate(self.ask, {}, name=predicate.name)


def asked(ask):
    return ASKED.expectation.resolve(Answers(ask))


EXPECTATIONS = [
    *[
        check.expectation
        for check in (
            CHANGE.adding(), CHANGE.adding("a", 1), CHANGE.adding(count=1), CHANGE.adding("*", count=2),
            CHANGE.removing().adding(), CHANGE.removing("**").allowing_others(), CHANGE.modifying(),
            CHANGE.modifying("a*", 1, count=2).adding(), CHANGE.adding({"a": 1}, [1]),
            CHANGE.only("a", "*/b", 1),
            CHANGE.only("**"), CHANGE.resizing(0), CHANGE.resizing(1).from_({1}), CHANGE.by({"a": 1}),
            CHANGE.by({1: 0.5, "a/b": Decimal(1)}, tolerance=1),
            CHANGE.by({"a": timedelta(1)}, tolerance=timedelta(1)),
            CHANGE.by({"": 1}).allowing_others(), CHANGE.ignoring("a*", 1), CHANGE.to([1]).ignoring("**"),
            CHANGE.adding().ignoring("b", "*/b"), CHANGE.by({"a": 1}).ignoring("*"),
            CHANGE.resizing(1).ignoring("a"),
            unchanged("x", abs).ignoring("a*", None),
        )
    ],
    asked(lambda known: True),
    asked(lambda known: known["delta"].added),
]  # fmt: skip

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.decimals(), st.fractions(), st.timedeltas(),
    st.datetimes(), st.text("ab/~*", max_size=3), st.binary(max_size=2), st.complex_numbers(),
    st.sampled_from([Decimal("snan"), timedelta.min, timedelta.max, 10**700]),
)  # fmt: skip
keys = st.text("ab/~*", max_size=2) | st.integers(0, 3) | st.none() | st.floats(0, 1) | st.booleans()
states = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4), st.frozensets(keys, max_size=4)
    ),
    max_leaves=8,
).map(freeze)
members = st.lists(st.sampled_from("abc"), max_size=6)


@settings(max_examples=600)
@given(expectation=st.sampled_from(EXPECTATIONS), pre=states, post=states)
def test_judging_and_explaining_never_raise_and_explain_every_verdict(expectation, pre, post):
    delta = difference(pre, post)
    verdict = expectation.judge(delta, pre, post)
    sentence = verdict.note or expectation.explain("x", delta, pre, post, holds=verdict.outcome == "pass")

    assert verdict.outcome in ("pass", "fail", "inconclusive")
    assert (verdict.outcome == "inconclusive") == (verdict.reason is not None)
    assert "\n" not in sentence


def outcome(check, pre, post):
    pre, post = freeze(pre), freeze(post)
    return check.expectation.judge(difference(pre, post), pre, post).outcome


@given(pre=st.frozensets(st.integers(0, 6)), post=st.frozensets(st.integers(0, 6)))
def test_naming_exactly_the_difference_of_two_sets_passes_and_naming_less_fails(pre, post):
    added, removed = sorted(post - pre), sorted(pre - post)
    check = CHANGE
    if added:
        check = check.adding(*added)
    if removed:
        check = check.removing(*removed)

    assert (outcome(check, pre, post) == "pass") == (pre != post)
    for member in added[1:]:
        less = CHANGE.adding(*[other for other in added if other != member])
        assert outcome(less, pre, post) == "fail"


@given(pre=st.dictionaries(keys, st.integers(0, 2)), post=st.dictionaries(keys, st.integers(0, 2)))
def test_the_amounts_of_all_keys_pass_and_one_more_on_any_of_them_fails(pre, post):
    amounts = {key: post.get(key, 0) - pre.get(key, 0) for key in {**pre, **post}}
    if not amounts:
        return

    assert outcome(CHANGE.by(amounts), pre, post) == "pass"
    for key, amount in amounts.items():
        assert outcome(CHANGE.by({**amounts, key: amount + 1}), pre, post) == "fail"


@given(pre=states, post=states)
def test_ignoring_everything_leaves_nothing_of_a_collection(pre, post):
    if type(pre) is type(post) and isinstance(pre, dict | type(freeze({}))):
        assert outcome(unchanged("x", abs).ignoring("**"), pre, post) == "pass"


@settings(max_examples=300)
@given(pre=members, post=members)
def test_the_order_is_kept_if_some_choice_of_removed_and_added_items_explains_it(pre, post):
    """Checked against trying every way to take the surplus out of both."""
    kept = Counter(pre) & Counter(post)

    def remainders(state):
        return {seq for seq in subsequences(state) if Counter(seq) == kept}

    delta = difference(tuple(pre), tuple(post))

    assert kept_order(delta) == bool(remainders(pre) & remainders(post))


def subsequences(state):
    found = {()}
    for member in state:
        found |= {(*seq, member) for seq in found}
    return found


def test_no_permutation_of_distinct_members_keeps_their_order_but_the_one():
    orders = [order for order in permutations("abcd") if kept_order(difference(tuple("abcd"), order))]

    assert orders == [tuple("abcd")]
