"""The difference of sequences within documents, item by item."""

from __future__ import annotations

import contextlib
import copy
import math
import string
from datetime import timedelta, timezone

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deltaspan import change, current_causal_tag, tagged, unchanged, window
from deltaspan._state.diff import NumberDelta, ValueDelta, difference, equal
from deltaspan._state.diff._alignment import MAX_ALIGNED, align
from deltaspan._state.diff._difference import MAX_ITEMS
from deltaspan._state.snapshot import Unfreezable, freeze
from support.replay import apply


def delta_of(before, after):
    return difference(freeze({"tx": before}), freeze({"tx": after}))


def named(entries):
    return [path.text for path in entries]


def records(*ids):
    return [{"id": each, "status": "new"} for each in ids]


# Items of a delta ----------------------------------------------------------------------------------------


def test_an_appended_item_is_added_at_its_index():
    delta = delta_of(records(1, 2), records(1, 2, 3))
    assert (named(delta.added), delta.removed, delta.modified) == (["tx/2"], {}, {})


def test_an_item_inserted_in_the_middle_is_added_and_its_followers_are_unchanged():
    delta = delta_of(records(1, 2, 3), records(1, 9, 2, 3))
    assert (named(delta.added), delta.removed, delta.modified) == (["tx/1"], {}, {})


def test_an_item_removed_from_the_middle_is_named_by_the_index_that_it_had():
    delta = delta_of(records(1, 2, 3), records(1, 3))
    assert (delta.added, named(delta.removed), delta.modified) == ({}, ["tx/1"], {})


def test_a_field_of_an_item_is_modified_at_its_path():
    after = records(1, 2)
    after[0]["status"] = "paid"
    delta = delta_of(records(1, 2), after)
    assert (delta.added, delta.removed, named(delta.modified)) == ({}, {}, ["tx/0/status"])


def test_an_append_beside_a_forged_old_record_shows_both():
    after = records(1, 2, 3)
    after[0]["status"] = "forged"
    delta = delta_of(records(1, 2), after)
    assert (named(delta.added), delta.removed, named(delta.modified)) == (["tx/2"], {}, ["tx/0/status"])


def test_a_queue_that_moves_on_loses_its_first_item_and_gains_a_last_one():
    delta = delta_of(records(*range(20)), records(*range(1, 21)))
    assert (named(delta.added), named(delta.removed), delta.modified) == (["tx/19"], ["tx/0"], {})


def test_items_inserted_at_two_places_are_each_named():
    delta = delta_of([1, 2, 3, 4], [1, "a", 2, 3, "b", 4])
    assert (named(delta.added), delta.removed, delta.modified) == (["tx/1", "tx/4"], {}, {})


def test_sequences_within_sequences_are_compared_item_by_item():
    delta = delta_of([[1, 2], [3]], [[1, 2], [3, 4]])
    assert (named(delta.added), delta.modified) == (["tx/1/1"], {})


def test_a_sequence_that_became_a_mapping_is_modified_as_a_whole():
    assert named(delta_of([1], {0: 1}).modified) == ["tx"]


def test_an_item_that_is_nan_in_both_states_is_unchanged():
    assert not delta_of([math.nan, 1], [float("nan"), 1]).changed


def test_true_in_place_of_one_is_a_modified_item():
    assert named(delta_of([1, 2], [True, 2]).modified) == ["tx/0"]


def test_more_changed_items_than_are_named_make_one_modified_entry():
    count = MAX_ITEMS + 1
    delta = delta_of(list(range(count)), list(range(1, count + 1))[::-1])
    assert named(delta.modified) == ["tx"]
    delta = delta_of([], list(range(count)))
    assert (delta.added, named(delta.modified)) == ({}, ["tx"])


def test_many_changed_fields_are_each_named():
    count = MAX_ITEMS + 1
    delta = delta_of([{"n": 0} for _ in range(count)], [{"n": 1} for _ in range(count)])
    assert len(delta.modified) == count


def test_a_stretch_too_long_to_be_searched_is_compared_by_position():
    count = MAX_ALIGNED
    before = [{"id": number} for number in range(count)]
    after = [{"id": -1}, *before[:-2], {"id": -2}]
    delta = delta_of(before, after)
    assert (delta.added, delta.removed) == ({}, {})
    assert len(delta.modified) == count


