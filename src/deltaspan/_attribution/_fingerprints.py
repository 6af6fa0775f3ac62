"""Fingerprints of rows: they reveal changes and keep no content."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from hashlib import blake2b
from pathlib import PurePath
from typing import Any, Final

from deltaspan._state import Unwritable, canonical, encode
from deltaspan._state.snapshot import MAPPINGS, Unfreezable, freeze

_BYTES: Final = 8
"""Of a digest: two contents of one row have the same one by chance in 2 to the 64."""


def fingerprint(row: Any, source: str) -> str:
    """Return a digest of the content of a row.

    Rows that are equal by value have the same digest.

    Args:
        row: a mapping, a tuple, a record, a row of a driver or a mapped object of SQLAlchemy.
        source: the source of the rows, for the error.

    Raises:
        Unfreezable: something in the row cannot be compared by value.
    """
    try:
        text = canonical(_encode(freeze(_contents(row))))
    except (Unfreezable, Unwritable) as error:
        raise Unfreezable(
            f"the content of a row of {source} cannot be compared: {_describe(error)}; return rows of plain "
            f"values"
        ) from None
    return blake2b(text.encode(), digest_size=_BYTES).hexdigest()


def _contents(row: Any) -> Any:
    if hasattr(row, "keys") and hasattr(row, "__getitem__"):
        return {name: row[name] for name in row.keys()}  # noqa: SIM118  # a row of sqlite3 iterates over values
    mapper = getattr(type(row), "__mapper__", None)
    if mapper is not None:  # a mapped object of SQLAlchemy, of which relations may be loaded or not
        return {column.key: getattr(row, column.key) for column in mapper.column_attrs}
    return tuple(row) if isinstance(row, tuple) else row


def _encode(value: Any) -> Any:
    """Return a frozen value as JSON, whatever the order of its members."""
    if type(value) in MAPPINGS:
        return {"mapping": _sort([_encode(key), _encode(item)] for key, item in value.items())}
    if isinstance(value, frozenset):
        return {"frozenset": _sort(map(_encode, value))}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, Enum):
        return {"enum": [type(value).__qualname__, value.name]}
    if isinstance(value, PurePath):
        return {"path": str(value)}
    return encode(value)


def _sort(encoded: Iterable[Any]) -> list[Any]:
    return sorted(encoded, key=canonical)


def _describe(error: Exception) -> str:
    return f"it holds {error}" if isinstance(error, Unwritable) else str(error)
