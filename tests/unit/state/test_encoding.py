"""Frozen states survive encoding: equal, of the same types, down to the sign of zero."""

from __future__ import annotations

import json
import math
from collections import namedtuple
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deltaspan._state.codec import Unreadable, Unwritable, canonical, decode, encode
from deltaspan._state.diff import equal
from deltaspan._state.snapshot import freeze


class Color(Enum):
    RED = 1


class Name(str):
    __slots__ = ()


def there_and_back(value):
    return decode(json.loads(json.dumps(encode(value))))


offsets = st.integers(-86_399_999_999, 86_399_999_999).map(
    lambda microseconds: timezone(timedelta(microseconds=microseconds))
)
for_any = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**60, 2**5000)
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.just(Decimal("NaN"))
    | st.fractions()
    | st.datetimes(timezones=st.none() | offsets)
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.uuids()
)
keys = scalars | st.tuples(scalars, scalars)
states = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4).map(tuple)
        | st.frozensets(keys | st.frozensets(keys, max_size=3), max_size=4)
        | st.dictionaries(keys, inner, max_size=4).map(MappingProxyType)
    ),
    max_leaves=20,
)


def same(a, b):
    """Return whether two values have equal contents, types and repr at every depth."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, MappingProxyType):
        return same(tuple(a.items()), tuple(b.items()))
    if isinstance(a, frozenset):
        return len(a) == len(b) and equal(a, b)
    return repr(a) == repr(b) if isinstance(a, float | Decimal) else a == b


@for_any
@given(states)
def test_a_frozen_state_read_back_is_the_state(state):
    back = there_and_back(state)

    assert equal(state, back)
    assert same(state, back)


@for_any
@given(states)
def test_equal_states_have_one_text_and_it_is_ascii(state):
    text = canonical(encode(state))

    assert text.isascii()
    assert canonical(encode(decode(json.loads(text)))) == text


@for_any
@given(st.lists(st.integers() | st.text(), unique=True))
def test_the_order_of_a_set_does_not_show(members):
    assert encode(frozenset(members)) == encode(frozenset(reversed(members)))


plain = st.none() | st.integers() | st.text()


@for_any
@given(
    st.recursive(
        plain,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain, inner, max_size=4),
        max_leaves=20,
    )
)
def test_the_lists_and_dicts_of_arguments_stay_lists_and_dicts(value):
    back = there_and_back(value)

    assert back == value
    assert type(back) is type(value)


EXACT = {
    "a huge integer": (10**5000, {"int": hex(10**5000)}),
    "the largest integer that JSON keeps": (2**53 - 1, 2**53 - 1),
    "an integer beyond": (2**53, {"int": "0x20000000000000"}),
    "a bool": (True, True),
    "a whole float": (1.0, {"float": "1.0"}),
    "negative zero": (-0.0, {"float": "-0.0"}),
    "infinity": (math.inf, {"float": "inf"}),
    "a character beyond 16 bits": ("\N{GRINNING FACE}", "\N{GRINNING FACE}"),
    "two lone surrogates": ("\ud83d\ude00", {"surrogates": "7aC97biA"}),
    "bytes": (b"\x00\xff", {"bytes": "AP8="}),
    "a Decimal with its zeros": (Decimal("1.500"), {"decimal": "1.500"}),
    "a Fraction": (Fraction(-1, 3), {"fraction": [-1, 3]}),
    "a date": (date(2026, 2, 28), {"date": "2026-02-28"}),
    "a time": (time(1, 2, 3, 4), {"time": ["01:02:03.000004", 0, None]}),
    "a timedelta": (timedelta(-1, 2, 3), {"timedelta": [-1, 2, 3]}),
    "a UUID": (UUID(int=1), {"uuid": "00000000-0000-0000-0000-000000000001"}),
    "a tuple": ((1, (2,)), [1, [2]]),
    "a set": (frozenset({"b", "a"}), {"frozenset": ["a", "b"]}),
    "a mapping with keys of any kind": (
        MappingProxyType({("a", 1): None, 2: True}),
        {"mapping": [[["a", 1], None], [2, True]]},
    ),
}


@pytest.mark.parametrize(("value", "written"), EXACT.values(), ids=EXACT)
def test_each_kind_has_one_form(value, written):
    assert encode(value) == written
    assert same(there_and_back(value), value)


def test_nan_is_read_back_as_nan():
    assert math.isnan(there_and_back(math.nan))


def test_an_aware_datetime_keeps_its_instant_and_offset():
    there = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))
    back = there_and_back(there)

    assert equal(back, there)
    assert (back.utcoffset(), back.fold) == (timedelta(hours=1), 1)


REFUSED = {
    "an Enum": (Color.RED, "a Color"),
    "an object": (object(), "an object"),
    "a path": (PurePosixPath("/"), "a PurePosixPath"),
    "a subclass of text": (Name("x"), "a Name"),
    "a named tuple": (namedtuple("Row", "id")(1), "a Row"),  # noqa: PYI024  # a plain one is tested
    "a time in a zone that needs a date": (time(1, tzinfo=ZoneInfo("Europe/Berlin")), "a time"),
    "one deep within": (freeze({"orders": [{"at": 1}, {"at": Color.RED}]}), "a Color at orders/1/at"),
    "a member of a set": (freeze({"tags": {Color.RED}}), "a Color at tags"),
    "a key": (freeze({"by": {Color.RED: 1}}), "a Color at by"),
}


@pytest.mark.parametrize(("value", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_value_without_an_exact_encoding_is_refused_with_its_path(value, sentence):
    with pytest.raises(Unwritable) as caught:
        encode(value)

    assert str(caught.value) == sentence


UNREADABLE = {
    "an unknown kind": {"module": "os"},
    "no kind": {},
    "two kinds": {"float": "1", "int": "0x1"},
    "a bare float": 1.5,
    "text that is no number": {"float": "one"},
    "bytes that are not base64": {"bytes": "?"},
    "a fraction of zero": {"fraction": [1, 0]},
    "a mapping of no pairs": {"mapping": [1]},
    "a key that does not hash": {"mapping": [[{"list": []}, 1]]},
    "a date that never was": {"date": "2026-02-30"},
}


@pytest.mark.parametrize("encoded", UNREADABLE.values(), ids=UNREADABLE)
def test_a_document_that_encode_never_writes_is_refused(encoded):
    with pytest.raises(Unreadable):
        decode(encoded)
