"""States and numeric members in the sentences of verdicts."""

from __future__ import annotations

import pytest

from deltaspan import change, observe, unchanged, window
from deltaspan._state.render import transition

LONG = "a" * 200
FILES = {f"src/module_{n}.py": f"{n:040x}" for n in range(50)}


def explained(check, before, after):
    state = [before]
    with window("w", check("x", lambda: state[0])) as w:
        state[0] = after
    return w.report["x"].explanation


def test_two_short_states_follow_the_change_in_the_sentence():
    assert explained(unchanged, {"a": 1}, {"a": 2}) == (
        "expected x to stay unchanged, but it modified 'a' (1 → 2) ({'a': 1} → {'a': 2})"
    )


@pytest.mark.parametrize("check", [unchanged, change, observe])
def test_large_documents_are_not_repeated_after_their_differences(check):
    after = {**FILES, "src/module_7.py": "gone"}

    text = explained(check, FILES, after)

    assert f"modified 'src/module_7.py' ('{7:040x}' → 'gone')" in text
    assert "module_0" not in text


def test_an_unchanged_large_state_is_not_shown_at_all():
    assert (
        explained(unchanged, FILES, dict(FILES))
        == "x did not change, as expected; it was so already before the action"
    )


def test_the_differing_part_of_two_long_texts_is_shown():
    assert explained(unchanged, LONG + "left", LONG + "right") == (
        "expected x to stay unchanged, but it changed (…'aaaaaaaaaaaaaaaleft' → …'aaaaaaaaaaaaaaaright')"
    )


def test_the_differing_part_of_a_long_text_in_a_document_is_shown():
    assert "modified 'k' (…'aaaaaaaaaaaaaaax' → …'aaaaaaaaaaaaaaay')" in explained(
        unchanged, {"k": LONG + "x"}, {"k": LONG + "y"}
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LONG, LONG + "b"),
        (LONG, "b" + LONG),
        (LONG.encode(), LONG.encode() + b"b"),
        ("\x00" * 200 + "a", "\x00" * 200 + "b"),
        (10**300, 10**300 + 1),
        (LONG, LONG),
        (tuple(range(500)), tuple(range(501))),
        ((1, 2), frozenset(range(500))),
        (None, FILES),
    ],
)
def test_the_same_text_never_stands_on_both_sides(before, after):
    first, _, second = transition(before, after).strip(" ()").partition(" → ")

    assert first != second or not first
    assert len(first) + len(second) <= 160


def test_a_state_that_became_a_large_collection_is_described_by_its_size():
    assert explained(change, None, dict.fromkeys(range(100))) == (
        "x changed, as expected (None → a mapping of 100 keys)"
    )


def test_states_of_an_unsuitable_kind_are_described_by_kind_and_size():
    text = explained(lambda *said: change(*said).by(1), tuple(range(100)), tuple(range(101)))

    assert "but the states were a list of 100 members → a list of 101 members" in text


@pytest.mark.parametrize(
    ("end", "found"),
    [
        ({**FILES, "new": 1}, "ended without 'new'"),
        ({name: FILES[name] for name in list(FILES)[1:]}, "with 'src/module_0.py' beyond what was expected"),
        ({**FILES, "src/module_7.py": "x"}, f"with 'src/module_7.py' at '{7:040x}' instead of 'x'"),
    ],
)
def test_a_large_end_state_is_described_by_its_differences_from_the_expected_one(end, found):
    before = {**FILES, "old": 1}

    text = explained(lambda *said: change(*said).to(end), before, FILES)

    assert found in text.partition(", but it ")[2]
    assert "module_9" not in text.partition(", but it ")[2]


def test_the_differences_of_a_large_end_state_leave_out_ignored_members():
    end = {**FILES, "at": 1, "new": 1}

    text = explained(lambda *said: change(*said).to(end).ignoring("at"), {}, {**FILES, "at": 2})

    assert "ended without 'new'" in text


def test_a_set_with_an_unexpected_end_state_names_the_members():
    end = set(range(100))

    text = explained(lambda *said: change(*said).to(end), set(), end - {7} | {200})

    assert "ended with member 200 beyond what was expected and without member 7" in text


def test_a_long_list_in_another_order_says_so():
    text = explained(lambda *said: change(*said).to(list(range(50))), [], list(reversed(range(50))))

    assert "ended with its members in another order" in text


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({8: "a", 9: "b"}, {8: "a"}, "removed key 9"),
        ({8: "a", 9: "b"}, {}, "removed keys 8, 9"),
        ({8, 9}, {8}, "removed member 9"),
        ([8], [8, 9], "appended member 9"),
        ({"9": 1}, {}, "removed '9'"),
        ({9: "b"}, {9: "c"}, "modified key 9 ('b' → 'c')"),
    ],
)
def test_a_number_that_names_a_member_is_not_shown_as_an_amount(before, after, said):
    assert f"but it {said}" in explained(unchanged, before, after)


def test_an_undeclared_change_is_named_as_a_key_or_a_member():
    check = lambda *said: change(*said).adding("a")  # noqa: E731

    assert "but it also removed key 9, which was not declared" in explained(check, {9: 1}, {"a": 1})
    assert "but it also removed member 9, which was not declared" in explained(check, {9}, {"a"})
