"""Exact output of `wire`, `plain` and `show`."""

import enum
import json
import math
import sys
from collections import OrderedDict, deque
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

import pytest

from deltaspan._state.render._render import plain, show, wire

TAG = UUID("12345678-1234-5678-1234-567812345678")
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
HUGE = 10**5000


class Status(enum.Enum):
    ACTIVE = "active"


class TextStatus(str, enum.Enum):
    ACTIVE = "active"


class Level(enum.IntEnum):
    HIGH = 3


class Point(NamedTuple):
    x: int
    y: int


class Opaque:
    """Has no text of its own."""


class Mute:
    def __repr__(self):
        raise RuntimeError("no text for you")


class Classless:
    @property
    def __class__(self):
        raise RuntimeError("no class for you")


class Faceless(type):
    @property
    def __name__(cls):
        raise RuntimeError("no name either")


class Broken(dict):
    def __len__(self):
        raise RuntimeError("no size for you")


class Liar(dict):
    def __len__(self):
        return 1_000_000


class Proud(str):
    __slots__ = ()

    def __str__(self):
        raise RuntimeError("no text for you")


def same(value, expected):
    return type(value) is type(expected) and (value == expected or math.isnan(value))


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (3, 3),
        (True, True),
        (-1.5, -1.5),
        (math.nan, math.nan),
        (math.inf, math.inf),
        ("active", "active"),
        ("", ""),
        (2**63 - 1, 2**63 - 1),
        (-(2**63), -(2**63)),
        (Level.HIGH, 3),
        (TextStatus.ACTIVE, "active"),
        (Proud("text"), "text"),
    ],
)
def test_a_number_bool_or_short_string_keeps_its_type_on_the_wire(state, expected):
    assert same(wire(state, 1024), expected)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (None, "null"),
        (2**63, "9223372036854775808"),
        (-(2**63) - 1, "-9223372036854775809"),
        (Decimal("12.50"), "12.50"),
        (Decimal("1E+1000000"), "1E+1000000"),
        (Fraction(1, 3), "1/3"),
        (Fraction(3), "3"),
        (1 + 2j, "(1+2j)"),
        (NOON, "2026-11-30T12:00:00+00:00"),
        (date(2026, 11, 30), "2026-11-30"),
        (time(12, 30), "12:30:00"),
        (TAG, "12345678-1234-5678-1234-567812345678"),
        (PurePosixPath("/var/flows"), "/var/flows"),
        (Status.ACTIVE, "Status.ACTIVE"),
        (range(3), "range(0, 3)"),
        (b"active", "active"),
        (bytearray(b"active"), "active"),
        ("naïve".encode("latin-1"), "na\\xefve"),
        (Opaque(), "<Opaque>"),
        (Mute(), "<Mute>"),
        pytest.param(Faceless("Nameless", (), {})(), "<Nameless>", id="nameless"),
    ],
)
def test_any_other_scalar_is_text_on_the_wire(state, expected):
    assert wire(state, 1024) == expected


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (timedelta(0), "PT0S"),
        (timedelta(seconds=90), "PT1M30S"),
        (timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=500), "P1DT2H3M4.5S"),
        (timedelta(days=400), "P400D"),
        (timedelta(hours=-1), "-PT1H"),
        (timedelta(microseconds=-1), "-PT0.000001S"),
        (timedelta.min, "-P999999999D"),
        (timedelta.max, "P999999999DT23H59M59.999999S"),
    ],
)
def test_a_duration_is_iso_8601_with_a_leading_sign_on_the_wire(duration, expected):
    assert wire(duration, 1024) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ((), "[]"),
        (frozenset(), "[]"),
        (MappingProxyType({}), "{}"),
        ((1, "a", None, True, 2.5), '[1,"a",null,true,2.5]'),
        ([1, 2], "[1,2]"),
        (deque([1, 2]), "[1,2]"),
        (OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
        (Point(1, 2), "[1,2]"),
        (MappingProxyType({"a": (1, MappingProxyType({"b": frozenset({2})}))}), '{"a":[1,{"b":[2]}]}'),
        ((math.nan, math.inf, -math.inf), '["NaN","Infinity","-Infinity"]'),
        ((Decimal("1.10"), NOON, b"raw"), '["1.10","2026-11-30T12:00:00+00:00","raw"]'),
        (('say "hi"\n',), '["say \\"hi\\"\\n"]'),
        ((Mute(), 1), '["<Mute>",1]'),
        ((Broken(), 1), '["<Broken>",1]'),
        ((2**64,), "[18446744073709551616]"),
        (("日本",), '["日本"]'),
    ],
)
def test_a_collection_is_compact_json_on_the_wire(state, expected):
    assert wire(state, 1024) == expected


def test_an_object_that_hides_its_class_is_shown_by_the_real_one():
    assert (wire(Classless(), 1024), plain(Classless()), show(Classless())) == ("<Classless>",) * 3


