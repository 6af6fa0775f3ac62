"""The state that a value has beside its content, such as its attributes.

A snapshot of the content alone would miss a change there.
"""

from __future__ import annotations

import os
from array import array
from collections import OrderedDict, deque
from collections.abc import ItemsView, KeysView, ValuesView
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from deltaspan._guard import class_name
from deltaspan._state.snapshot._fields import fields_of, is_record, slots_of
from deltaspan._state.snapshot._trusted import is_named_class
from deltaspan._state.snapshot._unfreezable import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

CONTENT: Final = "(content)"
"""Under which name a record holds the content of a container or scalar that has fields too; no attribute."""

_BUILTIN: Final = (
    dict, list, tuple, set, frozenset, deque, array, bytearray, memoryview, OrderedDict,
    KeysView, ItemsView, ValuesView,
    int, float, complex, str, bytes, Decimal, Fraction, UUID, datetime, date, time, timedelta, PurePath, Enum,
)  # fmt: skip
"""Types whose content is all their state. Only a subclass can add to it."""

_BY_CONTENT: Final = frozenset(
    {"configparser", "multiprocessing", "numpy", "os", "pandas", "shelve", "sqlalchemy", "weakref"}
)
"""Modules whose collections have no state beside their content, but a codec or a parent for reading."""

_OVERRIDABLE: Final = (dict, list, tuple, deque, set, frozenset)

_ABSENT: Final = object()


def is_content_only(kind: type) -> bool:
    """Return whether the content of values of this type is all their state."""
    if str(kind.__module__).partition(".")[0] not in _BY_CONTENT:
        return False
    return is_named_class(kind, kind.__qualname__)


def extends_builtin(kind: type) -> bool:
    """Return whether a type is, or extends, a built-in with no other state."""
    return issubclass(kind, _BUILTIN)


def extra_state(value: Any, content: object) -> dict[Any, object] | None:
    """Return the fields of a value that has state beside its content.

    The result is None if the content is all of its state.

    A value of a subclass of a built-in gives its fields and, as `CONTENT`, its content. A value that only
    behaves like a collection gives its fields, because its content comes from them. If its one field is the
    collection that it shows, as in a UserDict, the content is all of its state.
    """
    kind: Any = type(value)
    if extends_builtin(kind):
        fields = _added_fields(value, kind)
        whole = False
    else:
        fields = {} if is_content_only(kind) else fields_of(value)
        whole = is_record(kind)
    if not fields or (whole and len(fields) == 1 and _is_same(content, next(iter(fields.values())))):
        return None
    if whole:
        return fields
    return {**fields, CONTENT: content}


def check_consistent_iteration(value: Any, shown: object) -> None:
    """Check that a container's own methods show the members that it contains.

    Raises:
        Refusal: they differ, so that a change of the members could be missed.
    """
    kind: Any = type(value)
    base: Any = next((known for known in _OVERRIDABLE if issubclass(kind, known)), None)
    held: object = _ABSENT
    if base is dict:
        held = _ABSENT if kind.items in {dict.items, OrderedDict.items} else dict.copy(value)
    elif base is not None and kind.__iter__ is not base.__iter__:
        held = (frozenset if issubclass(base, set | frozenset) else tuple)(base.__iter__(value))
    if held is not _ABSENT and not _is_same(shown, held):
        raise Refusal(
            f"a {base.__name__} that shows other members than it holds ({class_name(kind)})",
            f"return what matters of it as a plain {base.__name__}",
        )


def plain_scalar(value: Any) -> object:
    """Convert a scalar of a subclass to its base, if no state is lost."""
    if isinstance(value, Enum):
        return value
    kind: Any = type(value)
    is_python = not is_content_only(kind) and bool(kind.__dictoffset__ or _slots_added(kind))
    for base, plain in _PLAIN.items():
        if issubclass(kind, base):
            # A subclass in C may contain more than its base. One in Python may override methods alone.
            is_convertible = base in _STRIPPED or is_python or kind.__basicsize__ == base.__basicsize__
            return plain(value) if is_convertible else value
    return value


_STRIPPED: Final = frozenset({str, int, float, bytes})
"""The types to which any subclass converts without a loss."""

_PLAIN: Final[dict[type, Callable[[Any], object]]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    bytes: lambda it: memoryview(it).tobytes(),
    Decimal: Decimal,
    Fraction: Fraction,
    complex: complex.__pos__,
    UUID: lambda it: UUID(int=int(it.int)),
    datetime: lambda it: datetime.combine(date.fromordinal(it.toordinal()), datetime.timetz(it)),
    date: lambda it: date.fromordinal(date.toordinal(it)),
    time: lambda it: datetime.combine(date.min, it).timetz(),
    timedelta: timedelta.__pos__,
    PurePath: lambda it: PurePath(os.fspath(it)) if hasattr(it, "__fspath__") else PurePath(str(it)),
}
"""The conversions from a subclass to its base, by the language's own means where there are any."""


def _added_fields(value: Any, kind: Any) -> dict[Any, object]:
    """Read the fields that subclasses of a built-in add to it."""
    if issubclass(kind, tuple) and getattr(kind, "n_fields", 0) > getattr(kind, "n_sequence_fields", 0):
        # The fields of a `stat_result` that have a name alone, such as the time in nanoseconds.
        return dict(value.__reduce__()[1][1])
    if is_content_only(kind) or issubclass(kind, Enum):
        return {}  # a member of an enumeration is a shared constant
    if not (kind.__dictoffset__ or _slots_added(kind)):
        return {}
    hidden = _slots_known(kind)
    return {name: item for name, item in fields_of(value).items() if name not in hidden}


@lru_cache(maxsize=1024)
def _slots_known(kind: type) -> frozenset[str]:
    """Name the slots in which the built-in base itself keeps its content."""
    bases = [base for base in kind.__mro__ if any(issubclass(known, base) for known in _BUILTIN)]
    return frozenset(name for base in bases for name in slots_of(base))


@lru_cache(maxsize=1024)
def _slots_added(kind: type) -> frozenset[str]:
    return frozenset(slots_of(kind)) - _slots_known(kind)


def _is_same(content: Any, field: Any) -> bool:
    """Return whether a field is the collection that was read as the content."""
    kind = type(field)
    if type(content) is dict:
        return (
            kind in {dict, OrderedDict}
            and len(field) == len(content)
            and all(field.get(key, _ABSENT) is item for key, item in content.items())
        )
    if type(content) is frozenset:
        return kind in {set, frozenset} and field == content
    if type(content) is tuple:
        return (
            kind in {list, tuple, deque}
            and len(field) == len(content)
            and all(mine is other for mine, other in zip(content, field, strict=True))
        )
    return False
