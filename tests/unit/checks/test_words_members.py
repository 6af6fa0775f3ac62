"""`adding`, `removing`, `modifying`: the declared changes of members, and no others."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass

import pytest

from deltaspan import change, expects, keyed, probe, unchanged, window
from deltaspan._state.diff import difference
from deltaspan.exceptions import DefinitionTypeError
from support.verdicts import verdict

CHANGE = change("x", lambda: None)


ROWS = {1: {"status": "new", "total": 5}, 2: {"status": "new", "total": 7}}

PASSES = {
    "a member of a set": (CHANGE.adding("a"), {"b"}, {"a", "b"}),
    "a number is a member": (CHANGE.adding(42), {1}, {1, 42}),
    "any member": (CHANGE.adding(), set(), {"a", "b"}),
    "one added, one removed": (CHANGE.adding("a").removing("b"), {"b"}, {"a"}),
    "a count of a set": (CHANGE.adding(count=2), {0}, {0, 1, 2}),
    "a member and a count": (CHANGE.adding("a", count=3), set(), {"a", "b", "c"}),
    "a text of a set is no pattern": (CHANGE.adding("a*"), set(), {"a*"}),
    "others allowed within a kind": (CHANGE.adding("a").allowing_others(), set(), {"a", "b"}),
    "others allowed of another kind": (CHANGE.adding("a").allowing_others(), {"b"}, {"a"}),
    "a start and an end": (CHANGE.from_({"b"}).to({"a", "b"}).adding("a"), {"b"}, {"a", "b"}),
    "a member of a list": (CHANGE.adding("b"), ["a", "c"], ["a", "b", "c"]),
    "each occurrence in a list": (CHANGE.adding("a", "a"), ["a"], ["a", "a", "a"]),
    "a document of a list": (CHANGE.adding({"id": 2}), [{"id": 1}], [{"id": 1}, {"id": 2}]),
    "a list whose rest keeps its order": (
        CHANGE.adding("z").removing("x"), ["x", "a", "b", "a"], ["a", "b", "a", "z"],
    ),
    "one of several equal members, whichever": (
        CHANGE.removing("x", "y", "a").adding("z", "w"), list("xabay"), list("zbaw"),
    ),
    "an order that may change": (CHANGE.adding("a").allowing_others(), ["b", "c"], ["c", "b", "a"]),
    "NaN": (CHANGE.adding(float("nan")), set(), {float("nan")}),
    "a key": (CHANGE.adding("a"), {"b": 1}, {"a": 1, "b": 1}),
    "a key that is no text": (CHANGE.removing(2), {1: "a", 2: "b"}, {1: "a"}),
    "a pattern over keys": (CHANGE.adding("a-*"), {}, {"a-1": 1, "a-2": 1}),
    "a pattern and a count": (CHANGE.adding("a-*", count=2), {}, {"a-1": 1, "a-2": 1}),
    "a whole document": (CHANGE.adding("orders/3"), {"orders": {}}, {"orders": {3: {"total": 1}}}),
    "what lies below a key": (CHANGE.modifying(1), ROWS, {**ROWS, 1: {"status": "paid", "total": 6}}),
    "what lies below a path": (
        CHANGE.modifying("a/b/**"), {"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}},
    ),
    "a path pattern": (CHANGE.modifying("*/status"), ROWS, {**ROWS, 1: {"status": "paid", "total": 5}}),
    "a count of paths": (CHANGE.modifying(count=2), ROWS, {**ROWS, 1: {"status": "paid", "total": 6}}),
    "all three kinds": (
        CHANGE.adding("a").removing("b").modifying("c"), {"b": 1, "c": 1}, {"a": 1, "c": 2},
    ),
}  # fmt: skip

FAILS = {
    "nothing happened": (
        CHANGE.adding("a"), {"b"}, {"b"},
        "expected x to change by adding 'a', but it did not change ({'b'} → {'b'})",
    ),
    "collateral of another kind": (
        CHANGE.adding("a"), {"b"}, {"a"},
        ("expected x to change by adding 'a', but it also removed 'b', which was not declared "
         "({'b'} → {'a'})"),
    ),
    "collateral of the same kind": (
        CHANGE.adding("a"), set(), {"a", "b"},
        ("expected x to change by adding 'a', but it also added 'b', which was not declared "
         "(set() → {'a', 'b'})"),
    ),
    "another member": (
        CHANGE.adding("a"), set(), {"b"},
        ("expected x to change by adding 'a', but it did not add 'a' and it added 'b', which was not "
         "declared (set() → {'b'})"),
    ),
    "one of two": (
        CHANGE.adding("a", "b"), set(), {"a"},
        "expected x to change by adding 'a', 'b', but it did not add 'b' (set() → {'a'})",
    ),
    "a kind that did not occur": (
        CHANGE.adding("a").removing("b"), {"b"}, {"a", "b"},
        "expected x to change by adding 'a' and removing 'b', but it did not remove 'b' ({'b'} → {'a', 'b'})",
    ),
    "no member at all": (
        CHANGE.adding(), {"b"}, set(),
        ("expected x to change by adding any member, but it added no member and it removed 'b', which was "
         "not declared ({'b'} → set())"),
    ),
    "too few": (
        CHANGE.adding(count=2), set(), {1},
        "expected x to change by adding 2 members, but it added 1 member (1) (set() → {1})",
    ),
    "too many": (
        CHANGE.adding(count=1), set(), {1, 2},
        "expected x to change by adding 1 member, but it added 2 members (1, 2) (set() → {1, 2})",
    ),
    "counted, and another one": (
        CHANGE.adding("a", count=2), set(), {"b", "c"},
        ("expected x to change by adding 'a', 2 members in total, but it did not add 'a' "
         "(set() → {'b', 'c'})"),
    ),
    "True is not 1": (
        CHANGE.adding(1), set(), {True},
        ("expected x to change by adding member 1, but it did not add member 1 and it added member True, "
         "which was not declared "
         "(set() → {True})"),
    ),
    "many": (
        CHANGE.adding("a"), set(), {"a", *range(8)},
        ("expected x to change by adding 'a', but it also added members 0, 1, 2, 3, 4 and 3 more, which were "
         "not declared (set() → {0, 1, 2, 3, 4, 5, 6, 7, 'a'})"),
    ),
    "others allowed, but not the declared": (
        CHANGE.adding("a").allowing_others(), {"b"}, {"c"},
        "expected x to change by adding 'a', allowing others, but it did not add 'a' ({'b'} → {'c'})",
    ),
    "a list in another order": (
        CHANGE.adding("a"), ["b", "c"], ["c", "b", "a"],
        ("expected x to change by adding 'a', but it also reordered its members, which was not declared "
         "(['b', 'c'] → ['c', 'b', 'a'])"),
    ),
    "added to a list once too often": (
        CHANGE.adding("a"), [], ["a", "a"],
        ("expected x to change by adding 'a', but it also added 'a', which was not declared "
         "([] → ['a', 'a'])"),
    ),
    "another key": (
        CHANGE.modifying("a"), {"a": 1, "b": 1}, {"a": 2, "b": 2, "c": 3},
        ("expected x to change by modifying 'a', but it also added 'c' and modified 'b' (1 → 2), which were "
         "not declared ({'a': 1, 'b': 1} → {'a': 2, 'b': 2, 'c': 3})"),
    ),
    "a field added below a key": (
        CHANGE.modifying("a"), {"a": {"n": 1}}, {"a": {"n": 2, "m": 1}},
        ("expected x to change by modifying 'a', but it also added 'a/m', which was not declared "
         "({'a': {'n': 1}} → {'a': {'n': 2, 'm': 1}})"),
    ),
    "a pattern and a count, and another key": (
        CHANGE.adding("a-*", count=2), {}, {"a-1": 1, "b": 1},
        ("expected x to change by adding 'a-*', 2 members in total, but it also added 'b', which was not "
         "declared ({} → {'a-1': 1, 'b': 1})"),
    ),
    "an end that was not reached": (
        CHANGE.to({"a"}).adding("a"), {"b"}, {"a", "b"},
        "expected x to change to {'a'} by adding 'a', but it ended at {'a', 'b'} ({'b'} → {'a', 'b'})",
    ),
}  # fmt: skip

NEEDS = "needs a collection before and after the action, but the states were"
INCOMPARABLE = {
    "a number": (CHANGE.adding("a"), 1, 2, f"adding {NEEDS} 1 → 2; use .by(n) for a number"),
    "a text": (
        CHANGE.removing(), "a", "b",
        f"removing {NEEDS} 'a' → 'b'; use .from_(...) or .to(...) for a state without members",
    ),
    "nothing at first": (
        CHANGE.adding("a"), None, {"a"},
        f"adding {NEEDS} None → {{'a'}}; let the probe return an empty collection where there is none",
    ),
    "two kinds of collections": (
        CHANGE.adding("a"), ["a"], {"a"},
        f"adding {NEEDS} ['a'] → {{'a'}}; let the probe return the same kind of collection both times",
    ),
    "modifying a set": (
        CHANGE.modifying("a"), {"a"}, {"b"},
        ("modifying needs a mapping before and after the action, but the states were {'a'} → {'b'}; "
         "its members have no keys: use .adding(...) and .removing(...)"),
    ),
    "modifying a list, after another word": (
        CHANGE.adding("b").modifying("a"), ["a"], ["a", "b"],
        ("modifying needs a mapping before and after the action, but the states were ['a'] → ['a', 'b']; "
         "its members have no keys: use .adding(...) and .removing(...)"),
    ),
    "too much repetition to tell the order": (
        CHANGE.adding("z"), ["y", *[0, 1] * 1000, "x"], ["x", *[1, 0] * 1000, "y", "z"], None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("check", "pre", "post"), PASSES.values(), ids=PASSES)
def test_a_change_that_matches_its_declaration_passes(check, pre, post):
    assert verdict(check, pre, post)[0] == "pass"


@pytest.mark.parametrize(("check", "pre", "post", "sentence"), FAILS.values(), ids=FAILS)
def test_any_other_change_fails_and_is_named(check, pre, post, sentence):
    assert verdict(check, pre, post) == ("fail", sentence)


@pytest.mark.parametrize(("check", "pre", "post", "sentence"), INCOMPARABLE.values(), ids=INCOMPARABLE)
def test_states_that_do_not_fit_the_word_are_inconclusive_with_advice(check, pre, post, sentence):
    outcome, note = verdict(check, pre, post)

    assert outcome == "inconclusive"
    assert sentence is None or note == sentence


def test_the_sentence_of_a_pass_names_the_changes():
    assert verdict(CHANGE.adding("a").removing("b"), {"b"}, {"a"}) == (
        "pass",
        "x added 'a' and removed 'b', as expected ({'b'} → {'a'})",
    )


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (CHANGE.adding("a"), "adding 'a'"),
        (CHANGE.adding(), "adding any member"),
        (CHANGE.removing(count=1), "removing 1 member"),
        (CHANGE.modifying("a", "b", count=3).adding(count=2), "adding 2 members and modifying 'a', 'b', 3 members in total"),  # noqa: E501
        (CHANGE.adding(lambda result: result), "adding computed members"),
        (CHANGE.adding(count=lambda result: result), "adding a computed number of members"),
        (CHANGE.adding("a").allowing_others(), "adding 'a', allowing others"),
    ],
)  # fmt: skip
def test_the_demand_is_words(check, words):
    assert check.expectation.expected == words


def test_a_million_members_are_judged_only_by_their_delta():
    before = frozenset(range(1_000_000))
    delta = difference(before, before | {-1})
    touched = []

    class Watched(frozenset):
        def __iter__(self):
            touched.append(self)
            return super().__iter__()

    found = CHANGE.adding(count=1).expectation.judge(delta, Watched(before), Watched(before))

    assert (found.outcome, touched) == ("pass", [])


# Keyed members ----------------------------------------------------------------------------------------------


@dataclass
class Order:
    id: int
    status: str = "new"


def orders(*ids):
    return [{"id": each, "status": "new"} for each in ids]


def judged(check, act=lambda: None):
    with window("act", check) as w:
        act()
    return w.report[check.metric]


def test_a_list_of_records_is_read_by_key():
    rows = orders(1, 2)
    report = judged(change("orders", keyed(lambda: rows, "id")).adding(3), lambda: rows.append(orders(3)[0]))
    assert report.passed
    assert report.pre_state == {1: {"id": 1, "status": "new"}, 2: {"id": 2, "status": "new"}}


def test_a_forged_old_record_beside_a_new_one_is_seen():
    rows = orders(1, 2)

    def act():
        rows.append(orders(3)[0])
        rows[0]["status"] = "forged"

    report = judged(change("orders", keyed(lambda: rows, "id")).adding(3), act)
    assert report.outcome == "fail"
    assert "modified '1/status'" in report.explanation


def test_the_order_of_keyed_records_is_not_state():
    rows = orders(1, 2, 3)
    assert judged(unchanged("orders", keyed(lambda: rows, "id")), rows.reverse).passed


@pytest.mark.parametrize(
    ("rows", "key"),
    [
        (orders(7), "id"),
        ([Order(7)], "id"),
        ([(7, "new")], 0),
        (orders(7), lambda order: order["id"]),
        ((order for order in orders(7)), "id"),
    ],
    ids=["item", "attribute", "position", "callable", "iterator"],
)
def test_a_key_is_an_item_an_attribute_a_position_or_computed(rows, key):
    assert list(keyed(lambda: rows, key)()) == [7]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (orders(1, 1), "two rows of listed have the key 1: let key= name what is unique among them"),
        (
            [{"name": "a"}],
            "a row of listed has no 'id', which key= names (it has ['name']); each record needs",
        ),
        ([{"id": [1]}], "a row of listed has the key [1], which does not hash"),
    ],
    ids=["twice", "missing", "unhashable"],
)
def test_records_that_no_key_tells_apart_are_incomparable(rows, sentence):
    def listed():
        return rows

    report = judged(unchanged("orders", keyed(listed, "id")))
    assert (report.outcome, report.reason) == ("inconclusive", "incomparable")
    assert sentence in report.explanation


def test_a_keyed_read_that_is_not_a_list_of_records_fails_the_baseline():
    report = judged(unchanged("orders", keyed(lambda: {"id": 1}, "id")))
    assert report.reason == "baseline_failed"
    assert "keyed() reads rows, and the probe gave a dict" in report.explanation


def test_a_spent_iterator_is_incomparable():
    rows = iter(orders(1))
    report = judged(unchanged("orders", keyed(lambda: rows, "id")))
    assert (report.outcome, report.reason) == ("inconclusive", "incomparable")


def test_the_arguments_of_an_action_pass_through():
    shops = {"a": orders(1), "b": orders(1)}

    @expects(change("orders", keyed(lambda shop: shops[shop], "id")).adding(2), on_failure="raise")
    def place(shop):
        shops[shop].append(orders(2)[0])

    place("a")
    assert list(inspect.signature(keyed(lambda shop: shops[shop], "id")).parameters) == ["shop"]


def test_an_async_probe_is_awaited():
    rows = orders(1)

    async def read():
        return rows

    @expects(change("orders", keyed(read, "id")).adding(2), on_failure="raise", on_inconclusive="raise")
    async def place():
        rows.append(orders(2)[0])

    assert inspect.iscoroutinefunction(keyed(read, "id").__call__)
    asyncio.run(place())


def test_a_blocking_probe_stays_blocking():
    @probe(blocking=True)
    def read():
        return orders(1)

    assert keyed(read, "id").__deltaspan_blocking__


def test_keyed_is_shown_as_source_in_repr():
    def read():
        return []

    assert repr(keyed(len, "id")) == "keyed(len, 'id')"
    assert (
        repr(change("orders", keyed(len, "id")).adding(3)) == "change('orders', keyed(len, 'id')).adding(3)"
    )


@pytest.mark.parametrize(
    ("read", "key", "sentence"),
    [
        ([{"id": 1}], "id", "keyed() wraps a probe, which must be callable, not [{'id': 1}]"),
        (len, True, "keyed(key=...) takes the name of an item or attribute, a position, or a callable"),
        (len, None, "keyed(key=...) takes the name of an item or attribute, a position, or a callable"),
    ],
)
def test_a_wrong_definition_is_refused(read, key, sentence):
    with pytest.raises(DefinitionTypeError) as raised:
        keyed(read, key)
    assert sentence in str(raised.value)
