"""MongoDB filters with fields, and BSON documents as plain Python values."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

from bson import Binary, Decimal128, Int64, ObjectId, Regex
from bson.binary import ALL_UUID_SUBTYPES

from deltaspan._state.snapshot import SCALARS
from deltaspan._templates import fields_of, fill, places_of
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.patterns import is_literal_place

_LONE_FIELD: Final = re.compile(r"\{(\w+)\}")
_FIELD: Final = re.compile(r"\{[^\W\d]\w*\}")
_CODE_OPERATORS: Final = frozenset(
    {"$where", "$expr", "$function", "$accumulator", "$text", "$jsonSchema", "$options", "$type"}
)
_PLAIN_TYPES: Final = (str, int, float, bytes, datetime, UUID, ObjectId, Decimal128, type(None))
_MAX_BINARY_BYTES: Final = 64
"""The most bytes of binary that are kept. Longer binary becomes a digest."""


def filter_fields(query: Any) -> tuple[str, ...]:
    """Return the names of the fields in a filter, each once.

    Raises:
        DefinitionTypeError: the filter is not a mapping.
        DefinitionValueError: a field is not a plain name, or it stands where it would run as code.
    """
    if not isinstance(query, Mapping):
        raise DefinitionTypeError(f"a filter is a mapping, as find() takes it, not {query!r}")
    return tuple(dict.fromkeys(_fields(query, "")))


def _fields(part: Any, within: str) -> Iterator[str]:
    if isinstance(part, Mapping):
        for name, value in part.items():
            if isinstance(name, str) and fields_of(name):
                raise DefinitionValueError(
                    f"{name!r}: a field is not allowed in the name of a compared field or an operator; "
                    f"write it in the value"
                )
            yield from _fields(value, name if within not in _CODE_OPERATORS else within)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _fields(value, within)
    elif isinstance(part, re.Pattern | Regex):
        if _FIELD.search(str(part.pattern)):
            raise DefinitionValueError(
                f"{part.pattern!r}: a field within a compiled pattern is not filled; write it as the text of "
                f"a $regex"
            )
    elif isinstance(part, str):
        yield from _fields_of_text(part, within)


def _fields_of_text(part: str, within: str) -> tuple[str, ...]:
    names = fields_of(part)
    if names and within in _CODE_OPERATORS:
        raise DefinitionValueError(
            f"{part!r}: a field within {within} would be run as code or as a query; compare with it "
            f"outside of that"
        )
    if within == "$regex" and not all(is_literal_place(before) for before, _, _ in places_of(part)):
        raise DefinitionValueError(
            f"{part!r}: a field stands within a part of the $regex that cannot quote it; put it outside "
            f"of brackets, braces and escapes"
        )
    return names


def fill_filter(part: Any, values: Mapping[str, Any], within: str = "") -> Any:
    """Return a filter filled with the action's arguments.

    A text that is one field alone becomes the value itself, with its type.

    Raises:
        TypeError: a value could be more than a value to compare with.
    """
    if isinstance(part, Mapping):
        return {
            fill(name, {}) if isinstance(name, str) else name: fill_filter(value, values, name)
            for name, value in part.items()
        }
    if isinstance(part, list | tuple):
        return [fill_filter(value, values, within) for value in part]
    if not isinstance(part, str):
        return part
    if within == "$regex":
        escaped = {name: re.escape(fill(f"{{{name}}}", values)) for name in fields_of(part)}
        return fill(part, escaped)
    alone = _LONE_FIELD.fullmatch(part)
    return _check_plain(alone[1], values[alone[1]]) if alone else fill(part, values)


def _check_plain(name: str, value: Any) -> Any:
    # A mapping would act as operators: {"$ne": None} matches everything.
    if isinstance(value, _PLAIN_TYPES):
        return value
    raise TypeError(f"the field {{{name}}} takes a plain value to compare with, not a {type(value).__name__}")


def value_at(document: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path of a document.

    Raises:
        LookupError: the path does not exist.
    """
    value: Any = document
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise LookupError(
                f"the document with the _id {document.get('_id')!r} has no {path!r}, which key= names"
            )
        value = value[name]
    return value


def to_python(value: Any) -> Any:  # noqa: PLR0911  # a table of kinds
    """Return a BSON value as a plain Python value.

    A BSON type without a Python counterpart becomes the text of its `repr()`.
    """
    if type(value) in SCALARS - {bytes}:
        return value
    if isinstance(value, Mapping):
        return {name: to_python(item) for name, item in value.items()}
    if isinstance(value, list):
        return [to_python(item) for item in value]
    if isinstance(value, bytes):
        return _binary(value)
    if isinstance(value, Decimal128):
        return value.to_decimal()
    if isinstance(value, Int64):
        return int(value)
    if isinstance(value, ObjectId):
        return str(value)
    # A type that codec options decode is kept, since its repr may not show its value.
    return repr(value) if type(value).__module__.partition(".")[0] == "bson" else value


def to_key(value: Any) -> Hashable:
    """Return a value in a form that can be the key of a mapping."""
    plain = to_python(value)
    if isinstance(plain, dict):
        return tuple((name, to_key(item)) for name, item in plain.items())
    key: Hashable = tuple(map(to_key, plain)) if isinstance(plain, list) else plain
    return key


def _binary(value: bytes) -> Any:
    if isinstance(value, Binary) and value.subtype in ALL_UUID_SUBTYPES and len(value) == 16:  # noqa: PLR2004  # bytes of a UUID
        return UUID(bytes=bytes(value))
    if len(value) <= _MAX_BINARY_BYTES:
        return bytes(value)
    return f"{len(value)} bytes, blake2b:{blake2b(value, digest_size=16).hexdigest()}"
