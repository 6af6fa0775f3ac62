"""The fields of a record: a dataclass, attrs, pydantic, or any object of a class written in Python."""

from __future__ import annotations

import dataclasses
from types import MemberDescriptorType
from typing import Any, Literal

__all__ = ["fields_of", "has_fields"]

_POINTER = object.__basicsize__ // 2
_SPECIAL = ("__dict__", "__weakref__")


def has_fields(kind: type) -> Literal["declared", "found"] | None:
    """Say whether values of this type are records: by declaration, by what they are made of, or not at all."""
    if _declared(kind) is not None or _is_pydantic(kind):
        return "declared"
    if kind is not object and _is_transparent(kind):
        return "found"
    return None


def fields_of(record: Any) -> dict[Any, object] | None:
    """Read all fields of a record into a fresh dict; None when it has none that could be read.

    Declared fields are read as attributes. Those of a plain object are taken from its `__dict__` and slots, by
    the language's own means, so that no property and no `__getattr__` runs.
    """
    kind = type(record)
    names = _declared(kind)
    if names is not None:
        return {name: getattr(record, name) for name in names}
    if _is_pydantic(kind):
        return {**vars(record), **(getattr(record, "__pydantic_extra__", None) or {})}
    found: dict[Any, object] = {}
    slots = _slots(kind)
    for name, slot in slots.items():
        try:
            found[name] = slot.__get__(record, kind)
        except AttributeError:
            # An empty slot holds nothing, like a key that is not in a dict.
            continue
    if kind.__dictoffset__:
        found.update(object.__getattribute__(record, "__dict__"))
        return found
    # With slots alone an empty record is a state; an object with neither has no state to read.
    return found if slots else None


def _declared(kind: type) -> list[str] | None:
    if "__dataclass_fields__" in _attributes(kind):
        return [field.name for field in dataclasses.fields(kind)]
    attrs = next(
        (vars(base)["__attrs_attrs__"] for base in kind.__mro__ if "__attrs_attrs__" in vars(base)), None
    )
    return None if attrs is None else [field.name for field in attrs]


def _attributes(kind: type) -> set[str]:
    return {name for base in kind.__mro__ for name in vars(base)}


def _is_pydantic(kind: type) -> bool:
    return any(
        base.__name__ == "BaseModel" and base.__module__.startswith("pydantic") for base in kind.__mro__
    )


def _slots(kind: type) -> dict[str, MemberDescriptorType]:
    return {
        name: member
        for base in reversed(kind.__mro__)
        if "__slots__" in vars(base)
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType) and name not in _SPECIAL
    }


def _is_transparent(kind: type) -> bool:
    """Whether `__dict__` and slots are all that values of this type hold.

    A base class written in C may hold more, out of sight, and a change there would go unseen. As in pickling, a
    type whose instances are larger than what Python put there is not transparent.
    """
    expected = object.__basicsize__ + _POINTER * len(_slots(kind))
    expected += _POINTER * ((kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0))
    return kind.__basicsize__ <= expected and not kind.__itemsize__
