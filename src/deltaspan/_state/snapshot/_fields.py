"""The fields of a record: dataclass, attrs, pydantic, or any Python object."""

from __future__ import annotations

import dataclasses
from functools import cached_property, lru_cache
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any, NamedTuple

_NOTES = ("__pydantic_", "__fields_set__")
_DICT = FunctionType.__dict__["__dict__"]
_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)
_POINTER = object.__basicsize__ // 2


class _Layout(NamedTuple):
    """The places in which values of a type keep their fields.

    Attributes:
        declared: the fields that a dataclass or attrs class declares, or None for any other class.
        slots: name → descriptor, of the slots of all its classes.
        cached: the names of cached properties. To read one does not change the state.
        hidden: the declared fields that its `repr` leaves out, or does not show as they are.
        pydantic: whether it is a pydantic model, which keeps some of its fields in dicts of their own.
        transparent: whether its `__dict__` and slots contain the whole state of a value.
    """

    declared: tuple[str, ...] | None
    slots: dict[str, MemberDescriptorType]
    cached: frozenset[str]
    hidden: frozenset[str]
    pydantic: bool
    transparent: bool


def is_declared(kind: type) -> bool:
    """Return whether a type declares its fields: dataclass, attrs or pydantic."""
    layout = _layout(kind)
    return layout.declared is not None or layout.pydantic


def is_record(kind: type) -> bool:
    """Return whether the whole state of this type's values is in fields."""
    layout = _layout(kind)
    return is_declared(kind) or (layout.transparent and bool(kind.__dictoffset__ or layout.slots))


def is_transparent(kind: type) -> bool:
    """Return whether values of this type contain nothing but fields."""
    return _layout(kind).transparent


def hidden_fields(kind: type) -> frozenset[str]:
    """Return the declared fields that the class itself does not show: those with `repr=False`."""
    return _layout(kind).hidden


def fields_of(record: Any) -> dict[Any, object]:
    """Read all fields of a record into a fresh dict.

    Declared fields are read as attributes. All else is taken from the slots and the `__dict__`, by the
    language's own means, so that no property and no `__getattr__` runs. The value of a cached property is
    left out, because a computed value and an assigned one look the same.
    """
    kind = type(record)
    layout = _layout(kind)  # type: ignore[arg-type]  # a class hashes
    found: dict[Any, object] = {name: getattr(record, name) for name in layout.declared or ()}
    for name, slot in layout.slots.items():
        try:
            found[name] = slot.__get__(record, kind)
        except AttributeError:  # noqa: PERF203 - a slot can only be asked
            # An empty slot is like a key that is not in a dict.
            continue
    if kind.__dictoffset__:
        found.update(object.__getattribute__(record, "__dict__"))
    for name in layout.cached & found.keys():
        del found[name]
    return _flatten_pydantic(found) if layout.pydantic else found


def _flatten_pydantic(found: dict[Any, object]) -> dict[Any, object]:
    """Merge the extra and private fields of pydantic into the others."""
    fields = {name: value for name, value in found.items() if not str(name).startswith(_NOTES)}
    for folder in ("__pydantic_extra__", "__pydantic_private__"):
        fields.update(found.get(folder) or {})  # type: ignore[call-overload]
    return fields


@lru_cache(maxsize=1024)
def _layout(kind: type) -> _Layout:
    slots = slots_of(kind)
    return _Layout(
        declared=_declared_fields(kind),
        slots=slots,
        cached=frozenset(
            name
            for base in kind.__mro__
            for name, item in vars(base).items()
            if isinstance(item, cached_property)
        ),
        hidden=_hidden_fields(kind),
        pydantic=any(
            base.__name__ == "BaseModel" and base.__module__.startswith("pydantic") for base in kind.__mro__
        ),
        transparent=_is_transparent(kind, len(slots)),
    )


def _declared_fields(kind: type) -> tuple[str, ...] | None:
    if any("__dataclass_fields__" in vars(base) for base in kind.__mro__):
        return tuple(field.name for field in dataclasses.fields(kind))
    attrs = (vars(base)["__attrs_attrs__"] for base in kind.__mro__ if "__attrs_attrs__" in vars(base))
    return next((tuple(field.name for field in fields) for fields in attrs), None)


def _hidden_fields(kind: type) -> frozenset[str]:
    # A dataclass and attrs have the mark on the field itself, pydantic has it there or, before 2.0, below it.
    fields = [*_fields_marked(kind, "__dataclass_fields__"), *_fields_marked(kind, "__pydantic_fields__")]
    fields += [(field.name, field) for field in getattr(kind, "__attrs_attrs__", ())]
    if not fields:
        fields = [
            (name, getattr(field, "field_info", None)) for name, field in _fields_marked(kind, "__fields__")
        ]
    return frozenset(name for name, field in fields if getattr(field, "repr", True) is not True)


def _fields_marked(kind: type, attribute: str) -> list[tuple[str, Any]]:
    found = next((vars(base)[attribute] for base in kind.__mro__ if attribute in vars(base)), None)
    return list(found.items()) if isinstance(found, dict) else []


def slots_of(kind: type) -> dict[str, MemberDescriptorType]:
    """Return the slots of a class and of its bases, by name."""
    return {
        name: member
        for base in reversed(kind.__mro__)
        if "__slots__" in vars(base)
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType)
    }


def _is_transparent(kind: type, slots: int) -> bool:
    """Compare the size of an instance with the room that its fields need.

    Pickling does the same.

    A base class written in C may contain more state, whose changes would not be seen.
    """
    if any(type(vars(base).get("__dict__", _DICT)) not in _DESCRIPTORS for base in kind.__mro__):
        return False  # a class that shows another namespace than it has
    pointers = slots + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    return kind.__basicsize__ <= object.__basicsize__ + _POINTER * pointers and not kind.__itemsize__
