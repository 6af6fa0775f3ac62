"""MongoDB's filters with fields in them, and its documents as plain values that freeze and compare."""

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
from deltaspan._templates import fields_of, filled, places_of
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.regexes import is_literal_place

__all__ = ["as_key", "fields_of_filter", "filled_filter", "part_of", "plain"]

_ALONE: Final = re.compile(r"\{(\w+)\}")
_FIELD: Final = re.compile(r"\{[^\W\d]\w*\}")
_RUNS: Final = frozenset(
    {"$where", "$expr", "$function", "$accumulator", "$text", "$jsonSchema", "$options", "$type"}
)
_PLAIN: Final = (str, int, float, bytes, datetime, UUID, ObjectId, Decimal128, type(None))
_MOST_SHOWN: Final = 64
"""How many bytes of binary are told; of more, a digest."""


def fields_of_filter(given: Any) -> tuple[str, ...]:
    """Return the names that the texts of a filter have as fields, each once.

    Raises:
        DefinitionTypeError: the filter is no mapping.
        DefinitionValueError: a field is no plain name, or it stands where it would be run as code.
    """
    if not isinstance(given, Mapping):
        raise DefinitionTypeError(f"a filter is a mapping, as find() takes it, not {given!r}")
    return tuple(dict.fromkeys(_fields(given, "")))


def _fields(part: Any, within: str) -> Iterator[str]:
    if isinstance(part, Mapping):
        for name, value in part.items():
            if isinstance(name, str) and fields_of(name):
                raise DefinitionValueError(
                    f"{name!r}: a field stands for a value, never within the name of what is compared"
                )
            yield from _fields(value, name if within not in _RUNS else within)
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
    found = fields_of(part)
    if found and within in _RUNS:
        raise DefinitionValueError(
            f"{part!r}: a field within {within} would be run as code or as a query; compare with it "
            f"outside of that"
        )
    if within == "$regex" and not all(is_literal_place(before) for before, _, _ in places_of(part)):
        raise DefinitionValueError(
            f"{part!r}: a field stands within a part of the $regex that cannot quote it; put it outside "
            f"of brackets, braces and escapes"
        )
    return found


def filled_filter(part: Any, values: Mapping[str, Any], within: str = "") -> Any:
    """Return a filter with its fields replaced: a text that is one field alone by the value as it is.

    Raises:
        TypeError: a value is none that can only be compared with.
    """
    if isinstance(part, Mapping):
        return {
            filled(name, {}) if isinstance(name, str) else name: filled_filter(value, values, name)
            for name, value in part.items()
        }
    if isinstance(part, list | tuple):
        return [filled_filter(value, values, within) for value in part]
    if not isinstance(part, str):
        return part
    if within == "$regex":
        escaped = {name: re.escape(filled(f"{{{name}}}", values)) for name in fields_of(part)}
        return filled(part, escaped)
    alone = _ALONE.fullmatch(part)
    return _compared(alone[1], values[alone[1]]) if alone else filled(part, values)


def _compared(name: str, value: Any) -> Any:
    # A mapping would be taken for operators: {"$ne": None} matches everything.
    if isinstance(value, _PLAIN):
        return value
    raise TypeError(f"the field {{{name}}} takes a plain value to compare with, not a {type(value).__name__}")


def part_of(document: Mapping[str, Any], path: str) -> Any:
    """Return what is at a dotted path.

    Raises:
        LookupError: nothing is there.
    """
    found: Any = document
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            raise LookupError(
                f"the document with the _id {document.get('_id')!r} has no {path!r}, which key= names"
            )
        found = found[name]
    return found


def plain(value: Any) -> Any:  # noqa: PLR0911  # a table of kinds
    """Return a value of BSON as one of Python's own; what has none, as text."""
    if type(value) in SCALARS - {bytes}:
        return value
    if isinstance(value, Mapping):
        return {name: plain(held) for name, held in value.items()}
    if isinstance(value, list):
        return [plain(held) for held in value]
    if isinstance(value, bytes):
        return _binary(value)
    if isinstance(value, Decimal128):
        return value.to_decimal()
    if isinstance(value, Int64):
        return int(value)
    if isinstance(value, ObjectId):
        return str(value)
    # What codec options have decoded is frozen as what it is: its repr may tell nothing of it.
    return repr(value) if type(value).__module__.partition(".")[0] == "bson" else value


def as_key(value: Any) -> Hashable:
    """Return a plain value as what can be the key of a mapping."""
    found = plain(value)
    if isinstance(found, dict):
        return tuple((name, as_key(held)) for name, held in found.items())
    key: Hashable = tuple(map(as_key, found)) if isinstance(found, list) else found
    return key


def _binary(value: bytes) -> Any:
    if isinstance(value, Binary) and value.subtype in ALL_UUID_SUBTYPES and len(value) == 16:  # noqa: PLR2004  # bytes of a UUID
        return UUID(bytes=bytes(value))
    if len(value) <= _MOST_SHOWN:
        return bytes(value)
    return f"{len(value)} bytes, blake2b:{blake2b(value, digest_size=16).hexdigest()}"
