"""Values of a driver as plain Python values, and digests of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

from deltaspan._state.snapshot import SCALARS

_SHOWN_BYTES: Final = 64
_KEYS: Final = SCALARS - {bytes}


def to_python(value: Any) -> Any:  # noqa: PLR0911  # a table of kinds
    """Return a driver's value as a plain Python value.

    A type without a plain counterpart becomes text.

    Binary beyond 64 bytes becomes its size and digest, which tell a change as well and can be read.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        return data if len(data) <= _SHOWN_BYTES else f"{len(data)} bytes, blake2b:{_digest(data)}"
    if type(value) in SCALARS:
        return value
    if isinstance(value, Mapping):
        return {key: to_python(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(to_python(item) for item in value)
    if isinstance(value, set | frozenset):
        return frozenset(row_key([item]) for item in value)
    if isinstance(value, UUID):  # a driver's own subclass
        return UUID(int=value.int)
    return value.value if isinstance(value, Enum) else str(value)


def row_key(values: Sequence[Any]) -> Any:
    """Return the key of a row: one value, or a tuple of several."""
    if len(values) == 1 and type(values[0]) in _KEYS:  # nearly every key
        return values[0]
    key = tuple(_hashable(to_python(value)) for value in values)
    return key[0] if len(key) == 1 else key


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, _hashable(item)) for key, item in value.items())
    return tuple(_hashable(item) for item in value) if isinstance(value, tuple) else value


def row_digest(row: Sequence[Any]) -> str:
    """Return a digest of a row's values and their types, 32 hexadecimal digits."""
    values = tuple(row)
    if not SCALARS.issuperset(map(type, values)):
        values = tuple(value if type(value) in SCALARS else _in_order(to_python(value)) for value in values)
    return _digest(repr(values).encode("utf-8", "surrogatepass"))


def _in_order(value: Any) -> Any:
    """Return an object with one `repr()`.

    The `repr()` of a set follows its hashes, which differ between processes.
    """
    return sorted(map(repr, value)) if isinstance(value, frozenset) else value


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
