"""Values that say they equal anything: they are compared by their content, or within their class."""

import datetime as dt
import uuid
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import pytest

from deltaspan import change, unchanged, window
from deltaspan._state.diff import difference, equal
from deltaspan._state.snapshot import Unfreezable, freeze
from support.lies import Lies


class LyingEnum(Lies, Enum):
    X = 1


class NamedAddress(Lies):
    """Gives itself the name of a class of the standard library."""


NamedAddress.__module__, NamedAddress.__qualname__ = "ipaddress", "IPv4Address"


class NamedArray(Lies):
    """Gives itself the name of a module whose values convert to themselves."""

    def tolist(self):
        return self


NamedArray.__module__ = "numpy"


def _lying(base, *arguments, **options):
    return type(f"Lying{base.__name__}", (Lies, base), options.pop("body", {}))(*arguments, **options)


LIARS = {
    "str": _lying(str, "z"),
    "int": _lying(int, 3),
    "bytes": _lying(bytes, b"z"),
    "complex": _lying(complex, 3),
    "complex without attributes": _lying(complex, 3),
    "Decimal": _lying(Decimal, 3),
    "Fraction": _lying(Fraction, 3),
    "datetime": _lying(dt.datetime, 2020, 1, 1),
    "UUID": _lying(uuid.UUID, int=3),
    "tuple": _lying(tuple, (1,)),
    "frozenset": _lying(frozenset, (1,)),
    "tuple in a tuple": (_lying(str, "z"),),
    "Enum": LyingEnum.X,
    "object": Lies(),
    "name of an address": NamedAddress(),
    "name of an array": NamedArray(),
}
liars = pytest.mark.parametrize("liar", LIARS.values(), ids=LIARS)


@liars
def test_a_member_that_equals_anything_is_not_the_member_that_was_there(liar):
    delta = difference(freeze({"a"}), freeze({liar}))
    assert (len(delta.removed), len(delta.added)) == (1, 1)
    assert not equal(freeze({"a"}), freeze({liar}))
    assert not equal(freeze([{"a"}]), freeze([{liar}]))


@liars
def test_a_key_that_equals_anything_is_not_the_key_that_was_there(liar):
    before, after = freeze({"a": 1}), freeze({liar: 1})
    delta = difference(before, after)
    assert (len(delta.removed), len(delta.added)) == (1, 1)
    assert not equal(before, after)
    assert not equal(freeze([{"a": 1}]), freeze([{liar: 1}]))
    assert difference(freeze({"x": {"a": 1}}), freeze({"x": {liar: 1}})).changed


@liars
def test_a_value_that_equals_anything_differs_from_another_value(liar):
    try:
        frozen = freeze(liar)
    except Unfreezable:
        return
    for other in ("a", 7, frozenset({"a"}), ("a",)):
        assert not equal(frozen, other)
        assert not equal(other, frozen)


@liars
def test_no_member_that_equals_anything_is_the_member_that_was_demanded(liar):
    tenants, stock = set(), {}
    with window(
        "add", change("tenants", lambda: tenants).adding("a"), change("stock", lambda: stock).adding("a")
    ) as w:
        tenants.add(liar)
        stock[liar] = 1
    assert [check.outcome for check in w.report] == ["fail", "fail"]


@liars
def test_a_swap_for_a_member_that_equals_it_is_a_change(liar):
    tenants = {"a"}
    with window("swap", unchanged("tenants", lambda: tenants)) as w:
        tenants.clear()
        tenants.add(liar)
    assert w.report.outcome == "fail"


@liars
def test_a_member_equals_itself_whatever_its_class_says(liar):
    for state in ({liar}, {liar: 1}, {"x": {liar: {1}}}, [{liar}]):
        assert equal(freeze(state), freeze(state))
        assert not difference(freeze(state), freeze(state)).changed


@dataclass(frozen=True)
class Place:
    name: str


Point = namedtuple("Point", "x y")  # noqa: PYI024 - the plain kind is meant


def test_objects_of_one_class_are_compared_as_their_class_says():
    places = {Place("a"): 1, Place("b"): 1}
    delta = difference(freeze(places), freeze({Place("a"): 2, Place("c"): 1}))
    assert [path[0] for path in delta.modified] == [Place("a")]
    assert [path[0] for path in delta.removed] == [Place("b")]
    assert [path[0] for path in delta.added] == [Place("c")]
    assert difference(freeze({Place("a")}), freeze({Place("a"), Place("b")})).added == {Place("b")}


def test_a_named_tuple_in_a_set_is_the_member_that_its_values_are():
    points = {Point(1, 2)}
    with window("add", change("points", lambda: points).adding(Point(3, 4))) as w:
        points.add(Point(3, 4))
    assert w.report.passed


def test_two_keys_of_one_content_are_refused():
    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            return self is other

    with pytest.raises(Unfreezable, match="several keys of one content"):
        freeze({Name("a"): 1, Name("a"): 2})


class Unlike(str, Enum):
    """A key that writes itself as another one."""

    KEY = "other"

    def __str__(self):
        return "a"


class Written:
    """An object that writes itself as a key."""

    def __str__(self):
        return "a"

    __repr__ = __str__


@pytest.mark.parametrize("key", [Unlike.KEY, Written()], ids=["Enum", "object"])
def test_a_key_that_writes_itself_as_another_one_is_not_that_key(key):
    orders, top = {"o1": {}}, {}
    with window(
        "add", change("orders", lambda: orders).only("o1/a"), change("top", lambda: top).adding("a")
    ) as w:
        orders["o1"][key] = 1
        top[key] = 1
    assert [check.outcome for check in w.report] == ["fail", "fail"]


def test_an_object_that_shows_another_namespace_than_it_has_is_refused():
    class Hiding:
        def __init__(self):
            self.value = 1

        @property
        def __dict__(self):
            return {"value": 1}

    with pytest.raises(Unfreezable, match="opaque"):
        freeze(Hiding())
