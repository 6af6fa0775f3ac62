"""States as maps and arrays of telemetry, within a number of characters and levels."""

import pytest
from opentelemetry.exporter.otlp.proto.common._internal import _encode_value

from deltaspan._state.render import structured


@pytest.mark.parametrize(
    ("state", "value"),
    [
        (None, "null"),
        (3, 3),
        ("text", "text"),
        (2**70, str(2**70)),
        ((1, 2.5, None, True), [1, 2.5, None, True]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({7: {"x": ()}}, {"7": {"x": []}}),
        ({"": 1}, {'""': 1}),
        ({1: "number", "1": "text"}, {"1": "number", "1 #2": "text"}),
        ({"a": {"b": {"c": {"d": 1}}}}, {"a": {"b": {"c": '{"d":1}'}}}),
    ],
)
def test_a_state_keeps_its_structure_for_three_levels(state, value):
    assert structured(state, 1024) == value


def test_items_without_room_are_counted():
    assert structured(tuple(range(1000)), 5) == [0, 1, 2, 3, 4, "… 995 more"]


def test_keys_without_room_are_counted():
    value = structured({f"k{i}": "v" * 20 for i in range(500)}, 80)

    assert value == {"k0": "v" * 20, "k1": "v" * 20, "k2": "v" * 20, "…": "497 more keys"}


def test_the_count_of_keys_does_not_replace_a_key_of_the_state():
    value = structured({"…": "x" * 10, "b": "y" * 30, "c": "z" * 100}, 45)

    assert value == {"…": "x" * 10, "b": "y" * 30, "… #2": "1 more key"}


def test_a_text_within_is_cut_to_the_room_that_is_left():
    value = structured({"a": "x" * 1000}, 64)

    assert len(value["a"]) <= 63
    assert value["a"].endswith("more chars")


def test_an_object_whose_class_raises_is_named():
    class Broken(dict):
        def items(self):
            raise RuntimeError

    assert structured((Broken(a=1),), 100) == ["<Broken>"]


def test_each_number_within_can_be_encoded():
    _encode_value(structured((2**70, -(2**70), float("nan"), float("inf")), 200))
