"""Frozen values in which no code of whoever made them can run."""

from __future__ import annotations

from datetime import datetime, time, timezone
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from deltaspan._guard import class_name
from deltaspan._state.record import MAPPINGS, Record
from deltaspan._state.snapshot._keys import is_comparable, is_plain_key
from deltaspan._state.snapshot._paths import Array, make_array
from deltaspan._state.snapshot._types import SCALARS
from deltaspan._state.snapshot._unfreezable import Unfreezable

if TYPE_CHECKING:
    from collections.abc import Callable

_SCALAR_IDS: Final = frozenset(map(id, SCALARS))
"""A class may say that it equals a scalar type, but it has an id of its own."""


def rebuild(frozen: Any) -> Any:
    """Return a frozen value that runs no code of its maker.

    Args:
        frozen: a value, as `freeze` returned it.

    Raises:
        Unfreezable: a class of the user would compare it, or a part of it.
    """
    kind = type(frozen)
    if kind is tuple:
        return tuple(map(rebuild, frozen))
    if kind is frozenset:
        return frozenset(map(_rebuild_key, frozen))
    if kind is Array:
        return make_array(tuple(map(rebuild, frozen)), frozen.structure)
    if id(kind) in _MAPPING_IDS:
        fields = {_rebuild_key(key): rebuild(item) for key, item in frozen.items()}
        return type(frozen)(fields) if kind is not Record else Record(fields, frozen.name, frozen.structure)
    make = _REBUILT.get(id(kind))
    if make is not None:
        return make(frozen)
    if id(kind) not in _SCALAR_IDS and not is_comparable(kind):
        raise Unfreezable(_found(kind))
    return frozen


_MAPPING_IDS: Final = frozenset(map(id, MAPPINGS))


def _rebuild_key(key: Any) -> Any:
    kind = type(key)
    if id(kind) not in _SCALAR_IDS and not is_plain_key(key):
        raise Unfreezable(_found(kind))
    return rebuild(key)


def _found(kind: type) -> str:
    return (
        f"found a {class_name(kind)}, whose class says what it equals: return plain values, such as text, "
        f"numbers and tuples, instead"
    )


def _in_fixed_zone(moment: Any) -> Any:
    if moment.tzinfo is None or type(moment.tzinfo) in (timezone, ZoneInfo):
        return moment
    offset = moment.utcoffset()
    return moment.replace(tzinfo=None if offset is None else timezone(offset))


def _from_text(kind: Any) -> Callable[[Any], object]:
    return lambda value: kind(str.__str__(str(value)))


_BY_TEXT: Final = (
    PurePosixPath, PureWindowsPath, PosixPath, WindowsPath,
    IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network,
)  # fmt: skip

_REBUILT: Final[dict[int, Callable[[Any], object]]] = {
    id(UUID): lambda value: UUID(int=int.__int__(value.int)),
    id(Fraction): lambda value: Fraction(int.__int__(value.numerator), int.__int__(value.denominator)),
    id(datetime): _in_fixed_zone,
    id(time): _in_fixed_zone,
    **{id(kind): _from_text(kind) for kind in _BY_TEXT},
}
"""The types of the library that consist of other objects, which may be of any class."""