def test_a_collection_that_lies_about_its_size_is_taken_at_its_word():
    assert wire(Liar(a=1), 1024) == '{"a":1,… 999999 more keys}'
    assert plain(Liar(a=1)) == {"a": 1}


def test_keys_that_json_lacks_become_their_text():
    state = {None: 1, True: 2, 7: 3, ("acme", 3): 4, Status.ACTIVE: 5, b"raw": 6, Mute(): 7}
    assert wire(state, 1024) == (
        '{"null":1,"true":2,"7":3,"[\\"acme\\",3]":4,"Status.ACTIVE":5,"raw":6,"<Mute>":7}'
    )


def test_a_set_of_mixed_members_is_in_one_order():
    state = frozenset({"b", 10, None, "a", 2, (2, "x"), (1, "y"), Decimal("0.5"), b"z", TAG, 2.5})
    assert wire(state, 1024) == (
        '[null,2,2.5,10,"0.5","a","b","z","12345678-1234-5678-1234-567812345678",[1,"y"],[2,"x"]]'
    )


def test_nan_of_any_kind_has_a_place_in_the_order_of_a_set():
    state = frozenset({math.nan, 1.0, Decimal("NaN"), Decimal(2), "nan"})
    assert wire(state, 1024) == '[1.0,"2","nan","NaN","NaN"]'


LIMITED = {
    "what a long sequence leaves out is counted": (tuple(range(1000)), 20, "[0,1,2,3,… 996 more]"),
    "what a large set leaves out is counted and its least members are shown": (
        frozenset(range(9000, 0, -1)),
        20,
        "[1,2,3,… 8997 more]",
    ),
    "what a large mapping leaves out is counted in keys": (
        {f"k{n}": n for n in range(14)},
        33,
        '{"k0":0,"k1":1,… 12 more keys}',
    ),
    "one key left out is one key": ({"a": 1, "b": "x" * 40}, 30, '{"a":1,… 1 more key}'),
    "what a long text leaves out is counted": ("abc" * 16072, 24, "abcabc… 48210 more chars"),
    "what long bytes leave out is counted in bytes": (b"abc" * 100, 24, "abcabcab… 292 more bytes"),
    "a text that just fits is not cut": ("a" * 64, 64, "a" * 64),
    "a collection that just fits is not cut": ((1, 2, 3), 7, "[1,2,3]"),
    "a long key is cut and its value kept": ({"k" * 500: 7}, 60, '{"kkkkkkkkkkk… 489 more chars":7}'),
    "a text in a room too small for the count ends in the mark alone": ("a" * 10**6, 16, "a" * 15 + "…"),
    "a number is never cut": (1234567, 1, 1234567),
    "lone surrogates and control characters are escaped in a text": (
        "a\ud800b\x00\x7f\x9f",
        1024,
        "a\\ud800b\\u0000\\u007f\\u009f",
    ),
    "tabs and line breaks stay in a text": ("a\tb\r\nc", 1024, "a\tb\r\nc"),
    "an escape is never cut in half": ("\ud800" * 100, 40, "\\ud800" * 4 + "… 96 more chars"),
    "an integer above 640 digits is cut like any text": (-HUGE, 30, "-0x31e2080103… 4143 more chars"),
}


@pytest.mark.parametrize(("state", "max_chars", "expected"), LIMITED.values(), ids=LIMITED)
def test_a_state_on_the_wire_stays_within_its_limit(state, max_chars, expected):
    assert wire(state, max_chars) == expected


def test_a_set_over_the_sorted_size_shows_its_first_members_as_it_iterates():
    state = frozenset(f"tenant-{n}" for n in range(10_001))
    shown = wire(state, 100)
    first = [f'"{member}"' for member, _ in zip(state, range(50), strict=False)]
    assert shown.endswith(" more]")
    assert all(member in first for member in shown[1:].split(",")[:-1])


def test_one_large_item_is_cut_itself_and_does_not_hide_its_neighbours():
    state = {"orders": tuple(range(1000)), "log": "x" * 5000, "users": 3}
    assert wire(state, 150) == (
        '{"orders":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,… 982 more],'
        '"log":"xxxxxxxxx… 4991 more chars","users":3}'
    )


@pytest.mark.parametrize(
    ("max_chars", "expected"),
    [(18, "[0,1,2,… 997 more]"), (13, "[… 1000 more]"), (12, "…"), (1, "…"), (0, "")],
)
def test_a_tiny_limit_is_kept_even_without_space_for_the_count(max_chars, expected):
    assert wire(tuple(range(1000)), max_chars) == expected


def test_lone_surrogates_and_control_characters_in_a_collection_leave_its_json_valid():
    text = wire(("\ud800\x00\x9f",), 1024)
    assert text == '["\\ud800\\u0000\\u009f"]'
    assert json.loads(text) == ["\ud800\x00\x9f"]


