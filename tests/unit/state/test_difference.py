from __future__ import annotations

import decimal
import enum
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import pytest

from deltaspan._state.diff import (
    MappingDelta,
    NumberDelta,
    SequenceDelta,
    SetDelta,
    ValueDelta,
    difference,
    equal,
)
from deltaspan._state.snapshot import freeze
from support.replay import apply

NAN = float("nan")
INF = float("inf")
UTC = timezone.utc


def delta_of(pre, post):
    return difference(freeze(pre), freeze(post))


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Hostile:
    """Raises in every comparison, and shares its hash with every other instance."""

    def __eq__(self, other):
        raise ValueError

    def __hash__(self):
        return 1


# Numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pre", "post", "amount"),
    [
        (3, 5, 2),
        (5, 3, -2),
        (3, 3, 0),
        (2**200, 2**200 + 1, 1),
        (1, 2.5, 1.5),
        (0.5, 2, 1.5),
        (2**60, 2.0**60 + 256, 256.0),
        (10**400, 1.0, 1 - Fraction(10**400)),
        (Decimal("1.10"), Decimal("1.20"), Decimal("0.10")),
        (Decimal(1), 3, Decimal(2)),
        (0.5, Decimal("0.75"), Decimal("0.25")),
        (Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)),
        (Fraction(1, 3), 1, Fraction(2, 3)),
        (Fraction(1, 2), 0.75, 0.25),
        (Fraction(1, 3), Decimal("0.5"), Fraction(1, 6)),
        (1, INF, INF),
        (INF, 1, -INF),
        (INF, -INF, -INF),
        (10**400, INF, INF),
        (Fraction(1, 2), INF, INF),
        (Fraction(1, 2), Decimal("Infinity"), Decimal("Infinity")),
        (date(2026, 1, 1), date(2026, 1, 3), timedelta(days=2)),
        (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 1, tzinfo=UTC), timedelta(hours=1)),
        (timedelta(1), timedelta(3), timedelta(2)),
    ],
)
def test_numbers_and_times_subtract(pre, post, amount):
    delta = delta_of(pre, post)
    assert delta == NumberDelta(amount, changed=pre != post)
    assert type(delta.amount) is type(amount)


@pytest.mark.parametrize(
    ("pre", "post"), [(NAN, float("nan")), (INF, INF), (Decimal("sNaN"), Decimal("NaN")), (-0.0, 0.0)]
)
def test_an_unchanged_number_changes_by_zero_even_if_subtraction_gives_nan(pre, post):
    assert delta_of(pre, post) == NumberDelta(type(pre)(0), changed=False)


def test_a_number_that_becomes_nan_changed():
    delta = delta_of(1, NAN)
    assert delta.changed
    assert delta.amount != delta.amount


def test_decimals_subtract_exactly_in_any_decimal_context():
    with decimal.localcontext() as context:
        context.prec = 2
        context.traps[decimal.Inexact] = True
        assert delta_of(Decimal("1.000000001"), Decimal("2.000000003")).amount == Decimal("1.000000002")


def test_a_signaling_nan_raises_nothing():
    assert delta_of(Decimal("sNaN"), 1).changed


def test_decimals_too_far_apart_to_write_out_differ_as_wholes():
    assert delta_of(Decimal("1E+999999"), 1) == ValueDelta(changed=True)


def test_a_difference_too_small_for_a_float_is_a_difference():
    delta = delta_of(0.0, Fraction(1, 10**400))
    assert delta == NumberDelta(Fraction(1, 10**400), changed=True)


@pytest.mark.parametrize(
    ("pre", "post"),
    [
        (True, 1),
        (0, False),
        (1, "1"),
        (None, 0),
        (Level.LOW, Level.HIGH),
        (datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)),  # noqa: DTZ001 - naive on purpose
        (date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)),
        (1j, 2j),
        ("a", "ab"),
        (b"a", b"ab"),
        ("a", b"a"),
        (timedelta.min, timedelta.max),
        ((), frozenset()),
        ([], {}),
    ],
)
def test_values_without_subtraction_differ_as_a_whole(pre, post):
    assert delta_of(pre, post) == ValueDelta(changed=True)


