"""No state is left out of a snapshot because a value also behaves like a collection or a scalar."""

from __future__ import annotations

import collections
import enum
import functools
import os
import random
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from email.message import Message
from fractions import Fraction
from http.cookies import SimpleCookie
from pathlib import PurePosixPath
from uuid import UUID

import pytest

from deltaspan._state.diff import equal
from deltaspan._state.snapshot import Unfreezable, freeze


def refusal(value):
    with pytest.raises(Unfreezable) as caught:
        freeze(value)
    return str(caught.value)


class Inventory:
    def __init__(self):
        self.rows = [1]
        self.total = 1

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __contains__(self, row):
        return row in self.rows


class Planet(enum.Enum):
    EARTH = 3

    def __init__(self, number):
        self.moons = [number]


def test_a_collection_with_fields_is_a_record_of_them():
    assert freeze(Inventory()) == {"rows": (1,), "total": 1}


def test_a_mapping_with_more_fields_than_its_content_is_a_record_of_them():
    class Stock(collections.UserDict):
        total = 0

    stock = Stock(a=1)
    assert freeze(stock) == {"a": 1}
    stock.total = 2
    assert freeze(stock) == {"data": {"a": 1}, "total": 2}


def test_a_chain_of_mappings_is_a_record_as_some_of_its_values_are_hidden():
    assert freeze(collections.ChainMap({"a": 1}, {"a": 2})) == {"maps": ({"a": 1}, {"a": 2})}


def test_the_headers_and_the_body_of_a_message_are_state():
    message = Message()
    message["To"] = "a"
    first = freeze(message)
    message.replace_header("To", "b")
    second = freeze(message)
    message.set_payload("text")
    assert not equal(first, second)
    assert not equal(second, freeze(message))


def test_the_value_of_a_cookie_is_state():
    cookie = SimpleCookie({"a": "1"})
    before = freeze(cookie)
    cookie["a"].set("a", "2", "2")
    assert not equal(before, freeze(cookie))


@pytest.mark.parametrize(
    ("base", "content"),
    [
        (dict, {}), (collections.OrderedDict, {}), (list, ()), (tuple, ()), (collections.deque, ()),
        (set, frozenset()), (frozenset, frozenset()), (bytearray, b""), (str, ""), (int, 0), (float, 0.0),
        (bytes, b""), (Decimal, Decimal(0)), (Fraction, Fraction(0)), (complex, 0j), (timedelta, timedelta()),
        (time, time()),
    ],
)  # fmt: skip
def test_the_attributes_of_a_subclass_stand_beside_its_content(base, content):
    value = type("Sub", (base,), {})()
    assert freeze(value) == content
    value.note = ["x"]
    assert freeze(value) == {"note": ("x",), "(content)": content}
    assert equal(freeze(freeze(value)), freeze(value))