def test_a_long_run_of_equal_items_is_aligned_within_bounds():
    pairs, removed, added = align((0,) * 400, (1, *(0,) * 300, 2))
    assert len(pairs) + len(removed) == 400
    assert len(pairs) + len(added) == 302


# Checks on items -------------------------------------------------------------------------------------------


def outcome(check, act):
    doc = {"tx": records(1, 2), "owner": "ada"}
    with window("act", check(lambda: doc)) as w:
        act(doc)
    return w.report["doc"].outcome


def append(doc):
    doc["tx"] += records(3)


def append_and_forge(doc):
    append(doc)
    doc["tx"][0]["status"] = "forged"


@pytest.mark.parametrize(
    "say",
    [
        lambda read: change("doc", read).adding("tx/2"),
        lambda read: change("doc", read).adding("tx/*"),
        lambda read: change("doc", read).adding(count=1),
        lambda read: change("doc", read).only("tx/2"),
        lambda read: unchanged("doc", read).ignoring("tx/2"),
    ],
    ids=["adding", "a pattern", "count", "only", "ignoring"],
)
def test_a_check_on_an_appended_item_passes_an_append_and_catches_a_forged_item(say):
    assert outcome(say, append) == "pass"
    assert outcome(say, append_and_forge) == "fail"


def test_a_check_on_all_below_a_key_covers_every_item():
    assert outcome(lambda read: change("doc", read).only("tx"), append_and_forge) == "pass"
    assert outcome(lambda read: change("doc", read).only("tx/**"), append_and_forge) == "pass"


def test_the_explanation_names_the_forged_item():
    doc = {"tx": records(1, 2)}
    with window("act", change("doc", lambda: doc).adding("tx/2")) as w:
        append_and_forge(doc)
    assert "modified 'tx/0/status' ('new' → 'forged'), which was not declared" in w.report["doc"].explanation


def test_amounts_by_key_reach_the_numbers_of_a_sequence():
    doc = {"scores": [1, 2]}
    with window("act", change("doc", lambda: doc).by({"scores/1": 3})) as w:
        doc["scores"][1] = 5
    assert w.report["doc"].passed


# Against an oracle -----------------------------------------------------------------------------------------

leaves = st.sampled_from([0, 1, True, 1.0, "a", "b", None, float("nan")])
documents = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.sampled_from(["a", "b", 0, 1]), inner, max_size=3)
    ),
    max_leaves=12,
)
sequences = st.lists(documents, max_size=8)


def longest_common(before, after):
    """Return the length of the longest common subsequence, by the textbook's table."""
    row = [0] * (len(after) + 1)
    for mine in before:
        previous, row = row, [0]
        for index, theirs in enumerate(after):
            row.append(previous[index] + 1 if equal(mine, theirs) else max(previous[index + 1], row[index]))
    return row[-1]


@given(sequences, sequences)
def test_a_delta_of_nested_sequences_applied_to_the_baseline_gives_the_post_state(before, after):
    pre, post = freeze({"tx": before}), freeze({"tx": after})
    assert equal(apply(difference(pre, post), pre), post)


@given(sequences)
def test_equal_nested_sequences_have_an_empty_delta(items):
    pre, post = freeze({"tx": items}), freeze({"tx": copy.deepcopy(items)})
    delta = difference(pre, post)
    assert (delta.changed, delta.added, delta.removed, delta.modified) == (False, {}, {}, {})


@given(sequences, sequences)
def test_nested_sequences_differ_exactly_when_they_are_not_equal(before, after):
    pre, post = freeze({"tx": before}), freeze({"tx": after})
    assert difference(pre, post).changed is not equal(pre, post)


@given(sequences, sequences)
def test_every_entry_of_a_delta_is_the_item_at_its_path(before, after):
    pre, post = freeze({"tx": before}), freeze({"tx": after})
    delta = difference(pre, post)
    for path, item in delta.added.items():
        assert found_at(post, path) is item
    for path, (_, now) in delta.modified.items():
        assert found_at(post, path) is now