@pytest.mark.parametrize("value", [True, None, "a", b"a", 1j, Level.LOW, range(3)])
def test_an_equal_whole_is_unchanged(value):
    assert delta_of(value, value) == ValueDelta(changed=False)


def test_an_hour_that_the_clock_repeats_is_an_hour():
    zoneinfo = pytest.importorskip("zoneinfo")
    try:
        berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    except zoneinfo.ZoneInfoNotFoundError:
        pytest.skip("this system has no time zone data")
    first = datetime(2026, 10, 25, 2, 30, tzinfo=berlin)
    assert delta_of(first, first.replace(fold=1)) == NumberDelta(timedelta(hours=1), changed=True)


@pytest.mark.parametrize(
    ("pre", "post", "words"),
    [
        (3, 4, "changed by 1"),
        (3, 3, "changed by 0"),
        (Decimal("1.10"), Decimal(1), "changed by -0.10"),
        ("a", "b", "changed"),
        ("a", "a", "did not change"),
    ],
)
def test_the_delta_of_scalars_has_words(pre, post, words):
    assert delta_of(pre, post).words() == words


def test_an_amount_of_many_digits_has_words():
    assert delta_of(0, 10**5000).words().startswith("changed by ")


def test_scalars_in_a_report():
    assert [delta_of(1, 3).value, delta_of("a", "b").value, delta_of("a", "a").value] == [
        2,
        "changed",
        "no change",
    ]


# Equality ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (1, Decimal(1)),
        (0.5, Fraction(1, 2)),
        (-0.0, 0.0),
        (NAN, float("nan")),
        (NAN, Decimal("NaN")),
        (Decimal("sNaN"), Decimal("sNaN")),
        (complex(1, NAN), complex(1, float("nan"))),
        ([NAN], [float("nan")]),
        ({"a": NAN}, {"a": float("nan")}),
        ({NAN}, {float("nan")}),
        ({NAN: 1}, {float("nan"): 1}),
        ({(1, NAN)}, {(1, float("nan"))}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (datetime(2026, 1, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=1)))),
    ],
)
def test_values_are_equal(a, b):
    assert equal(freeze(a), freeze(b))
    assert equal(freeze(b), freeze(a))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (True, 1),
        ([True], [1]),
        ({"a": False}, {"a": 0}),
        ({"a": [{"b": True}]}, {"a": [{"b": 1}]}),
        ("a", b"a"),
        ((1,), (1, 2)),
        ({NAN, 1}, {float("nan"), 2}),
        ({NAN: 1}, {float("nan"): 2}),
        (NAN, 1),
        (NAN, None),
        ((), frozenset()),
        ({}, ()),
    ],
)
def test_values_differ(a, b):
    assert not equal(freeze(a), freeze(b))
    assert not equal(freeze(b), freeze(a))


def test_a_value_whose_comparison_raises_equals_only_itself():
    one, other = Hostile(), Hostile()
    assert equal(one, one)
    assert not equal(one, other)


def test_a_comparison_without_a_truth_value_is_not_equality():
    class Vague:
        __hash__ = None

        def __eq__(self, other):
            return self

        def __bool__(self):
            raise ValueError

    assert not equal(Vague(), Vague())


@pytest.mark.parametrize(
    "hold",
    [
        lambda member: frozenset({member}),
        lambda member: (member,),
        lambda member: MappingProxyType({member: 1}),
        lambda member: MappingProxyType({"a": MappingProxyType({member: 1})}),
        lambda member: (MappingProxyType({member: 1}), 1),
    ],
)
def test_members_whose_comparison_raises_still_have_a_delta(hold):
    pre, post = hold(Hostile()), hold(Hostile())
    assert difference(pre, post).changed
    assert not difference(pre, pre).changed


# Sets --------------------------------------------------------------------------------------------------


def test_the_delta_of_sets_has_added_and_removed_members():
    assert delta_of({1, 2}, {2, 3}) == SetDelta(frozenset({3}), frozenset({1}))


