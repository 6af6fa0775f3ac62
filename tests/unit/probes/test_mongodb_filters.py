"""Filters, documents and definition errors of the MongoDB probes, without a server."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from bson import Code, Decimal128, MinKey, ObjectId, Regex
from pymongo import MongoClient

from deltaspan import change, unchanged, window
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes import mongodb
from deltaspan.probes._mongodb._values import fill_filter, filter_fields, to_key, to_python


@pytest.fixture
def orders():
    with MongoClient(connect=False) as client:
        yield client["shop"]["orders"]


def test_fields_of_a_filter_are_found_at_every_depth_and_once():
    assert filter_fields({"$or": [{"a": "{x}"}, {"b": {"$in": ["{y}", "-{x}"]}}], "{{z}}": 1}) == ("x", "y")


def test_a_field_alone_keeps_the_type_of_its_value_and_one_within_a_text_does_not():
    name = ObjectId()

    assert fill_filter({"a": "{x}", "b": "n-{y}", "c": "{{y}}"}, {"x": name, "y": 5}) == {
        "a": name,
        "b": "n-5",
        "c": "{y}",
    }


def test_a_value_that_could_be_an_operator_is_rejected():
    for value in ({"$ne": None}, ["a"], ("a",), {"a"}, re.compile("a"), object()):
        with pytest.raises(TypeError, match="takes a plain value to compare with"):
            fill_filter({"a": "{x}"}, {"x": value})


def test_a_field_in_a_pattern_is_matched_literally():
    assert fill_filter({"a": {"$regex": "^{x}.*"}}, {"x": "a.*"}) == {"a": {"$regex": r"^a\.\*.*"}}


@pytest.mark.parametrize(
    "given",
    [
        {"$where": "this.a == '{x}'"},
        {"$expr": {"$eq": ["$a", "{x}"]}},
        {"$expr": {"$in": [["{x}"], "$a"]}},
        {"$text": {"$search": "{x}"}},
    ],
)
def test_a_field_that_would_be_run_is_rejected(given):
    with pytest.raises(DefinitionValueError, match="would be run as code"):
        filter_fields(given)


@pytest.mark.parametrize("pattern", [re.compile("^{x}$"), Regex("^{x}$"), re.compile(b"^{x}$")])
def test_a_field_that_would_not_be_filled_is_rejected(pattern):
    for given in ({"a": pattern}, {"a": {"$in": [pattern]}}, {"a": {"$not": pattern}}):
        with pytest.raises(DefinitionValueError, match="within a compiled pattern is not filled"):
            filter_fields(given)
    for given in ({"owner.{x}": 1}, {"$or": [{"owner.{x}": 1}]}):
        with pytest.raises(DefinitionValueError, match="in the name of a compared field"):
            filter_fields(given)
    assert filter_fields({"a": re.compile("a{2}b{1,3}")}) == ()
    assert fill_filter({"{{a}}": 1}, {}) == {"{a}": 1}


@dataclass
class Euro:
    cents: int

    __repr__ = object.__repr__


def test_a_value_decoded_by_codec_options_is_compared_by_its_content():
    price = Euro(1)
    with window("pay", unchanged("price", lambda: to_python({"price": price}))) as w:
        price.cents = 2

    assert w.report["price"].outcome == "fail"


def test_an_exact_number_stays_exact():
    assert repr(to_python(Decimal128("1.10"))) == "Decimal('1.10')"


def test_a_value_that_python_has_no_type_for_is_its_repr():
    assert to_python({"a": [MinKey(), Code("f()")]}) == {"a": ["MinKey()", "Code('f()', None)"]}


def test_a_document_can_be_a_key():
    assert to_key({"a": [1, {"b": Decimal128("2")}]}) == (("a", (1, (("b", 2),))),)


def test_an_invalid_definition_is_rejected_at_once(orders):
    for other in (None, orders.database, "orders"):
        with pytest.raises(DefinitionTypeError, match=r"mongodb.count\(\) reads a collection of PyMongo"):
            mongodb.count(other)
    with pytest.raises(DefinitionTypeError, match="a filter is a mapping"):
        mongodb.count(orders, "a")
    with pytest.raises(DefinitionTypeError, match="fields= as a list"):
        mongodb.documents(orders, fields="ab")
    with pytest.raises(DefinitionValueError, match="limit= is a number of documents, not 0"):
        mongodb.documents(orders, limit=0)
    with pytest.raises(DefinitionTypeError, match="needs 'tennant', which does not exist"):
        window("fix", change("n", mongodb.count(orders, {"a": "{tennant}"})), args={"tenant": "a"})


def test_a_probe_reads_as_it_was_written(orders):
    assert repr(mongodb.documents(orders, key="sku", fields=("price",), limit=5)) == (
        "mongodb.documents(shop.orders, key='sku', fields=['price'], limit=5)"
    )
    assert repr(mongodb.count(orders)) == "mongodb.count(shop.orders)"


def test_the_password_of_the_client_is_hidden_in_every_part_of_an_error():
    refused = {"username": "ann", "password": "Connection refused", "serverSelectionTimeoutMS": 50}
    with MongoClient("127.0.0.1", 1, **refused) as client, pytest.raises(ProbeError) as caught:
        mongodb.count(client["shop"]["orders"])()

    assert "ServerSelectionTimeoutError: " in str(caught.value)
    assert "refused" not in str(caught.value)
