"""What a predicate receives under the name `delta`."""

from __future__ import annotations

import pytest

from deltaspan import change, current_causal_tag, tagged, window


def received(before, after, read=lambda state: state):
    state = [before]
    seen = []
    check = change("x", lambda: read(state[0])).satisfying(lambda delta: seen.append(delta) or True, "seen")
    with window("act", check):
        state[0] = after
    return seen[0]


def test_of_numbers_it_is_the_amount():
    assert received(3, 5) == 2


def test_of_a_set_it_has_the_members():
    delta = received({1, 2}, {2, 3})
    assert (delta.changed, delta.added, delta.removed) == (True, {3}, {1})


def test_of_a_sequence_it_has_the_members_in_order():
    delta = received([1, 2], [2, 4, 3])
    assert (delta.changed, delta.added, delta.removed) == (True, (4, 3), (1,))


def test_of_a_mapping_it_has_values_by_original_key():
    delta = received({1: "a", "b": 1, "c": 1}, {"b": 2, "c": 1, ("d", 0): 3})
    assert delta.changed
    assert (delta.added, delta.removed, delta.modified) == ({("d", 0): 3}, {1: "a"}, {"b": (1, 2)})


def test_of_a_document_it_has_values_by_path():
    delta = received({"tx": [{"n": 1}], 7: 1}, {"tx": [{"n": 2}, {"n": 3}], 7: 2})
    assert (delta.added, delta.removed) == ({"tx/1": {"n": 3}}, {})
    assert delta.modified == {"tx/0/n": (1, 2), 7: (1, 2)}


def test_a_key_with_a_slash_is_not_taken_for_a_path():
    delta = received({"a": {}}, {"a": {"b": 1}, "a/b": 2})
    assert delta.added == {"a/b": 1, "a~1b": 2}


def test_of_states_without_members_it_says_whether_they_differ():
    delta = received("a", "b")
    assert delta.changed
    assert not hasattr(delta, "added")


def test_of_tagged_rows_it_has_those_of_this_run_and_apart_from_them_the_rest():
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
def test_what_a_predicate_receives_cannot_be_changed(name):
    delta = received({"a": 1}, {"a": 2})
    with pytest.raises(TypeError):
        getattr(delta, name)["b"] = 1
    with pytest.raises(AttributeError):
        setattr(delta, name, {})
