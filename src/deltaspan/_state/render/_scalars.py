"""The shapes of collections, and the plain scalars of everything else.

A scalar is safe for any encoder.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Integral, Real
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Literal, TypeAlias
from uuid import UUID

from deltaspan._guard import class_name
from deltaspan._interrupts import let_through
from deltaspan._state.record import Record
from deltaspan._state.render._hiding import hides_itself, masked_text

MAX_DECIMAL_BITS = 2126
"""Larger integers (over 640 digits) are hexadecimal text: Python may refuse to write their decimals."""

Scalar: TypeAlias = bool | int | float | str | bytes | None
Text: TypeAlias = str | bytes
TEXTS = (str, bytes)  # a union would be built at each isinstance
Shape: TypeAlias = Literal["sequence", "set", "mapping"] | None


@dataclass(frozen=True, slots=True)
class Words:
    """A text that replaces a value that cannot be rendered.

    It is not a string, so that a sentence shows it without quotes.
    """

    text: str

    @classmethod
    def of(cls, value: object) -> Words:
        return cls(f"<{class_name(type(value))}>")


_SHAPES: dict[type, Shape] = {
    tuple: "sequence",
    list: "sequence",
    deque: "sequence",
    frozenset: "set",
    set: "set",
    MappingProxyType: "mapping",
    Record: "mapping",
    dict: "mapping",
}


def shape_of(kind: type) -> Shape:
    # By the class and not by isinstance, which an object can deceive.
    if kind in _SCALARS:
        return None
    if kind in _SHAPES:
        return _SHAPES[kind]
    if hides_itself(kind):
        return None
    return next((_SHAPES[base] for base in kind.__mro__ if base in _SHAPES), None)


def _integer(value: int) -> int | str:
    number = int.__int__(value)
    return number if number.bit_length() <= MAX_DECIMAL_BITS else hex(number)


def _fraction(value: Fraction) -> str:
    top, bottom = _integer(value.numerator), _integer(value.denominator)
    return str(top) if bottom == 1 else f"{top}/{bottom}"


def _duration(value: timedelta) -> str:
    sign, size = ("-", -value) if value.days < 0 else ("", value)
    hours, rest = divmod(size.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    exact = f"{seconds}.{size.microseconds:06d}".rstrip("0").rstrip(".")
    days = f"{size.days}D" if size.days else ""
    clock = "".join((f"{hours}H" * bool(hours), f"{minutes}M" * bool(minutes), f"{exact}S" * (exact != "0")))
    return f"{sign}P{days}{clock and 'T' + clock}" if value else "PT0S"


def enum_text(value: Enum) -> str:
    kind, name = type(value).__name__, value.name
    # A combination of flags has no name before Python 3.11.
    return f"{kind}.{name}" if isinstance(name, str) else f"{kind}({value.value!r})"


_SCALARS: dict[type, Callable[[Any], Scalar]] = {
    type(None): lambda _: None,
    bool: lambda value: value,
    int: _integer,
    float: float.__float__,
    str: str.__str__,
    bytes: lambda value: b"".join((value,)),  # itself, but exactly bytes
    bytearray: bytes,
    Decimal: str,
    Fraction: _fraction,
    complex: str,
    timedelta: _duration,
    date: date.isoformat,
    datetime: lambda value: value.isoformat(),
    time: lambda value: value.isoformat(),
    UUID: str,
    PurePath: str,
    range: str,
    Enum: enum_text,
    Words: lambda words: words.text,
}


_UNWRITTEN: tuple[object, object] = (object.__str__, object.__repr__)


def as_scalar(value: object) -> Scalar:
    try:
        scalar = _scalar_of(value, type(value))
        # The answer of a class may be of a subclass, whose methods are not trusted.
        return str.__str__(scalar) if isinstance(scalar, str) else scalar
    except BaseException as error:  # the text may even raise SystemExit
        let_through(error)
        return Words.of(value).text


def _scalar_of(value: object, kind: type) -> Scalar:
    if kind not in _SCALARS and hides_itself(kind):
        return masked_text(value)
    for base in kind.__mro__:
        if base in _SCALARS:
            return _SCALARS[base](value)
    if isinstance(value, Integral):  # those of numpy, which are not int
        return _integer(int(value))
    if isinstance(value, Real):
        return float(value)
    if (kind.__str__, kind.__repr__) == _UNWRITTEN:
        return Words.of(value).text  # without the address, which differs each time
    return str(value)


_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_BREAKS_TOO = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_quote = json.JSONEncoder(ensure_ascii=False).encode


def _text(raw: Text) -> str:
    return raw if isinstance(raw, str) else raw.decode("utf-8", "backslashreplace")


def _escape(pattern: re.Pattern[str], text: str) -> str:
    return text if text.isprintable() else pattern.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def escape_surrogates(raw: Text) -> str:
    return _escape(_SURROGATES, _text(raw))


def escape(raw: Text) -> str:
    return _escape(_CONTROLS, _text(raw))


def json_string(raw: Text) -> str:
    # JSON leaves surrogates and upper control characters as they are; our escape is also JSON's.
    return _escape(_CONTROLS, _quote(_text(raw)))


def one_line(raw: str) -> str:
    return _escape(_LINE_BREAKS_TOO, raw)
