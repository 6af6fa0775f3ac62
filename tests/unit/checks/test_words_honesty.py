"""A word passes only if its change, and no other, occurred. Mistakes in words are named."""

from copy import copy, deepcopy

import pytest

from deltaspan import DeltaspanError, change, collect_reports, expects, observe, unchanged
from deltaspan.checks import Change, Check
from support.verdicts import verdict


def rows():
    return 3


CHANGE = change("x", rows)


# Amounts by key -------------------------------------------------------------------------------------------

COLLATERAL = {
    "a key that came as 0": (
        CHANGE.by({"a": 1}), {"a": 0}, {"a": 1, "b": 0},
        ("expected x to change by {'a': 1}, but it also added 'b', which was not declared "
         "({'a': 0} → {'a': 1, 'b': 0})"),
    ),
    "a key that left as 0": (
        CHANGE.by({"a": 1}), {"a": 0, "b": 0}, {"a": 1},
        ("expected x to change by {'a': 1}, but it also removed 'b', which was not declared "
         "({'a': 0, 'b': 0} → {'a': 1})"),
    ),
    "a 0 within a document that came": (
        CHANGE.by({"a/n": 1}), {}, {"a": {"n": 1, "m": 0}},
        ("expected x to change by {'a/n': 1}, but it also added 'a/m', which was not declared "
         "({} → {'a': {'n': 1, 'm': 0}})"),
    ),
    "a key that moved within the tolerance of another": (
        CHANGE.by({"a": 100}, tolerance=5), {"a": 0, "b": 0}, {"a": 100, "b": 4},
        ("expected x to change by {'a': 100} ± 5, but it also changed 'b' by 4, which was not declared "
         "({'a': 0, 'b': 0} → {'a': 100, 'b': 4})"),
    ),
    "a key whose text is declared": (
        CHANGE.by({"1": 1}), {1: 0}, {1: 1},
        ("expected x to change by {'1': 1}, but it changed '1' by 0 and it changed key 1 by 1, which was not "
         "declared ({1: 0} → {1: 1})"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("check", "pre", "post", "sentence"), COLLATERAL.values(), ids=COLLATERAL)
def test_an_undeclared_key_is_named_even_for_a_small_change(check, pre, post, sentence):
    assert verdict(check, pre, post) == ("fail", sentence)


@pytest.mark.parametrize(("pre", "post"), [({}, {"a": 1, "b": 0}), ({"b": 0}, {"a": 1})])
def test_a_missing_declared_key_counts_as_0(pre, post):
    assert verdict(CHANGE.by({"a": 1, "b": 0}), pre, post)[0] == "pass"


def test_other_keys_added_with_0_may_be_allowed():
    assert verdict(CHANGE.by({"a": 1}).allowing_others(), {}, {"a": 1, "b": 0})[0] == "pass"


# Computed values that name nothing ------------------------------------------------------------------------


def run(words, effect, state, created=()):
    @expects(words(change("x", lambda: state)))
    def act():
        effect(state)
        return created

    with collect_reports() as reports:
        act()
    return reports[0]["x"]


NOTHING = {
    "no member": lambda c: c.adding(lambda result: result),
    "a count of 0": lambda c: c.adding(count=lambda result: len(result)),
    "no member of either kind": lambda c: c.adding(lambda result: result).removing(count=lambda result: 0),
    "nowhere": lambda c: c.only(lambda result: result),
    "no member of one predicate": lambda c: c.adding(count=lambda result: 0, where=lambda member: False),
}


@pytest.mark.parametrize("words", NOTHING.values(), ids=NOTHING)
def test_members_that_are_computed_as_none_claim_that_nothing_changes(words):
    still, changed = run(words, lambda state: None, {"b"}), run(words, lambda state: state.add("a"), {"b"})

    assert (still.outcome, still.expected_delta, still.explanation) == (
        "pass", "no change, as computed", "x did not change, as expected ({'b'} → {'b'})",
    )  # fmt: skip
    assert (changed.outcome, changed.explanation) == (
        "fail",
        "expected x to stay unchanged because no change was computed, but it added 'a' ({'b'} → {'a', 'b'})",
    )


@pytest.mark.parametrize("words", [NOTHING["no member"], NOTHING["nowhere"]], ids=["adding", "only"])
def test_a_reordered_list_has_changed_even_if_no_member_was_computed(words):
    assert run(words, list.reverse, [1, 2]).outcome == "fail"


def test_amounts_by_key_that_are_computed_as_none_claim_that_nothing_changes():
    words = lambda c: c.by(lambda result: {})  # noqa: E731
    still, changed = run(words, lambda state: None, {"a": 1}), run(words, dict.clear, {"a": 1})

    assert (still.outcome, still.expected_delta) == ("pass", "no change, as computed")
    assert changed.explanation == (
        "expected x to stay unchanged because no change was computed, but it removed 'a' ({'a': 1} → {})"
    )


def test_an_amount_computed_as_empty_allows_ignored_members():
    words = lambda c: c.by(lambda result: {}).ignoring("at")  # noqa: E731

    assert run(words, lambda state: state.update(at=2), {"a": 1, "at": 1}).outcome == "pass"
    assert run(words, lambda state: state.update(a=2), {"a": 1, "at": 1}).outcome == "fail"


def test_no_member_is_ignored_if_patterns_are_computed_as_empty():
    words = lambda c: c.adding("a").ignoring(lambda result: result)  # noqa: E731

    assert run(words, lambda state: state.add("a"), set()).outcome == "pass"
    assert run(words, lambda state: state.update("ab"), set()).outcome == "fail"


AMOUNTS = {
    "by": (lambda c: c.by(lambda result: 0), {0: "pass", 1: "fail", -1: "fail"}),
    "increasing by": (lambda c: c.increasing(by=lambda result: 0), {0: "pass", 1: "fail", -1: "fail"}),
    "increasing at most": (
        lambda c: c.increasing(at_most=lambda result: 0), {0: "pass", 1: "fail", -1: "fail"},
    ),
    "increasing at least": (
        lambda c: c.increasing(at_least=lambda result: 0), {0: "pass", 1: "pass", -1: "fail"},
    ),
    "increasing within": (
        lambda c: c.increasing(at_least=lambda result: 0, at_most=1), {0: "pass", 1: "pass", 2: "fail"},
    ),
    "decreasing by": (lambda c: c.decreasing(by=lambda result: 0), {0: "pass", 1: "fail", -1: "fail"}),
    "increasing at least 1": (lambda c: c.increasing(at_least=lambda result: 1), {0: "fail", 1: "pass"}),
}  # fmt: skip


@pytest.mark.parametrize(("words", "outcomes"), AMOUNTS.values(), ids=AMOUNTS)
def test_an_amount_that_is_computed_as_0_claims_that_nothing_changes(words, outcomes):
    rows = [1, 2, 3]
    found = {}
    for amount in outcomes:
        check = words(change("n", lambda: len(rows)))

        @expects(check)
        def act(amount):
            rows.extend([0] * amount)
            del rows[len(rows) + min(amount, 0) :]

        with collect_reports() as reports:
            act(amount)
        found[amount] = reports[0]["n"].outcome
    assert found == outcomes


def test_a_negative_computed_amount_makes_the_check_inconclusive():
    check = change("n", lambda: 1).increasing(by=lambda result: -1)

    with collect_reports() as reports:
        expects(check)(lambda: None)()
    assert reports[0]["n"].reason == "expectation_failed"


@pytest.mark.parametrize("added", [(), ("a",)], ids=["nothing came", "one came"])
def test_no_member_beside_others_that_are_allowed_claims_nothing_and_has_no_verdict(added):
    words = lambda c: c.removing(lambda result: result).allowing_others()  # noqa: E731
    report = run(words, lambda state: state.update(added), set())

    assert (report.outcome, report.reason) == ("inconclusive", "expectation_failed")
    assert report.explanation == (
        "x: a change was claimed and none was named: what was computed is removing no member, allowing "
        "others; use unchanged(...) to claim that nothing changes"
    )


def test_a_count_of_0_that_is_computed_beside_others_says_that_none_of_the_kind_changes():
    words = lambda c: c.adding(count=lambda result: 0).allowing_others()  # noqa: E731

    assert run(words, set.clear, {"b"}).outcome == "pass"
    assert run(words, lambda state: state.add("a"), {"b"}).outcome == "fail"


@pytest.mark.parametrize(
    ("state", "outcome"), [({"b"}, "pass"), (set(), "fail")], ids=["removed", "not there"]
)
def test_a_kind_that_is_computed_as_nothing_may_stand_beside_one_that_names_a_change(state, outcome):
    words = lambda c: c.adding(lambda result: result).removing("b")  # noqa: E731

    assert run(words, set.clear, state).outcome == outcome


def test_members_computed_as_none_leave_those_that_are_given_or_counted():
    add = lambda state: state.add("a")  # noqa: E731

    assert run(lambda c: c.adding("a", lambda result: result), add, set()).passed
    assert run(lambda c: c.adding(lambda result: result, count=1), add, set()).passed
    assert not run(lambda c: c.adding(lambda result: result, count=2), add, set()).passed


# Text patterns and keys of other types --------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1", "None", "*", "?", "1*", "**/1", "*/**"])
def test_text_names_no_top_level_key_of_another_kind(text):
    for key in (1, None):
        assert verdict(CHANGE.adding(text), {}, {key: 1})[0] == "fail"
        assert verdict(CHANGE.only(text), {}, {key: 1})[0] == "fail"
        assert verdict(unchanged("x", rows).ignoring(text), {}, {key: 1})[0] == "fail"


@pytest.mark.parametrize("text", ["1", "1*", "?"])
def test_a_text_pattern_does_not_match_below_a_key_of_another_type(text):
    assert verdict(CHANGE.modifying(text), {1: {"a": 1}}, {1: {"a": 2}})[0] == "fail"


def test_two_stars_match_keys_of_every_type():
    assert verdict(CHANGE.adding("**"), {}, {1: 1, None: 1, "a": 1})[0] == "pass"


@pytest.mark.parametrize("text", ["1/a", "*/a", "?/*", "1/**"])
def test_a_key_that_is_not_a_string_is_matched_in_paths_by_its_text(text):
    assert verdict(CHANGE.modifying(text), {1: {"a": 1}}, {1: {"a": 2}})[0] == "pass"


def test_an_amount_below_a_key_that_is_not_a_string_is_named_by_its_path():
    assert verdict(CHANGE.by({"1/a": 1}), {1: {"a": 1}}, {1: {"a": 2}})[0] == "pass"


# Mistakes that are named ----------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["adding", "removing", "modifying", "only", "ignoring"])
@pytest.mark.parametrize(
    ("members", "kind", "whole"), [(["q", "r"], "list", "tuple"), ({1}, "set", "frozenset")]
)
def test_a_list_or_a_set_of_members_is_to_be_unpacked(word, members, kind, whole):
    with pytest.raises(DeltaspanError) as caught:
        getattr(CHANGE, word)(members)

    assert isinstance(caught.value, TypeError)
    assert str(caught.value) == (
        f"check 'x': {word} takes members one by one, not a {kind} of them; unpack it: {word}(*members), "
        f"or write {word}({whole}(...)) if one member is itself a {kind}"
    )


def test_a_tuple_a_frozenset_and_a_document_are_members():
    assert verdict(CHANGE.adding((1, 2)), set(), {(1, 2)})[0] == "pass"
    assert verdict(CHANGE.adding((1, 2)), [], [[1, 2]])[0] == "pass"
    assert verdict(CHANGE.adding(frozenset({1})), [], [{1}])[0] == "pass"
    assert verdict(CHANGE.adding({"id": 1}), [], [{"id": 1}])[0] == "pass"


def test_a_number_that_was_meant_to_count_is_named_as_a_member_with_the_word_that_counts():
    assert verdict(CHANGE.adding(1), set(), {"a"})[1] == (
        "expected x to change by adding member 1, but it did not add member 1 (a number of members is "
        "count=1) and it added 'a', which was not declared (set() → {'a'})"
    )


@pytest.mark.parametrize(
    ("check", "post"),
    [
        (CHANGE.adding(1), {2}),
        (CHANGE.adding("b"), {"a"}),
        (CHANGE.adding(1, 2), {"a"}),
        (CHANGE.adding(-1), {"a"}),
    ],
)
def test_no_count_is_suggested_where_the_member_can_be_meant(check, post):
    assert "count=" not in verdict(check, set(), post)[1]


@pytest.mark.parametrize(
    ("check", "source", "claims"),
    [(unchanged("x", rows), "unchanged", "that nothing changes"), (observe("x", rows), "observe", "nothing")],
)
def test_a_word_of_change_after_another_claim_says_to_start_from_change(check, source, claims):
    with pytest.raises(AttributeError) as caught:
        check.by(1)

    assert str(caught.value) == (
        f"{source}('x', rows) claims {claims}: it cannot be followed by .by(...); start from "
        f"change('x', ...).by(...)"
    )


def test_an_unknown_word_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match="'Unchanged' object has no attribute 'bye'"):
        unchanged("x", rows).bye(1)

    assert [copy(check) == check == deepcopy(check) for check in (CHANGE, observe("x", rows))] == [True, True]


@pytest.mark.parametrize(
    "word", sorted(word for word in set(dir(Change)) - set(dir(Check)) if word[0] != "_")
)
def test_each_word_of_change_on_a_check_without_a_claim_is_refused_with_advice(word):
    with pytest.raises(AttributeError, match=rf"claims nothing: it cannot be followed by \.{word}\("):
        getattr(observe("x", rows), word)
