"""A frozen record: the read-only mapping of its fields, which remembers of what class it was.

Two records of different classes are different values, though their fields be the same: a `Pending()` that
became a `Paid()` has changed. A plain mapping has no class, and equals a record by its fields.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

__all__ = ["class_of", "record"]

_CLASS: Final = object()
"""What a record is asked for its class with; no key of anybody else's."""


class _Fields(dict[Any, Any]):
    """The fields of a record. Seen through a read-only mapping it can still be asked for its class."""

    __slots__ = ("name",)

    def __init__(self, fields: dict[Any, Any], name: str) -> None:
        super().__init__(fields)
        self.name = name

    def __contains__(self, key: object) -> bool:
        return key is _CLASS or super().__contains__(key)

    def __missing__(self, key: object) -> str:
        if key is _CLASS:
            return self.name
        raise KeyError(key)


def record(fields: dict[Any, Any], name: str) -> MappingProxyType[Any, Any]:
    """Return frozen fields as a record of the class with this name."""
    return MappingProxyType(_Fields(fields, name))


def class_of(frozen: MappingProxyType[Any, Any]) -> str | None:
    """Return the qualified name of a record's class; None for a plain mapping."""
    return frozen[_CLASS] if _CLASS in frozen else None  # noqa: SIM401  # only the look-up asks a record
