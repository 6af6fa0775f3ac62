"""What a driver returns, as plain values that freeze, compare and can be a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

from deltaspan._state.snapshot import SCALARS

__all__ = ["digest_of", "key_of", "plain"]

_SHOWN_BYTES: Final = 64
_KEYS: Final = SCALARS - {bytes}


def plain(value: Any) -> Any:  # noqa: PLR0911  # a table of kinds
    """Return a value of the driver as one of Python's own; what is none of these, as text.

    Binary beyond 64 bytes becomes its size and digest, which tell a change as well and can be read.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        return data if len(data) <= _SHOWN_BYTES else f"{len(data)} bytes, blake2b:{_digest(data)}"
    if type(value) in SCALARS:
        return value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, set | frozenset):
        return frozenset(key_of([item]) for item in value)
    if isinstance(value, UUID):  # a driver's own subclass
        return UUID(int=value.int)
    return value.value if isinstance(value, Enum) else str(value)


def key_of(values: Sequence[Any]) -> Any:
    """Return what tells a row from the others: the value of its key, or a tuple where it has several."""
    if len(values) == 1 and type(values[0]) in _KEYS:  # nearly every key
        return values[0]
    found = tuple(_hashable(plain(value)) for value in values)
    return found[0] if len(found) == 1 else found


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, _hashable(item)) for key, item in value.items())
    return tuple(_hashable(item) for item in value) if isinstance(value, tuple) else value


def digest_of(row: Sequence[Any]) -> str:
    """Return a digest of a row's values and their types, 32 hexadecimal digits."""
    values = tuple(row)
    if not SCALARS.issuperset(map(type, values)):
        values = tuple(value if type(value) in SCALARS else _in_order(plain(value)) for value in values)
    return _digest(repr(values).encode("utf-8", "surrogatepass"))


def _in_order(value: Any) -> Any:
    """Return what has one `repr`: that of a set is in the order of its hashes, another in each process."""
    return sorted(map(repr, value)) if isinstance(value, frozenset) else value


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
