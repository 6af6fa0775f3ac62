"""Keys of mappings and members of sets, made plain."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final
from weakref import WeakValueDictionary

from deltaspan._process import on_reset
from deltaspan._state.snapshot._extra_state import plain_scalar
from deltaspan._state.snapshot._hidden import Hidden
from deltaspan._state.snapshot._trusted import has_plain_equality
from deltaspan._state.snapshot._types import SCALARS, Kind, kind_of

_COLLECTIONS: Final = (tuple, frozenset)

_foreign_sets: Final[WeakValueDictionary[int, frozenset[Any]]] = WeakValueDictionary()
"""The frozen sets of which a class of the user compares a member. To look at all members again would cost as
much as to compare them."""
on_reset(_foreign_sets.clear)


def plain_members(members: frozenset[Any]) -> frozenset[Any]:
    """Return the members of a set, each as a plain key."""
    if SCALARS.issuperset(map(type, members)):
        return members
    members = frozenset(map(plain_key, members))
    if not all(map(is_plain_key, members)):
        _foreign_sets[id(members)] = members
    return members


def is_plain_set(members: frozenset[Any]) -> bool:
    """Return whether the language alone compares the members of a frozen set."""
    return _foreign_sets.get(id(members)) is not members


def plain_key(key: Any) -> Any:
    """Return a key without methods of a subclass of a built-in.

    Its attributes are left out, because they do not count when a key is looked up. Members of enumerations,
    named tuples and objects of other classes are returned unchanged.
    """
    kind = type(key)
    if kind in SCALARS:
        return key
    for base in _COLLECTIONS:
        if issubclass(kind, base):
            held = list(base.__iter__(key))
            members = list(map(plain_key, held))
            is_kept = has_plain_equality(kind) and all(a is b for a, b in zip(held, members, strict=True))
            return key if is_kept else base(members)
    if issubclass(kind, Enum) or kind_of(kind) is not Kind.SCALAR:  # type: ignore[arg-type]  # a class hashes
        return key
    return plain_scalar(key)


def is_plain_key(key: Any) -> bool:
    """Return whether the language alone compares a key, and all that it contains."""
    kind = type(key)
    if kind in SCALARS:
        return True
    if not is_comparable(kind):
        return False
    base = next((base for base in _COLLECTIONS if issubclass(kind, base)), None)
    return base is None or all(map(is_plain_key, base.__iter__(key)))


def is_comparable(kind: type) -> bool:
    """Return whether the values of a type compare by content, or by identity."""
    metaclass = type(kind)
    if metaclass is not type and not has_plain_equality(metaclass):
        return False  # a class that equals others could not be looked up below
    return kind is Hidden or has_plain_equality(kind)
