from __future__ import annotations

import contextlib
import copy
import math
import string
from datetime import timedelta, timezone

from hypothesis import assume, given
from hypothesis import strategies as st

from deltaspan._state.diff import NumberDelta, ValueDelta, difference, equal
from deltaspan._state.snapshot import Unfreezable, freeze
from support.replay import apply

numbers = st.one_of(
    st.integers(),
    st.floats(),
    st.decimals(allow_nan=True),
    st.fractions(),
    st.booleans(),
    st.sampled_from([0, 1, True, False, 0.0, -0.0, 1.0, float("nan"), float("inf"), 10**400]),
)
zones = st.sampled_from([timezone.utc, timezone(timedelta(hours=1)), timezone(timedelta(hours=-8))])
times = st.one_of(st.datetimes(), st.datetimes(timezones=zones), st.dates(), st.timedeltas())
scalars = st.one_of(
    numbers, times, st.none(), st.text(max_size=3), st.binary(max_size=3), st.complex_numbers()
)
members = st.one_of(st.integers(0, 3), st.text(max_size=2), st.booleans(), st.just(float("nan")), st.none())
keys = st.one_of(st.text(string.ascii_lowercase + "/~", max_size=2), st.integers(0, 3), st.tuples(members))


def states(leaves):
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.sets(members, max_size=4),
            st.dictionaries(keys, inner, max_size=4),
            st.lists(st.dictionaries(keys, inner, max_size=3), max_size=3),
        ),
        max_leaves=8,
    )


anything = states(scalars)
# Few distinct leaves, so that two drawn states share much of what they hold.
alike = states(st.sampled_from([0, 1, True, 1.0, "a", float("nan"), None]))
pairs = st.one_of(
    st.tuples(anything, anything),
    st.tuples(alike, alike),
    st.tuples(numbers, numbers),
    st.tuples(times, times),
)


def disturb(value):
    """Change every mutable container, at every depth."""
    match value:
        case list():
            for item in value:
                disturb(item)
            value.reverse()
            value.append("disturbed")
        case dict():
            for item in value.values():
                disturb(item)
            for key in list(value):
                value[key] = "disturbed"
            value["new"] = "disturbed"
        case set():
            value.clear()
            value.add("disturbed")
        case _:
            pass


@given(anything)
def test_a_snapshot_never_changes_whatever_is_done_to_the_live_object(live):
    witness = freeze(copy.deepcopy(live))
    snapshot = freeze(live)
    disturb(live)
    assert equal(snapshot, witness)


@given(anything)
def test_a_snapshot_equals_its_own_snapshot(value):
    snapshot = freeze(value)
    assert equal(freeze(snapshot), snapshot)


@given(pairs)
def test_a_delta_is_unchanged_exactly_when_both_states_are_equal(pair):
    pre, post = map(freeze, pair)
    assert difference(pre, post).changed is not equal(pre, post)


@given(pairs)
def test_equality_is_symmetric(pair):
    a, b = map(freeze, pair)
    assert equal(a, b) is equal(b, a)


@given(anything)
def test_a_state_read_twice_is_unchanged(value):
    assert not difference(freeze(value), freeze(copy.deepcopy(value))).changed


@given(pairs)
def test_a_delta_applied_to_the_baseline_gives_the_post_state(pair):
    pre, post = map(freeze, pair)
    delta = difference(pre, post)
    assume(not (isinstance(delta, ValueDelta) and delta.changed))
    if isinstance(delta, NumberDelta) and isinstance(delta.amount, float):
        assume(math.isfinite(delta.amount))
        replayed = apply(delta, pre)
        assert equal(replayed, post) or math.isclose(
            replayed, post, rel_tol=1e-9, abs_tol=1e-9 * abs(float(pre))
        )
    else:
        assume(not (isinstance(delta, NumberDelta) and not _is_finite(delta.amount)))
        assert equal(apply(delta, pre), post)


def _is_finite(amount):
    return not hasattr(amount, "is_finite") or amount.is_finite()


@given(st.one_of(st.tuples(numbers, numbers), st.tuples(times, times)))
def test_an_amount_is_zero_exactly_when_nothing_changed(pair):
    delta = difference(*map(freeze, pair))
    if isinstance(delta, NumberDelta):
        assert bool(delta.amount) is delta.changed


@given(pairs)
def test_a_delta_always_has_words_and_a_value(pair):
    delta = difference(*map(freeze, pair))
    assert delta.words()
    assert freeze(delta.value) is not None


def hostile(methods):
    def answer(*_):
        raise ValueError

    # A type without `__init__` of its own, whose named methods all raise.
    return type("Hostile", (), dict.fromkeys(methods, answer))()


hostiles = st.builds(
    hostile,
    st.lists(
        st.sampled_from(
            [
                "__eq__", "__ne__", "__repr__", "__str__", "__getattr__", "__getattribute__", "__len__",
                "__iter__", "__bool__", "__getitem__", "__contains__", "__next__", "__class__", "__dict__",
                "keys", "items", "tolist", "size", "__await__",
            ]
        ),
        unique=True,
    ),
)  # fmt: skip


@given(states(st.one_of(scalars, hostiles, st.functions(), st.builds(iter, st.just([])))))
def test_freezing_raises_nothing_but_unfreezable(value):
    with contextlib.suppress(Unfreezable):
        freeze(value)


@given(
    st.lists(hostiles, min_size=2, max_size=2),
    st.sampled_from([lambda x: x, lambda x: (x,), lambda x: (x, x, 1)]),
)
def test_differencing_raises_nothing(values, hold):
    pre, post = map(hold, values)
    delta = difference(pre, post)
    assert delta.changed is not equal(pre, post)
    assert delta.words()