def test_members_that_only_nan_keeps_apart_are_the_same():
    assert delta_of({NAN, 1}, {float("nan"), 2}) == SetDelta(frozenset({2}), frozenset({1}))


def test_several_nans_in_a_set_are_paired_one_to_one():
    assert len(delta_of({float("nan"), float("nan")}, {float("nan")}).removed) == 1


@pytest.mark.parametrize(
    ("pre", "post", "words"),
    [
        (set(), {"acme"}, "added 'acme'"),
        ({"beta"}, {"acme"}, "added 'acme' and removed 'beta'"),
        (set(), set("cab"), "added 'a', 'b', 'c'"),
        (set(), set(range(17)), "added members 0, 1, 2, 3, 4 and 12 more"),
        ({1}, {1}, "did not change"),
        (set(), {1, "a"}, "added 'a', 1"),
    ],
)
def test_the_delta_of_sets_has_words(pre, post, words):
    assert delta_of(pre, post).words() == words


def test_a_set_in_a_report():
    assert delta_of({1}, {2}).value == {"added": frozenset({2}), "removed": frozenset({1})}


# Mappings ----------------------------------------------------------------------------------------------


def test_the_delta_of_mappings_has_added_removed_and_modified_keys():
    assert delta_of({"a": 1, "b": 2}, {"b": 3, "c": 4}) == MappingDelta(
        added={("c",): 4}, removed={("a",): 1}, modified={("b",): (2, 3)}
    )


def test_a_flat_mapping_keeps_its_original_keys():
    (path,) = delta_of({}, {42: "x"}).added
    assert path.member == 42


def test_nested_mappings_differ_by_path():
    delta = delta_of(
        {"orders": {"7": {"status": "open", "lines": 1}}}, {"orders": {"7": {"status": "paid", "lines": 1}}}
    )
    assert delta.modified == {("orders", "7", "status"): ("open", "paid")}


def test_an_added_document_is_one_entry_with_its_whole_value():
    delta = delta_of({"orders": {}}, {"orders": {"7": {"status": "open"}}})
    assert delta.added == {("orders", "7"): {"status": "open"}}


def test_sequences_of_equally_many_mappings_differ_by_index():
    delta = delta_of({"lines": [{"n": 1}, {"n": 2}]}, {"lines": [{"n": 1}, {"n": 3}]})
    assert delta.modified == {("lines", 1, "n"): (2, 3)}


def test_a_set_within_a_document_is_modified_as_a_whole():
    delta = delta_of({"lines": {1}}, {"lines": {2}})
    assert delta.modified == {("lines",): (frozenset({1}), frozenset({2}))}


def test_an_empty_mapping_in_place_of_another_differs_by_its_entries():
    assert delta_of({"a": {"b": 1}}, {"a": {}}).removed == {("a", "b"): 1}


def test_a_key_that_is_nan_is_found_again():
    assert list(delta_of({NAN: 1}, {float("nan"): 2}).modified.values()) == [(1, 2)]


def test_a_bool_in_place_of_a_number_is_modified():
    assert delta_of({"a": True}, {"a": 1}).modified == {("a",): (True, 1)}


@pytest.mark.parametrize(
    ("pre", "post", "words"),
    [
        ({}, {"a": 1}, "added 'a'"),
        ({"a": 1}, {42: 1}, "added key 42 and removed 'a'"),
        ({"s": "open"}, {"s": "paid"}, "modified 's' ('open' → 'paid')"),
        (
            {"o": {"1": {"s": "open"}, "2": {}}},
            {"o": {"1": {"s": "paid"}, "3": {}}},
            "added 'o/3', removed 'o/2' and modified 'o/1/s' ('open' → 'paid')",
        ),
        ({}, dict.fromkeys(range(6)), "added keys 0, 1, 2, 3, 4 and 1 more"),
        ({"a": 1}, {"a": 1}, "did not change"),
    ],
)
def test_the_delta_of_mappings_has_words(pre, post, words):
    assert delta_of(pre, post).words() == words


