from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass

import pytest

from deltaspan import change, expects, keyed, probe, unchanged, window
from deltaspan.exceptions import DefinitionTypeError


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


def test_a_record_keeps_its_name_wherever_it_stands():
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


def test_what_is_no_list_of_records_is_a_probe_that_failed():
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


def test_it_reads_as_source():
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
