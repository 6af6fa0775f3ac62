"""Fields in what a probe is given: plain names, filled with plain values."""

from enum import Enum
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspan._templates import fields_of, fill
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes import files, http, prometheus


def test_the_names_of_all_texts_are_returned_once_and_in_order():
    assert fields_of("{root}/{tenant}", "{tenant}-{day}", "plain") == ("root", "tenant", "day")


def test_fields_are_filled_with_text_numbers_identifiers_and_paths():
    values = {"a": "x", "b": 3, "c": UUID(int=1), "d": Path("/srv")}

    assert fill("{a}/{b}/{c}{d}", values) == f"x/3/{UUID(int=1)}/srv"


def test_a_brace_is_written_twice():
    assert (fields_of("HEAD@{{1}}"), fill("HEAD@{{1}}", {})) == ((), "HEAD@{1}")


def test_a_path_is_meant_as_it_is_written():
    assert (fields_of(Path("{a}")), fill(Path("{a}"), {})) == ((), "{a}")


def test_a_value_is_not_read_for_fields_again():
    assert fill("{a}", {"a": "{b}", "b": "secret"}) == "{b}"


@pytest.mark.parametrize("value", ["", type("Empty", (str,), {})()])
def test_an_empty_value_is_rejected_as_it_would_name_a_larger_place(value):
    with pytest.raises(ValueError, match=r"the field \{tenant\} is empty"):
        fill("lake/{tenant}", {"tenant": value})


@given(st.text(min_size=1))
def test_a_value_replaces_its_field_literally(value):
    assert fill("<{a}>", {"a": value}) == f"<{value}>"


@pytest.mark.parametrize("text", ["{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>9}", "{a", "a}", "{a b}"])
def test_what_is_more_or_less_than_a_name_is_rejected(text):
    with pytest.raises(DefinitionValueError, match="to write a brace, double it"):
        fields_of(text)


@pytest.mark.parametrize("text", [None, 3, b"bytes", ["a"]])
def test_what_is_neither_text_nor_a_path_is_rejected(text):
    with pytest.raises(DefinitionTypeError, match="a template is a str or a path"):
        fields_of(text)


@pytest.mark.parametrize("value", [None, True, 1.5, b"x", ["a"], object()])
def test_a_value_that_has_no_plain_text_is_rejected(value):
    with pytest.raises(TypeError, match=r"the field \{a\} takes text, a number or a path, not a "):
        fill("{a}", {"a": value})


class Tenant(str, Enum):  # its str() is another text, that of a StrEnum is not
    ACME = "acme"


class Level(int, Enum):
    HIGH = 3


@pytest.mark.parametrize(
    ("value", "own", "text"), [(Tenant.ACME, "acme", "Tenant.ACME"), (Level.HIGH, 3, "Level.HIGH")]
)
def test_a_member_of_an_enum_that_is_two_texts_is_rejected(value, own, text):
    with pytest.raises(TypeError, match=rf"may be written as '{own}' or as '{text}'; pass its value"):
        fill("cart:{a}", {"a": value})


@pytest.mark.parametrize(
    "make",
    [
        lambda: files.text("{class}/notes"),
        lambda: http.json("https://host/{class}"),
        lambda: prometheus.value("http://host", 'up{job="$class"}'),
    ],
)
def test_a_field_that_can_be_the_name_of_no_argument_is_rejected(make):
    with pytest.raises(DefinitionValueError, match="'class' cannot be the name of an argument"):
        make()
