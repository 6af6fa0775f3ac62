"""The kinds of types, decided once for each type.

A kind says how values are read, or why they are refused.

Third-party types are recognised by their names and methods. Nothing is imported for them.
"""

from __future__ import annotations

import threading
from array import array
from collections import deque
from collections.abc import (
    AsyncIterable,
    Awaitable,
    Collection,
    ItemsView,
    Iterable,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from collections.abc import (
    Set as AbstractSet,
)
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, auto
from fractions import Fraction
from functools import lru_cache
from io import IOBase
from pathlib import PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from types import ModuleType, NoneType
from typing import Final
from uuid import UUID
from weakref import ProxyTypes, ReferenceType

from deltaspan._guard import EXHAUSTED, class_name
from deltaspan._interrupts import let_through
from deltaspan._state.render import hides_itself
from deltaspan._state.snapshot._extra_state import is_content_only
from deltaspan._state.snapshot._fields import is_declared, is_record, is_transparent
from deltaspan._state.snapshot._trusted import is_named_class
from deltaspan._state.snapshot._unfreezable import Refusal

SCALARS: Final = frozenset(
    {
        NoneType, bool, int, float, complex, str, bytes, Decimal, Fraction, UUID, range,
        datetime, date, time, timedelta, timezone, type(Ellipsis), type(NotImplemented),
        PurePosixPath, PureWindowsPath, PosixPath, WindowsPath,
    }
)  # fmt: skip
"""The exact types whose values are their own snapshot. Their subclasses take the slow path."""

_SCALAR_BASES = (
    Enum, int, float, complex, str, bytes, Decimal, Fraction, UUID, date, time, timedelta, tzinfo, PurePath,
)  # fmt: skip

_SCALAR_NAMES: Final = frozenset(
    {
        "ipaddress.IPv4Address", "ipaddress.IPv4Interface", "ipaddress.IPv4Network",
        "ipaddress.IPv6Address", "ipaddress.IPv6Interface", "ipaddress.IPv6Network",
        "re.Pattern",
        "deltaspan._state.snapshot._hidden.Hidden",
        "pandas.NAType", "pandas._libs.missing.NAType",
    }
)  # fmt: skip
"""Immutable types of modules that are not imported for this."""


class Kind(Enum):
    """The ways in which the values of a type are read."""

    SCALAR = auto()
    SEQUENCE = auto()
    SET = auto()
    MAPPING = auto()
    RECORD = auto()
    COLLECTION = auto()
    BYTES = auto()
    ARRAY = auto()
    SERIES = auto()
    FRAME = auto()
    HIDDEN = auto()
    REFUSED = auto()


@lru_cache(maxsize=1024)
def kind_of(kind: type) -> Kind:
    """Return the kind of a type.

    It is cached, because the checks of abstract base classes cost more than most copies.
    """
    try:
        return _kind_of(kind)
    except EXHAUSTED:
        raise  # a refusal would be cached for all values of this type
    except Exception as error:
        let_through(error)
        # A metaclass may raise. A type that cannot be inspected is not plain state.
        return Kind.REFUSED


def _kind_of(kind: type) -> Kind:  # noqa: C901, PLR0911, PLR0912 - a table of kinds, best first
    if hides_itself(kind):
        return Kind.HIDDEN
    if issubclass(kind, _SCALAR_BASES):
        return Kind.SCALAR
    if _name(kind) in _SCALAR_NAMES and is_named_class(kind, kind.__qualname__):
        return Kind.SCALAR
    if issubclass(kind, bytearray | memoryview):
        return Kind.BYTES
    if _root(kind) == "pandas" and kind.__name__ in {"DataFrame", "Series"}:
        return Kind.SERIES if kind.__name__ == "Series" else Kind.FRAME
    if callable(getattr(kind, "tolist", None)):
        return Kind.ARRAY
    if _refusal(kind) is not None:
        return Kind.REFUSED
    if issubclass(kind, Mapping):
        return Kind.MAPPING
    if issubclass(kind, tuple | list | deque | array | KeysView | ItemsView | ValuesView):
        return Kind.SEQUENCE
    if issubclass(kind, AbstractSet):
        return Kind.SET
    if is_declared(kind):
        return Kind.RECORD
    if issubclass(kind, Sequence):
        return Kind.SEQUENCE
    if issubclass(kind, Collection):
        readable = is_transparent(kind) or is_content_only(kind) or has_keys(kind)
        return Kind.COLLECTION if readable else Kind.REFUSED
    if not issubclass(kind, Iterable | AsyncIterable) and is_record(kind):
        return Kind.RECORD
    return Kind.REFUSED


def has_keys(kind: type) -> bool:
    """Return whether values of this type are read by key.

    They need not be registered as mappings.
    """
    return all(callable(getattr(kind, name, None)) for name in ("keys", "__getitem__"))


# What is refused, and what to return instead ---------------------------------------------------------------

_ROWS = "return list(rows) or a count"
_MEMBERS = "return its members as a list, or what matters of it as a dict,"
_FIELDS = "return its fields as a dict"
_GUARDED = "return the values that it guards"
_CONTENT = "return its content, size or digest"
_ANSWERS = "return the rows or values read through it"
_NAME = "return its name"
_AWAITED = "await it in the probe and return its result"

_FUNCTIONS = frozenset(
    {
        "function", "builtin_function_or_method", "method", "method-wrapper", "wrapper_descriptor",
        "method_descriptor", "classmethod_descriptor", "getset_descriptor", "member_descriptor",
        "staticmethod", "classmethod", "property", "code",
    }
)  # fmt: skip
_LOCK_MODULES = frozenset({"_thread", "threading", "asyncio.locks", "multiprocessing.synchronize", "anyio"})
_CONNECTED = ("Connection", "Cursor", "Session", "Engine", "Client", "Pool")
_CONNECTED_METHODS = ("execute", "commit", "cursor", "request", "close", "aclose")
_ORM_MARKS = frozenset({"__mapper__", "_sa_class_manager", "DoesNotExist"})


def refusal_of(kind: type) -> Refusal:
    """Build the refusal of a value of this type."""
    try:
        found, instead = _refusal(kind) or _unreadable(kind)
    except Exception as error:
        let_through(error)
        found, instead = _opaque(kind)
    return Refusal(found, instead)


def _refusal(kind: type) -> tuple[str, str] | None:  # noqa: C901, PLR0911 - a table of kinds, best first
    name = class_name(kind)
    root = _root(kind)
    if issubclass(kind, ModuleType):
        return "a module", "return the values that it holds"
    if issubclass(kind, type) or (root in {"types", "typing"} and name.endswith("Alias")):
        return "a class", _NAME
    if issubclass(kind, BaseException):
        return f"an exception ({name})", "return its text"
    if issubclass(kind, ReferenceType) or kind in ProxyTypes:
        return "a weak reference", "return what it refers to"
    if kind.__module__ in _LOCK_MODULES and kind is not threading.local:
        return ("a thread", _NAME) if issubclass(kind, threading.Thread) else (f"a lock ({name})", _GUARDED)
    if issubclass(kind, IOBase) or name == "mmap":
        return f"an open file ({name})", _CONTENT
    if root in {"socket", "_socket", "ssl"} or name == "StreamWriter":
        return f"a socket ({name})", _ANSWERS
    if _is_function(kind):
        return f"a function ({name})", "call it and return its result"
    if issubclass(kind, Awaitable):
        return f"an awaitable ({name})", _AWAITED
    if name.endswith(_CONNECTED) and any(hasattr(kind, method) for method in _CONNECTED_METHODS):
        return f"a connection ({name})", _ANSWERS
    if any(mark in vars(base) for base in kind.__mro__ for mark in _ORM_MARKS):
        return f"a live database row ({name})", "return its columns as a dict"
    if hasattr(kind, "__next__") or hasattr(kind, "__anext__"):
        return f"an iterator ({name})", _ROWS
    return None


def _unreadable(kind: type) -> tuple[str, str]:
    if issubclass(kind, Collection):
        return f"an opaque collection ({class_name(kind)})", _MEMBERS
    if hasattr(kind, "__iter__") or hasattr(kind, "__aiter__"):
        return f"a lazy iterable ({class_name(kind)})", _ROWS
    return _opaque(kind)


def _opaque(kind: type) -> tuple[str, str]:
    return f"an opaque object ({class_name(kind)})", _FIELDS


def _is_function(kind: type) -> bool:
    if kind.__module__ == "functools":
        return kind.__name__.startswith("partial")
    return kind.__module__ == "builtins" and kind.__name__ in _FUNCTIONS


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _root(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]