def found_at(state, path):
    for key in path:
        state = state[key]
    return state


@given(sequences, sequences)
@settings(max_examples=200)
def test_an_alignment_keeps_as_many_equal_items_as_the_textbook(before, after):
    mine, theirs = freeze(before), freeze(after)
    pairs, removed, added = align(mine, theirs)
    kept = len(mine) - len(pairs) - len(removed)
    assert kept == len(theirs) - len(pairs) - len(added)
    assert kept == longest_common(mine, theirs)
    assert pairs == sorted(pairs)


@given(sequences, st.integers(0, 8), documents)
def test_one_inserted_item_is_one_added_entry(items, index, item):
    place = min(index, len(items))
    delta = delta_of(items, [*items[:place], item, *items[place:]])
    assert (len(delta.added), delta.removed, delta.modified) == (1, {}, {})


@given(sequences, sequences)
def test_the_same_two_states_give_the_same_delta(before, after):
    assert named(delta_of(before, after).modified) == named(delta_of(before, after).modified)


# Predicates on deltas ---------------------------------------------------------------------------------------


def received(before, after, read=lambda state: state):
    state = [before]
    seen = []
    check = change("x", lambda: read(state[0])).satisfying(lambda delta: seen.append(delta) or True, "seen")
    with window("act", check):
        state[0] = after
    return seen[0]


def test_the_delta_of_numbers_is_the_amount():
    assert received(3, 5) == 2


def test_the_delta_of_a_set_has_its_members():
    delta = received({1, 2}, {2, 3})
    assert (delta.changed, delta.added, delta.removed) == (True, {3}, {1})


def test_the_delta_of_a_sequence_has_its_members_in_order():
    delta = received([1, 2], [2, 4, 3])
    assert (delta.changed, delta.added, delta.removed) == (True, (4, 3), (1,))


def test_the_delta_of_a_mapping_has_values_by_original_key():
    delta = received({1: "a", "b": 1, "c": 1}, {"b": 2, "c": 1, ("d", 0): 3})
    assert delta.changed
    assert (delta.added, delta.removed, delta.modified) == ({("d", 0): 3}, {1: "a"}, {"b": (1, 2)})


def test_the_delta_of_a_document_has_values_by_path():
    delta = received({"tx": [{"n": 1}], 7: 1}, {"tx": [{"n": 2}, {"n": 3}], 7: 2})
    assert (delta.added, delta.removed) == ({"tx/1": {"n": 3}}, {})
    assert delta.modified == {"tx/0/n": (1, 2), 7: (1, 2)}


def test_a_key_with_a_slash_is_distinct_from_a_path():
    delta = received({"a": {}}, {"a": {"b": 1}, "a/b": 2})
    assert delta.added == {"a/b": 1, "a~1b": 2}


def test_the_delta_of_states_without_members_has_only_changed():
    delta = received("a", "b")
    assert delta.changed
    assert not hasattr(delta, "added")


def test_the_delta_of_tagged_rows_separates_own_rows_from_the_rest():
    rows, seen = [], []
    by_tag = tagged(lambda: rows, key="id", tag="tag")
    check = change("rows", by_tag).satisfying(lambda delta: seen.append(delta) or True, "seen")
    with window("act", check):
        rows.extend(
            [{"id": 1, "tag": current_causal_tag()}, {"id": 2, "tag": "another"}, {"id": 3, "tag": None}]
        )
    [delta] = seen[:1]
    assert (delta.changed, delta.amount, list(delta.added)) == (True, 1, [1])
    assert (list(delta.others.added), list(delta.untagged.added)) == ([2], [3])


@pytest.mark.parametrize("name", ["added", "removed", "modified"])
def test_a_delta_given_to_a_predicate_is_immutable(name):
    delta = received({"a": 1}, {"a": 2})
    with pytest.raises(TypeError):
        getattr(delta, name)["b"] = 1
    with pytest.raises(AttributeError):
        setattr(delta, name, {})


# Properties -------------------------------------------------------------------------------------------------

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
def test_a_snapshot_does_not_change_with_the_live_object(live):
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
