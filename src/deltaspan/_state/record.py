"""The snapshot of a record: its fields, class and structure."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from types import MappingProxyType
from typing import Any, Final

__all__ = ["MAPPINGS", "Record", "class_of", "fields_in"]


class Record(Mapping[Any, Any]):
    """The fields of an object, with the name of its class. It is immutable.

    It reads, compares and shows itself as the read-only mapping of its fields.

    Args:
        fields: name or key → frozen value. The record takes the dict over.
        name: the qualified name of the class. None for a plain mapping with foreign keys.
        structure: the structure of a frame or a series, or None for any other record.
        has_foreign_keys: whether a class of the user compares some of its keys.
    """

    __slots__ = ("fields", "has_foreign_keys", "name", "structure")

    fields: MappingProxyType[Any, Any]
    name: str | None
    structure: str | None
    has_foreign_keys: bool

    def __init__(
        self,
        fields: dict[Any, Any],
        name: str | None,
        structure: str | None = None,
        *,
        has_foreign_keys: bool = False,
    ) -> None:
        _set_fields(self, MappingProxyType(fields))
        _set_name(self, name)
        _set_structure(self, structure)
        _set_has_foreign_keys(self, has_foreign_keys)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a record cannot be changed, so {name!r} cannot be set")

    def __getitem__(self, key: object) -> Any:
        return self.fields[key]

    def __contains__(self, key: object) -> bool:
        return key in self.fields

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def keys(self) -> KeysView[Any]:
        return self.fields.keys()

    def values(self) -> ValuesView[Any]:
        return self.fields.values()

    def items(self) -> ItemsView[Any, Any]:
        return self.fields.items()

    def __eq__(self, other: object) -> bool:
        return bool(self.fields == fields_in(other))

    __hash__ = None  # type: ignore[assignment]  # as its fields do not hash

    def __repr__(self) -> str:
        return repr(self.fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (dict(self.fields), self.name, self.structure, self.has_foreign_keys)


_set_fields: Final = Record.__dict__["fields"].__set__
_set_name: Final = Record.__dict__["name"].__set__
_set_structure: Final = Record.__dict__["structure"].__set__
_set_has_foreign_keys: Final = Record.__dict__["has_foreign_keys"].__set__


def _restore(*arguments: Any) -> Record:
    fields, name, structure, is_foreign = arguments
    return Record(fields, name, structure, has_foreign_keys=is_foreign)


MAPPINGS: Final = frozenset({MappingProxyType, Record})
"""The types of frozen mappings."""


def fields_in(frozen: Any) -> Any:
    """Return the fields of a record, or any other value unchanged."""
    return frozen.fields if type(frozen) is Record else frozen


def class_of(frozen: object) -> str | None:
    """Return the qualified name of a record's class, or None for any other value."""
    return frozen.name if type(frozen) is Record else None


def has_foreign_keys(frozen: object) -> bool:
    """Return whether a class of the user compares some keys of a frozen mapping."""
    return type(frozen) is Record and frozen.has_foreign_keys