@pytest.mark.parametrize(
    "plain",
    [
        date(2026, 1, 2), datetime(2026, 1, 2, 3, fold=1, tzinfo=timezone.utc), time(3, fold=1),
        timedelta(1), Decimal("1.10"), Fraction(1, 3), 1j, UUID(int=7), PurePosixPath("/a"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_scalar_of_a_subclass_that_may_have_attributes_is_not_kept_by_reference(plain):
    kind = type(plain)
    sub = type("Sub", (kind,), {})
    if kind in {date, datetime, time}:
        value = sub(*plain.__reduce_ex__(4)[1])
    else:
        value = {
            timedelta: lambda: sub(1), Decimal: lambda: sub("1.10"), Fraction: lambda: sub(1, 3),
            complex: lambda: sub(1j), UUID: lambda: sub(int=7), PurePosixPath: lambda: sub("/a"),
        }[kind]()  # fmt: skip
    frozen = freeze(value)
    assert type(frozen) is kind
    assert frozen == plain
    assert getattr(frozen, "fold", 0) == getattr(plain, "fold", 0)


def test_the_slots_of_a_subclass_stand_beside_its_content():
    class Row(dict):
        __slots__ = ("version",)

    row = Row(a=1)
    row.version = 2
    assert freeze(row) == {"version": 2, "(content)": {"a": 1}}


def test_a_scalar_with_attributes_that_are_not_state_is_refused():
    text = type("Text", (str,), {})("a")
    text.parent = object()
    assert refusal([text]) == (
        "found a Text with attributes that are not plain state at 0: "
        "return its plain value, or what matters of it as a dict, instead"
    )


def test_a_member_of_an_enumeration_is_a_constant_despite_its_attributes():
    assert freeze(Planet.EARTH) is Planet.EARTH


def test_attributes_of_a_stat_result_outside_the_tuple_are_state(tmp_path):
    assert freeze(tmp_path.stat())["st_mtime_ns"] == tmp_path.stat().st_mtime_ns


def test_a_dict_that_shows_other_items_than_it_holds_is_refused():
    class Liar(dict):
        def items(self):
            return []

    assert refusal(Liar(a=1)) == (
        "found a dict that shows other members than it holds (Liar): "
        "return what matters of it as a plain dict instead"
    )


@pytest.mark.parametrize("base", [list, tuple, set, frozenset, collections.deque])
def test_a_container_that_shows_other_members_than_it_holds_is_refused(base):
    liar = type("Liar", (base,), {"__iter__": lambda self: iter(())})([1])
    assert f"found a {base.__name__} that shows other members than it holds (Liar)" in refusal(liar)


def test_a_dict_that_overrides_its_methods_and_tells_the_truth_is_frozen():
    class Loud(dict):
        def items(self):
            return list(super().items())

    assert freeze(Loud(a=1)) == {"a": 1}


def test_a_mapping_with_several_items_of_one_key_is_refused():
    class Headers(Mapping):
        __slots__ = ()

        def __len__(self):
            return 1

        def __iter__(self):
            return iter(["a"])

        def __getitem__(self, key):
            return 1

        def items(self):
            return [("a", 1), ("a", 2)]

    assert refusal(Headers()) == (
        "found a mapping with several items of one key (Headers): return its items as a list instead"
    )


def test_a_collection_without_fields_that_has_keys_is_read_as_a_mapping():
    class Table:
        __slots__ = ()
        __len__ = __contains__ = lambda *_: 1

        def __iter__(self):
            return iter(["a"])

        def keys(self):
            return ["a"]

        def __getitem__(self, key):
            return [key]

    assert freeze(Table()) == {"a": ("a",)}


def test_an_opaque_collection_is_refused():
    class Bag(random.Random):
        __len__ = __contains__ = lambda *_: 0

        def __iter__(self):
            return iter(())

    assert refusal(Bag()) == (
        "found an opaque collection (Bag): "
        "return its members as a list, or what matters of it as a dict, instead"
    )


def test_the_environment_is_a_mapping(monkeypatch):
    monkeypatch.setenv("DELTASPAN_X", "1")
    assert freeze(os.environ)["DELTASPAN_X"] == "1"


def test_the_order_of_a_mapping_is_not_state():
    ordered = collections.OrderedDict(a=1, b=2)
    before = freeze(ordered)
    ordered.move_to_end("a")
    assert equal(before, freeze(ordered))


def test_an_object_whose_tolist_returns_its_own_class_is_refused():
    class Own:
        def tolist(self):
            return self

    assert refusal(Own()) == "found a Own whose tolist() returns a Own: return plain values instead"


def test_the_fields_of_an_object_with_tolist_are_state():
    class Column:
        def __init__(self):
            self.unit = "EUR"

        def tolist(self):
            return [1]

    assert freeze(Column()) == {"unit": "EUR"}


def test_the_attributes_of_a_numpy_array_of_a_subclass_stand_beside_its_content():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    array = numpy.zeros(1).view(type("Sub", (numpy.ndarray,), {}))
    array.unit = "m"
    assert freeze(array) == {"unit": "m", "(content)": (0.0,)}


def test_a_value_assigned_under_the_name_of_a_cached_property_is_left_out():
    class Order:
        @functools.cached_property
        def total(self):
            return 1

    order = Order()
    order.total = 99
    assert freeze(order) == {}
