"""Frozen states as what people and wires read: `wire` for attributes, `plain` for JSON, `show` for sentences.

All three are total: they answer whatever they are given; an object whose own text raises is `<ClassName>`.
`wire` and `show` do bounded work too: what will not be shown is neither rendered nor sorted, only counted.
The one thing that they cannot bound is the `str()` of a class they do not know.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import deque
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from heapq import nsmallest
from itertools import islice
from numbers import Integral, Real
from pathlib import PurePath
from types import MappingProxyType
from typing import Final, TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = ["plain", "show", "wire"]

_MAX_DEPTH = 101
"""More levels are `…`. No frozen state has them, and no reader of JSON need follow them."""

_MAX_SORTED = 10_000
"""A larger set that must be cut shows its first members as it iterates: ordering all would be unbounded."""

_MAX_DECIMAL_BITS = 2126
"""Larger integers (over 640 digits) are hexadecimal text: Python may refuse to write their decimals."""

_WORTH_CUTTING = 32
"""With less room than this an item of a collection is left out and counted, rather than shown in part."""

_Scalar: TypeAlias = bool | int | float | str | bytes | None
_Text: TypeAlias = str | bytes
_TEXTS = (str, bytes)  # a union would be built anew at each isinstance
_Shape: TypeAlias = Literal["sequence", "set", "mapping"] | None


def wire(value: object, max_chars: int) -> bool | int | float | str:
    r"""Render a state as the value of a span or event attribute.

    Booleans, floats (NaN and infinities too), integers of 64 bits and short strings stay what they are, as do
    their subclasses, so an `IntEnum` or a `str` enum is its value. All else is text of at most `max_chars`
    characters that any UTF-8 encoder takes: control characters and lone surrogates are escaped as `\u0000`.

    - None is `null`. Larger integers are decimal; above 640 digits, hexadecimal.
    - Decimals and fractions are exact; dates and times are ISO 8601. So is a duration, with a leading sign
      and days as its largest unit: `-P1DT2H3M4.5S`; zero is `PT0S`.
    - Bytes are read as UTF-8, with `\xff` for what is not. An enum without a value type is `Status.ACTIVE`.
    - Collections are compact JSON; keys, and values that JSON lacks, are written as their text.

    What does not fit is counted: `[1,2,… 997 more]`, `{"a":1,… 12 more keys}`, `abc… 48213 more chars`. An
    item too large for what is left takes half of it, so that one large value does not hide its neighbours.

    The members of a set are in order: None, numbers, strings, all else by class. Equal sets render equally,
    but for one of over 10 000 members that must be cut: it shows its first members in iteration order, which
    may differ between processes.

    Args:
        value: a frozen state.
        max_chars: the most characters of a text; a number is never cut.

    Returns:
        A value of a type that OTLP has.

    Example:
        >>> wire(3, 1024), wire("active", 1024)
        (3, 'active')
        >>> wire(frozenset({"beta", "acme"}), 1024)
        '["acme","beta"]'
        >>> wire(tuple(range(1000)), 20)
        '[0,1,2,3,… 996 more]'
    """
    kind = type(value)
    if kind is str:
        # Printable means neither control characters nor surrogates: the usual text goes out as it is.
        if len(value) <= max_chars and value.isprintable():  # type: ignore[arg-type,attr-defined]
            return value  # type: ignore[return-value]
    elif kind is float or kind is bool or (kind is int and -(2**63) <= value < 2**63):  # type: ignore[operator]
        return value  # type: ignore[return-value]
    try:
        if _shape(kind) is not None:
            return _JSON.fit(value, max_chars)
    except Exception:
        value = _Words.of(value)
    scalar = _scalar(value)
    if isinstance(scalar, float | bool) or (isinstance(scalar, int) and -(2**63) <= scalar < 2**63):
        return scalar
    raw = scalar if isinstance(scalar, _TEXTS) else _json_leaf(scalar).raw
    return _fit_leaf(_Leaf(raw, _escaped, 0), max_chars)


def plain(value: object) -> Any:
    """Convert a state to the values that JSON has, uncut: `json.dumps` always takes the result.

    Scalars are those of `wire`, but None stays None and integers stay integers up to 640 digits; NaN and
    infinities, which JSON lacks, become text. Sequences and sets are lists, sets in the order of `wire`;
    mappings keep theirs. Keys become text; a second key with the same text is told apart by `#2`. Only
    what no frozen state has is left out, as `…`: a collection within itself, or below 101 others.

    Args:
        value: a frozen state.

    Returns:
        A dict, list, str, int, float, bool or None, and nothing else within.

    Example:
        >>> plain({"tags": frozenset({"b", "a"}), 7: (None, float("nan"))})
        {'tags': ['a', 'b'], '7': [None, 'NaN']}
    """
    return _plain(value, set())


def show(value: object, max_chars: int = 120) -> str:
    """Render a state as it reads in a sentence, on one line.

    Strings are quoted; numbers, decimals, dates and the like are bare. Collections are as in Python, though a
    tuple reads as the list that it was, and are cut as in `wire`.

    Args:
        value: a frozen state.
        max_chars: the most characters of the text.

    Returns:
        One line of at most `max_chars` characters.

    Example:
        >>> show(frozenset({"beta", "acme"})), show(Decimal("12.50")), show("active")
        ("{'acme', 'beta'}", '12.50', "'active'")
        >>> show((1, 2, 3, 4, 5, 6, 7), max_chars=20)
        '[1, 2, 3, … 4 more]'
    """
    if type(value) is int and -_SHORT_INT < value < _SHORT_INT and max_chars >= _SHORT_INT_CHARS:
        return str(value)
    return _PYTHON.fit(value, max_chars)


_SHORT_INT: Final = 10**15
_SHORT_INT_CHARS: Final = 16


class _Leaf(NamedTuple):
    """A value that is no collection: what it says, how that is written, how many characters close it."""

    raw: _Text
    write: Callable[[Any], str]
    closing: int


@dataclass(frozen=True, slots=True)
class _Words:
    """What stands in for a value that cannot be rendered; no string, so that a sentence has it bare."""

    text: str

    @classmethod
    def of(cls, value: object) -> _Words:
        try:
            return cls(f"<{type(value).__name__}>")
        except Exception:  # a metaclass can make even its name raise
            return cls("<object>")


@dataclass(frozen=True, slots=True)
class _Style:
    """One way to write collections.

    Each method takes the room it has, in characters, and how deep it is. `whole` leaves nothing out, and
    answers None when that does not fit; `cut` is for what does not fit, and says how much is missing.
    """

    comma: str
    colon: str
    brackets: Mapping[_Shape, tuple[str, str]]
    empty_set: str
    leaf: Callable[[object], _Leaf]
    key: Callable[[object, int], object]

    def fit(self, value: object, room: int, depth: int = 0) -> str:
        whole = self.whole(value, room, depth)
        return self.cut(value, room, depth) if whole is None else whole

    def whole(self, value: object, room: int, depth: int) -> str | None:
        kind = type(value)
        if kind is int and -(10**9) < value < 10**9:  # type: ignore[operator]
            text = str(value)  # what most collections hold, and every style writes the same
            return text if len(text) <= room else None
        try:
            shape = _shape(kind)
            if shape is not None and depth < _MAX_DEPTH:
                return self._whole_collection(value, shape, room, depth)
            leaf = self.leaf(_Words("…") if shape else value)
        except Exception:
            leaf = self.leaf(_Words.of(value))
        # Not even escaped or decoded when it cannot fit; four bytes of UTF-8 may be one character.
        return text if len(leaf.raw) <= 4 * room and len(text := leaf.write(leaf.raw)) <= room else None

    def _whole_collection(self, value: Any, shape: _Shape, room: int, depth: int) -> str | None:
        size = len(value)
        opening, closing = self.brackets[shape]
        if not size and shape == "set":
            opening, closing = self.empty_set, ""
        room -= len(opening) + len(closing) + len(self.comma) * max(size - 1, 0)
        if size > room and size:  # each item takes a character at least
            return None
        parts = []
        for item in _items(value, shape, size):
            part = self._whole_item(item, shape, room, depth + 1)
            if part is None:
                return None
            parts.append(part)
            room -= len(part)
        return opening + self.comma.join(parts) + closing if room >= 0 else None

    def cut(self, value: object, room: int, depth: int) -> str:
        try:
            shape = _shape(type(value))
            if shape is not None and depth < _MAX_DEPTH:
                return self._cut_collection(value, shape, room, depth)
            leaf = self.leaf(_Words("…") if shape else value)
        except Exception:
            leaf = self.leaf(_Words.of(value))
        return _fit_leaf(leaf, room)

    def _cut_collection(self, value: Any, shape: _Shape, room: int, depth: int) -> str:
        missing = len(value)
        opening, closing = self.brackets[shape]
        unit = " key" if shape == "mapping" else ""
        parts: list[str] = []
        # Invariant: what is written so far and a count of all that is missing fit into the room.
        used = len(opening)
        if not missing or used + len(_more(missing, unit)) + len(closing) > room:
            return "…"[: max(room, 0)]
        for item in _items(value, shape, min(missing, room // 2)):
            gap = len(self.comma) if parts else 0
            reserve = len(self.comma) + len(_more(missing - 1, unit)) if missing > 1 else 0
            space = room - used - gap - reserve - len(closing)
            part = self._whole_item(item, shape, space, depth + 1)
            share = space // 2 if missing > 1 else space
            if part is None and share >= _WORTH_CUTTING:
                part = self._cut_item(item, shape, share, depth + 1)
            if part is None:
                break
            parts.append(part)
            used += gap + len(part)
            missing -= 1
        if missing:
            parts.append(_more(missing, unit))
        return opening + self.comma.join(parts) + closing

    def _whole_item(self, item: Any, shape: _Shape, room: int, depth: int) -> str | None:
        if shape != "mapping":
            return self.whole(item, room, depth)
        key = self.whole(self.key(item[0], room), room, depth)
        if key is None:
            return None
        value = self.whole(item[1], room - len(key) - len(self.colon), depth)
        return None if value is None else key + self.colon + value

    def _cut_item(self, item: Any, shape: _Shape, room: int, depth: int) -> str:
        if shape != "mapping":
            return self.cut(item, room, depth)
        key = self.fit(self.key(item[0], room // 2), room // 2, depth) + self.colon
        return key + self.fit(item[1], room - len(key), depth)


def _more(count: int, unit: str) -> str:
    return f"… {count} more{unit}{'s' if unit and count != 1 else ''}"


def _fit_leaf(leaf: _Leaf, room: int) -> str:
    raw, write, closing = leaf
    if len(raw) <= 4 * room and len(text := write(raw)) <= room:
        return text
    total, unit = len(raw), " char" if isinstance(raw, str) else " byte"
    for counted in (True, False):  # where even the count has no room, the mark alone
        reserve = len(_more(total, unit)) if counted else 1
        keep = min(room - reserve, total)
        while keep >= 0:
            text = write(raw[:keep])
            excess = len(text) + reserve - room
            if excess <= 0:
                tail = _more(total - keep, unit) if counted else "…"
                end = len(text) - closing
                return text[:end] + tail + text[end:]
            keep -= max(1, excess // 10)  # no escape has over ten characters
    return "…"[: max(room, 0)]


def _items(value: Any, shape: _Shape, most: int) -> Iterable[Any]:
    if shape == "set":
        return _ordered(value, most)
    return islice(value.items() if shape == "mapping" else value, most)


def _ordered(members: Collection[Any], most: int) -> list[Any]:
    some = list(members if len(members) <= max(_MAX_SORTED, most) else islice(members, most))
    kinds = {*map(type, some)}
    key = None if kinds in ({str}, {int}) else _order
    return sorted(some, key=key) if most >= len(some) else nsmallest(most, some, key=key)


def _order(value: Any) -> tuple[Any, ...]:
    """Key of a total order: ranks differ unless the rest compares."""
    kind = type(value)
    if kind is str or kind is int:
        return (3 if kind is str else 1, value)
    try:
        shape = _shape(kind)
        if shape is None:
            return _scalar_order(value, kind)
        keys = list(map(_order, value))
        return (7, *sorted(keys)) if shape == "set" else (6, *keys)
    except Exception:
        return (8, _Words.of(value).text)


def _scalar_order(value: Any, kind: type) -> tuple[Any, ...]:
    # What is not equal to itself, in all its forms, is NaN and has no order but that of its text.
    if kind in (Decimal, Fraction, timedelta) and value == value:  # noqa: PLR0124
        return (2, kind.__name__, value)
    scalar = _scalar(value)
    if scalar is None:
        return (0,)
    if isinstance(scalar, int | float) and scalar == scalar:  # noqa: PLR0124
        return (1, scalar)
    if isinstance(scalar, bytes):
        return (4, scalar)
    return (3, scalar) if issubclass(kind, str) else (5, kind.__name__, str(scalar))


def _plain(value: object, above: set[int]) -> Any:
    try:
        shape = _shape(type(value))
        if shape is None:
            scalar = _scalar(value)
            if isinstance(scalar, float) and not math.isfinite(scalar):
                return _json_leaf(scalar).raw
            return _encodable(scalar) if isinstance(scalar, _TEXTS) else scalar
        if id(value) in above or len(above) == _MAX_DEPTH:
            return "…"
        above.add(id(value))
        try:
            items = _items(value, shape, sys.maxsize)
            if shape != "mapping":
                return [_plain(item, above) for item in items]
            return _plain_mapping(items, above)
        finally:
            above.discard(id(value))
    except Exception:
        return _encodable(_Words.of(value).text)


def _plain_mapping(items: Iterable[tuple[object, object]], above: set[int]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    seen: dict[str, int] = {}
    for key, value in items:
        text = unique = _encodable(_json_key(key, sys.maxsize))
        while unique in result:
            seen[text] = seen.get(text, 1) + 1
            unique = f"{text} #{seen[text]}"
        result[unique] = _plain(value, above)
    return result


_SHAPES: dict[type, _Shape] = {
    tuple: "sequence",
    list: "sequence",
    deque: "sequence",
    frozenset: "set",
    set: "set",
    MappingProxyType: "mapping",
    dict: "mapping",
}


def _shape(kind: type) -> _Shape:
    # By the class and not by isinstance, which asks the object what it pretends to be.
    if kind in _SCALARS:
        return None
    return next((_SHAPES[base] for base in kind.__mro__ if base in _SHAPES), None)


def _integer(value: int) -> int | str:
    number = int.__int__(value)
    return number if number.bit_length() <= _MAX_DECIMAL_BITS else hex(number)


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


def _enum(value: Enum) -> str:
    kind, name = type(value).__name__, value.name
    # A combination of flags has no name before Python 3.11.
    return f"{kind}.{name}" if isinstance(name, str) else f"{kind}({value.value!r})"


_SCALARS: dict[type, Callable[[Any], _Scalar]] = {
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
    Enum: _enum,
    _Words: lambda words: words.text,
}


_UNWRITTEN: tuple[object, object] = (object.__str__, object.__repr__)


def _scalar(value: object) -> _Scalar:
    try:
        scalar = _scalar_of(value, type(value))
        # What a class answers may be of a class of its own, and we only trust the real ones.
        return str.__str__(scalar) if isinstance(scalar, str) else scalar
    except Exception:
        return _Words.of(value).text


def _scalar_of(value: object, kind: type) -> _Scalar:
    for base in kind.__mro__:
        if base in _SCALARS:
            return _SCALARS[base](value)
    if isinstance(value, Integral):  # numpy's, which are no int
        return _integer(int(value))
    if isinstance(value, Real):
        return float(value)
    if (kind.__str__, kind.__repr__) == _UNWRITTEN:
        return _Words.of(value).text  # without the address, which says nothing and differs each time
    return str(value)


_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_BREAKS_TOO = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_quoted = json.JSONEncoder(ensure_ascii=False).encode


def _text(raw: _Text) -> str:
    return raw if isinstance(raw, str) else raw.decode("utf-8", "backslashreplace")


def _escape(pattern: re.Pattern[str], text: str) -> str:
    return text if text.isprintable() else pattern.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _encodable(raw: _Text) -> str:
    return _escape(_SURROGATES, _text(raw))


def _escaped(raw: _Text) -> str:
    return _escape(_CONTROLS, _text(raw))


def _json_string(raw: _Text) -> str:
    # JSON leaves surrogates and upper control characters as they are; our escape is also JSON's.
    return _escape(_CONTROLS, _quoted(_text(raw)))


_JSON_WORDS = {None: "null", True: "true", False: "false"}


def _json_leaf(value: object) -> _Leaf:
    scalar = value if type(value) is str else _scalar(value)
    if isinstance(scalar, _TEXTS):
        return _Leaf(scalar, _json_string, 1)
    if isinstance(scalar, float) and not math.isfinite(scalar):
        name = "NaN" if math.isnan(scalar) else "Infinity" if scalar > 0 else "-Infinity"
        return _Leaf(name, _json_string, 1)
    return _Leaf(_JSON_WORDS[scalar] if scalar is None or isinstance(scalar, bool) else repr(scalar), str, 0)


def _json_key(key: object, room: int) -> _Text:
    if type(key) is str:
        return key
    try:
        return _json_leaf(key).raw if _shape(type(key)) is None else _JSON.fit(key, room)
    except Exception:
        return _Words.of(key).text


def _bare(raw: str) -> str:
    return _escape(_LINE_BREAKS_TOO, raw)


def _python_leaf(value: Any) -> _Leaf:
    kind = type(value)
    if issubclass(kind, Enum):
        return _Leaf(_enum(value), _bare, 0)
    if issubclass(kind, timedelta):
        return _Leaf(f"-{-value}" if value.days < 0 else str(value), _bare, 0)
    scalar = _scalar(value)
    if issubclass(kind, (str, bytes, bytearray)) and isinstance(scalar, _TEXTS):
        return _Leaf(scalar, repr, 1)
    return _Leaf(str(scalar), _bare, 0)


_JSON = _Style(
    comma=",",
    colon=":",
    brackets={"sequence": ("[", "]"), "set": ("[", "]"), "mapping": ("{", "}")},
    empty_set="[]",
    leaf=_json_leaf,
    key=_json_key,
)
_PYTHON = _Style(
    comma=", ",
    colon=": ",
    brackets={"sequence": ("[", "]"), "set": ("{", "}"), "mapping": ("{", "}")},
    empty_set="set()",
    leaf=_python_leaf,
    key=lambda key, _: key,
)
