"""The codec of states: exact, typed JSON that decodes to an equal state.

Values of JSON stand for themselves: null, true, false, text, and integers that every reader of JSON keeps
exactly. An array is a tuple. Any other value is an object of one pair, its kind and its content, as in
`{"decimal": "1.50"}`. No value can therefore pass for one of another kind. Nothing is evaluated or imported.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from deltaspan._interrupts import let_through
from deltaspan._state.snapshot import Array, Hidden, Path, Record, make_array

__all__ = ["Unreadable", "Unwritable", "canonical", "decode", "encode"]

_LARGEST_INT: Final = 2**53 - 1
"""The largest exact integer. Readers of JSON with floats alone round larger ones (RFC 8259, section 6)."""


class Unwritable(Exception):
    """A value that has no exact text.

    Its own text says what was found and where, as in "a Color at orders/3".

    Args:
        value: the value without an exact text.
        keys: the keys that lead to it, outermost first.
    """

    def __init__(self, value: object, keys: tuple[object, ...] = ()) -> None:
        super().__init__(value, keys)
        self._value = value
        self._keys = keys

    def __str__(self) -> str:
        name, path = type(self._value).__name__, Path(self._keys).text
        return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}{f' at {path}' if path else ''}"


class Unreadable(ValueError):
    """Text, or parsed JSON, that `encode` did not write."""


def canonical(encoded: object) -> str:
    """Return parsed JSON as canonical text: sorted keys, no white space, ASCII."""
    return json.dumps(encoded, sort_keys=True, separators=(",", ":"), allow_nan=False)


def encode(value: object) -> Any:
    """Encode a value as JSON values, which `json.dumps` takes.

    It takes frozen states, as `freeze` returns them, and the lists, dicts and sets of arguments. Types must
    match exactly, because a subclass may mean something that its base does not. An aware datetime or time
    keeps its offset from UTC, not the name of its zone.

    Args:
        value: anything.

    Raises:
        Unwritable: the value, or something within it, has no exact text: an Enum, a path, an object.

    Example:
        >>> encode((1, 2.5, frozenset({"b", "a"})))
        [1, {'float': '2.5'}, {'frozenset': ['a', 'b']}]
        >>> decode(_)
        (1, 2.5, frozenset({...}))
    """
    try:
        return _encode(value, ())
    except RecursionError:
        raise Unwritable(value) from None


def decode(encoded: object) -> Any:
    """Decode the value that `encode` has encoded.

    Args:
        encoded: parsed JSON, from any source.

    Raises:
        Unreadable: `encode` never returns such JSON.
    """
    try:
        return _decode(encoded)
    except Unreadable:
        raise
    except Exception as error:
        let_through(error)
        raise Unreadable(f"a value cannot be read back ({type(error).__name__})") from None


# Writing ------------------------------------------------------------------------------------------------


def _encode(value: Any, keys: tuple[object, ...]) -> Any:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -_LARGEST_INT <= value <= _LARGEST_INT else {"int": hex(value)}
    if kind is str:
        return value if not any("\ud800" <= char <= "\udfff" for char in value) else _surrogates(value)
    if kind is tuple:
        return [_encode(member, (*keys, at)) for at, member in enumerate(value)]
    named = _WRITERS.get(kind)
    if named is None:
        raise Unwritable(value, keys)
    name, write = named
    written = write(value, keys)
    if written is None:
        raise Unwritable(value, keys)
    return {name: written}


def _surrogates(text: str) -> dict[str, str]:
    # A pair of surrogates would be decoded as one character, as in UTF-16.
    return {"surrogates": _base64(text.encode("utf-8", "surrogatepass"))}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _members(value: Any, keys: tuple[object, ...]) -> list[Any]:
    return sorted((_encode(member, keys) for member in value), key=canonical)


def _in_order(value: Any, keys: tuple[object, ...]) -> list[Any]:
    return [_encode(member, (*keys, at)) for at, member in enumerate(value)]


def _pairs(value: Any, keys: tuple[object, ...]) -> list[Any]:
    return [[_encode(key, keys), _encode(item, (*keys, key))] for key, item in value.items()]


def _record_parts(value: Record, keys: tuple[object, ...]) -> dict[str, Any]:
    described = {"record": value.name, "fields": _pairs(value, keys)}
    return described if value.structure is None else {**described, "structure": value.structure}


def _array_parts(value: Array, keys: tuple[object, ...]) -> list[Any]:
    return [value.structure, *_in_order(value, keys)]


def _moment(value: datetime | time, _keys: object) -> list[Any] | None:
    """Return date and time of day, fold, and the offset in microseconds.

    The result is None if the zone does not tell the offset.

    The offset is separate because Python before 3.12 misreads offsets of less than a second.
    """
    offset = value.utcoffset()
    if offset is None and value.tzinfo is not None:
        return None
    return [
        value.replace(tzinfo=None).isoformat(),
        value.fold,
        None if offset is None else offset // timedelta(microseconds=1),
    ]


def _span(value: timedelta, _keys: object) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def _ratio(value: Fraction, keys: tuple[object, ...]) -> list[Any]:
    return [_encode(value.numerator, keys), _encode(value.denominator, keys)]


def _hidden(value: Hidden, _keys: object) -> list[str]:
    return [value.shown, *map(_base64, value.salted)]


_WRITERS: Final[dict[type, tuple[str, Callable[[Any, tuple[object, ...]], Any]]]] = {
    float: ("float", lambda value, _: repr(value)),
    bytes: ("bytes", lambda value, _: _base64(value)),
    Decimal: ("decimal", lambda value, _: str(value)),
    Fraction: ("fraction", _ratio),
    datetime: ("datetime", _moment),
    date: ("date", lambda value, _: value.isoformat()),
    time: ("time", _moment),
    timedelta: ("timedelta", _span),
    UUID: ("uuid", lambda value, _: str(value)),
    frozenset: ("frozenset", _members),
    MappingProxyType: ("mapping", _pairs),
    Record: ("mapping", _record_parts),
    Hidden: ("hidden", _hidden),
    Array: ("array", _array_parts),
    list: ("list", _in_order),
    dict: ("dict", _pairs),
    set: ("set", _members),
}


# Reading ------------------------------------------------------------------------------------------------


def _decode(encoded: Any) -> Any:
    kind = type(encoded)
    if encoded is None or kind is bool or kind is int or kind is str:
        return encoded
    if kind is list:
        return tuple(map(_decode, encoded))
    if kind is dict and len(encoded) == 1:
        [(name, written)] = encoded.items()
        read = _READERS.get(name)
        if read is not None:
            return read(written)
        raise Unreadable(f"a value is of the unknown kind {name!r}")
    raise Unreadable(f"a value is written as {kind.__name__}, which says nothing of its kind")


def _with_zone(moment: Any, fold: int, offset: int | None) -> Any:
    zone = None if offset is None else timezone(timedelta(microseconds=offset))
    return moment.replace(fold=fold, tzinfo=zone)


def _mapping(pairs: Any) -> dict[Any, Any]:
    found = {_decode(key): _decode(item) for key, item in pairs}
    if len(found) != len(pairs):
        raise Unreadable("a mapping names a key twice")
    return found


def _frozen_mapping(written: Any) -> Mapping[Any, Any]:
    if isinstance(written, list):
        return MappingProxyType(_mapping(written))
    structure = written.get("structure")
    return Record(
        _mapping(written["fields"]), str(written["record"]), None if structure is None else str(structure)
    )


def _array_of(structure: Any, *members: Any) -> Array:
    if type(structure) is not str:
        raise Unreadable("the structure of an array is not text")
    return make_array(tuple(map(_decode, members)), structure)


def _float(text: Any) -> float:
    if type(text) is not str:
        raise Unreadable("a float is not written as text")
    return float(text)


def _ratio_of(parts: Any) -> Fraction:
    # Fraction would compute any power of ten that a text contains.
    numerator, denominator = map(_decode, parts)
    if type(numerator) is not int or type(denominator) is not int:
        raise Unreadable("a fraction is not written as two whole numbers")
    return Fraction(numerator, denominator)


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _hidden_of(shown: Any, salt: str, digest: str) -> Hidden:
    if type(shown) is not str:
        raise Unreadable("what is shown of a hidden value is not text")
    return Hidden(shown, None, (_bytes(salt), _bytes(digest)))


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "int": lambda text: int(text, 16),
    "float": _float,
    "surrogates": lambda text: _bytes(text).decode("utf-8", "surrogatepass"),
    "bytes": _bytes,
    "decimal": Decimal,
    "fraction": _ratio_of,
    "datetime": lambda parts: _with_zone(datetime.fromisoformat(parts[0]), *parts[1:]),
    "date": date.fromisoformat,
    "time": lambda parts: _with_zone(time.fromisoformat(parts[0]), *parts[1:]),
    "timedelta": lambda parts: timedelta(*parts),
    "uuid": UUID,
    "frozenset": lambda members: frozenset(map(_decode, members)),
    "mapping": _frozen_mapping,
    "array": lambda parts: _array_of(*parts),
    "hidden": lambda parts: _hidden_of(*parts),
    "list": lambda members: list(map(_decode, members)),
    "dict": _mapping,
    "set": lambda members: set(map(_decode, members)),
}
