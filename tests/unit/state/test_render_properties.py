"""Properties of `wire`, `plain` and `show` for any state."""

import json
import random
import re
from datetime import timezone
from decimal import Decimal
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deltaspan._state.render._render import plain, show, wire


class Hostile:
    """Raises whenever it is asked for its text."""

    def __repr__(self):
        raise RuntimeError("no text for you")

    __str__ = __repr__


class HostileList(list):
    def __len__(self):
        raise RuntimeError("no size for you")


ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates and control characters too
HASHABLE_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**3000), 2**3000)
    | st.floats()
    | st.complex_numbers()
    | ANY_TEXT
    | st.text("\ud800\x00\"'\\\n\u2028a", min_size=20)
    | st.binary()
    | st.decimals().filter(lambda number: not number.is_snan())  # which has no hash
    | st.fractions()
    | st.datetimes(timezones=st.none() | st.just(timezone.utc))
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.uuids()
)
MEMBERS = st.recursive(
    HASHABLE_SCALARS,
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.frozensets(inner, max_size=4),
    max_leaves=5,
)
ODDITIES = (
    st.builds(Hostile)
    | st.builds(object)
    | st.just(HostileList([1]))
    | st.just(print)
    | st.just(Decimal("sNaN"))
)
STATES = st.recursive(
    MEMBERS | ODDITIES,
    lambda inner: (
        st.lists(inner).map(tuple)
        | st.frozensets(MEMBERS)
        | st.dictionaries(MEMBERS | st.builds(Hostile), inner).map(MappingProxyType)
    ),
    max_leaves=12,
)
ROOMS = st.integers(0, 200)

# Generating such states is what takes the time, and a shared machine is no measure of ours.
for_any = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@for_any
@given(STATES, ROOMS)
def test_a_wire_value_has_an_attribute_type_and_stays_within_its_bounds(state, max_chars):
    value = wire(state, max_chars)
    assert type(value) in (bool, int, float, str)
    assert not isinstance(value, str) or len(value) <= max_chars
    assert type(value) is not int or -(2**63) <= value < 2**63


@for_any
@given(STATES, ROOMS)
def test_a_wire_value_can_be_encoded_as_utf_8(state, max_chars):
    assert str(wire(state, max_chars)).encode("utf-8")[:1] != b"\x00"


@for_any
@given(STATES, ROOMS)
def test_a_shown_value_is_one_encodable_line_within_its_bounds(state, max_chars):
    text = show(state, max_chars)
    assert len(text) <= max_chars
    assert len(text.encode("utf-8").splitlines()) <= 1
    assert len(text.splitlines()) <= 1


@for_any
@given(STATES)
def test_plain_values_survive_json_and_any_encoding(state):
    value = plain(state)
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    assert json.dumps(value, ensure_ascii=False).encode("utf-8")


@for_any
@given(STATES)
def test_a_collection_with_room_enough_is_json(state):
    value = wire((state,), 10**6)
    assert isinstance(json.loads(value), list)


@for_any
@given(st.lists(st.integers() | st.text("abc"), max_size=300), st.integers(20, 300))
def test_shown_and_omitted_items_add_up_to_the_size(items, max_chars):
    text = wire(tuple(items), max_chars)
    found = re.search(r"(\d+) more\]$", text)
    shown = text[: found.start()].count(",") if found else len(json.loads(text))
    assert shown + int(found[1] if found else 0) == len(items)


@for_any
@given(ANY_TEXT, ROOMS)
def test_a_text_is_cut_only_when_it_does_not_fit(text, max_chars):
    full = wire(text, 10**6)
    assert (wire(text, max_chars) == full) is (len(full) <= max_chars)


@for_any
@given(STATES, ROOMS)
def test_a_collection_is_cut_only_when_it_does_not_fit(state, max_chars):
    full = wire((state,), 10**6)
    if len(full) <= max_chars:
        assert wire((state,), max_chars) == full


@for_any
@given(st.frozensets(MEMBERS, max_size=20), st.integers(0, 120), st.randoms(use_true_random=False))
def test_sets_of_the_same_members_render_equally_in_any_insertion_order(members, max_chars, shuffler):
    other = refilled(members, shuffler)
    assert wire(other, max_chars) == wire(members, max_chars)
    assert show(other, max_chars) == show(members, max_chars)
    assert json.dumps(plain(other)) == json.dumps(plain(members))


@pytest.mark.parametrize("size", [100, 2000, 10_000])
def test_large_sets_up_to_the_sorted_size_render_equally_in_any_insertion_order(size):
    members = frozenset((n % 7, str(n)) if n % 2 else str(n) for n in range(size))
    other = refilled(members, random.Random(size))  # noqa: S311 - a shuffle, not a secret
    assert wire(other, 1024) == wire(members, 1024)


def refilled(members, shuffler):
    shuffled = list(members)
    shuffler.shuffle(shuffled)
    other = set(
        range(10_000)
    )  # grown and emptied: its table is of another size, so it iterates in another order
    other.clear()
    for member in shuffled:
        other.add(member)
    return other