def test_an_integer_above_640_digits_is_hexadecimal():
    assert wire(10**640, 1024) == hex(10**640)
    assert wire(10**639, 1024) == str(10**639)


def test_a_collection_within_itself_is_still_answered():
    state = [1]
    state.append(state)
    assert plain(state) == [1, "…"]
    assert wire(state, 40).startswith("[1,[1,[1,")
    assert len(show(state)) <= 120


def test_plain_returns_only_json_types():
    state = MappingProxyType(
        {
            "tags": frozenset({"b", "a"}),
            "at": NOON,
            "rows": ((1, None), b"\xff"),
            "ratio": math.nan,
            7: Level.HIGH,
        }
    )
    assert plain(state) == {
        "tags": ["a", "b"],
        "at": "2026-11-30T12:00:00+00:00",
        "rows": [[1, None], "\\xff"],
        "ratio": "NaN",
        "7": 3,
    }


def test_plain_gives_subclasses_as_the_types_that_json_knows():
    assert [type(value) for value in plain((Level.HIGH, TextStatus.ACTIVE, Proud("x")))] == [int, str, str]


def test_plain_keeps_integers_up_to_640_digits():
    assert plain((2**64, 10**639)) == [2**64, 10**639]


def test_plain_writes_a_larger_integer_so_that_python_reads_it_back():
    assert int(plain(HUGE), 0) == HUGE


def test_plain_loses_no_value_to_keys_of_equal_text():
    assert plain({1: "a", "1": "b", "1 #2": "c", Opaque(): "d", Opaque(): "e"}) == {
        "1": "a",
        "1 #2": "b",
        "1 #2 #2": "c",
        "<Opaque>": "d",
        "<Opaque> #2": "e",
    }


def test_plain_cuts_nothing():
    assert plain(tuple(range(100_000))) == list(range(100_000))


def test_plain_supports_the_maximum_depth_of_a_state():
    state = ()
    for _ in range(100):
        state = (state,)
    assert "…" not in json.dumps(plain(state), ensure_ascii=False)


def test_plain_gives_json_that_can_be_dumped_of_a_state_deeper_than_that():
    state = ()
    for _ in range(100_000):
        state = (state,)
    assert json.dumps(plain(state), ensure_ascii=False) == "[" * 101 + '"…"' + "]" * 101


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (3, "3"),
        (None, "None"),
        (True, "True"),
        (2.5, "2.5"),
        (math.nan, "nan"),
        ("active", "'active'"),
        ("line\nbreak", "'line\\nbreak'"),
        (b"raw", "b'raw'"),
        (Decimal("12.50"), "12.50"),
        (Fraction(1, 3), "1/3"),
        (Status.ACTIVE, "Status.ACTIVE"),
        (TextStatus.ACTIVE, "TextStatus.ACTIVE"),
        (Level.HIGH, "Level.HIGH"),
        (timedelta(days=1, hours=2), "1 day, 2:00:00"),
        (timedelta(minutes=-5), "-0:05:00"),
        (NOON, "2026-11-30T12:00:00+00:00"),
        (TAG, "12345678-1234-5678-1234-567812345678"),
        ((), "[]"),
        (frozenset(), "set()"),
        (MappingProxyType({}), "{}"),
        ((1, "a"), "[1, 'a']"),
        (frozenset({"beta", "acme"}), "{'acme', 'beta'}"),
        (MappingProxyType({"a": (1, None), 2: TAG}), f"{{'a': [1, None], 2: {TAG}}}"),
        (Opaque(), "<Opaque>"),
        (Mute(), "<Mute>"),
        (Broken(), "<Broken>"),
        ((Broken(), Mute()), "[<Broken>, <Mute>]"),
    ],
)
def test_a_state_reads_in_a_sentence_as_in_python(state, expected):
    assert show(state) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (tuple(range(1, 100)), "[1, 2, 3, 4, 5, … 94 more]"),
        (frozenset({"acme", "beta", "gamma", "delta"}), "{'acme', 'beta', … 2 more}"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, "{'a': 1, … 3 more keys}"),
        ("x" * 1000, "'xxxxxxxxx… 991 more chars'"),
        (b"x" * 1000, "b'xxxxxxxx… 992 more bytes'"),
    ],
)
def test_items_that_a_sentence_leaves_out_are_counted(state, expected):
    assert show(state, 28) == expected


def test_the_text_of_an_unknown_object_stays_on_one_line_of_a_sentence():
    class Report:
        def __repr__(self):
            return "two\nlines"

    assert show(Report()) == "two\\u000alines"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a combination of flags has no name before")
def test_a_combination_of_flags_is_named():
    access = enum.Flag("Access", "READ WRITE")
    assert show(access.READ | access.WRITE) == "Access.READ|WRITE"


def test_a_number_of_a_foreign_library_is_a_number():
    class Int64:
        def __int__(self):
            return 7

    Integral.register(Int64)
    assert same(wire(Int64(), 1024), 7)