def test_a_flat_mapping_in_a_report_has_its_own_keys():
    assert delta_of({"a/b": 1}, {"a/b": 2, 3: 4}).value == {
        "added": {3: 4},
        "removed": {},
        "modified": {"a/b": (1, 2)},
    }


def test_a_document_in_a_report_has_paths():
    assert delta_of({"a/b": 1, "a": {"b": 1}}, {"a/b": 2, "a": {"b": 2}}).value == {
        "added": {},
        "removed": {},
        "modified": {"a~1b": (1, 2), "a/b": (1, 2)},
    }


# Sequences ---------------------------------------------------------------------------------------------


def test_sequences_keep_order_and_duplicates():
    delta = delta_of([1, 2, 2, 3], [2, 4, 3, 4])
    assert (delta.added, delta.removed) == ((4, 4), (1, 2))


def test_items_after_the_whole_baseline_are_appended():
    delta = delta_of([1, 1], [1, 1, 1, 2])
    assert (delta.appended, delta.added, delta.removed) == ((1, 2), (1, 2), ())


@pytest.mark.parametrize(("pre", "post"), [([1, 2], [1, 3, 2]), ([1, 2], [2, 3]), ([1, 2], [1]), ([1], [1])])
def test_anything_else_is_not_appended(pre, post):
    assert delta_of(pre, post).appended == ()


def test_the_same_members_in_another_order_are_reordered():
    delta = delta_of([1, 2, 3], [1, 3, 2])
    assert (delta.reordered, delta.changed, delta.added, delta.removed) == (True, True, (), ())


def test_members_that_do_not_hash_are_counted_too():
    delta = delta_of([{"a": 1}, {"a": 1}, {"b": [1]}], [{"b": [1]}, {"a": 1}, {"c": {2}}])
    assert (delta.added, delta.removed) == (({"c": frozenset({2})},), ({"a": 1},))


def test_a_bool_is_not_the_number_that_hashes_like_it():
    delta = delta_of([1, 0], [True, 0, 5])
    assert (delta.added, delta.removed) == ((True, 5), (1,))


@pytest.mark.parametrize(
    "member", [lambda n: n, lambda n: {"id": n, "tags": ["a"]}], ids=["plain", "mappings"]
)
def test_ten_times_as_long_a_sequence_takes_ten_times_the_calls(member):
    def calls(count):
        pre = freeze([member(n) for n in range(count)])
        post = pre[::-1]
        counted = 0

        def count_call(frame, event, argument):
            nonlocal counted
            counted += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(count_call)
        try:
            assert difference(pre, post).reordered
        finally:
            sys.setprofile(before)
        return counted

    assert calls(5_000) < calls(500) * 15


@pytest.mark.parametrize(
    ("pre", "post", "words"),
    [
        (["a"], ["a", "b"], "appended 'b'"),
        (["a"], ["b", "a"], "added 'b'"),
        (["a", "c"], ["b", "c"], "added 'b' and removed 'a'"),
        (["a", "b"], ["b", "a"], "reordered its members"),
        (["a"], ["a"], "did not change"),
    ],
)
def test_the_delta_of_sequences_has_words(pre, post, words):
    assert delta_of(pre, post).words() == words


def test_a_sequence_in_a_report():
    assert delta_of([1], [2]).value == {"added": (2,), "removed": (1,), "reordered": False}


def test_the_differing_range_lies_between_the_shared_prefix_and_suffix():
    assert delta_of([1, 2, 9], [1, 3, 4, 9]) == SequenceDelta((3, 4), (2,), (2,), (3, 4), tail=1)


# Applying ----------------------------------------------------------------------------------------------


def test_a_change_of_a_whole_value_cannot_be_replayed():
    with pytest.raises(
        TypeError, match="a change of a whole value cannot be replayed: use the post-state itself"
    ):
        apply(ValueDelta(changed=True), "a")


def test_an_unchanged_delta_gives_the_baseline_itself():
    pre = freeze({"a": [1]})
    assert apply(difference(pre, freeze({"a": [1]})), pre) is pre


def test_a_record_of_a_delta_cannot_be_changed():
    with pytest.raises(AttributeError):
        NumberDelta(1, True).amount = 2
