"""The place that an argument names, as canonical text.

`7` and `"7"` are one place.

Arguments that may name the same place have the same text. Two with different texts are apart, unless one is
a folder of the other. An argument that may name any place, or several, has a doubt instead of a text.

An object may be asked for its own text here, so no lock may be held by the caller.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import Enum, Flag
from fractions import Fraction
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Final
from unicodedata import combining, normalize
from uuid import UUID

from deltaspan._batches import current_batch
from deltaspan._guard import class_name
from deltaspan._interrupts import let_through
from deltaspan._state.snapshot import fields_of, is_record

_MAX_NODES: Final = 100_000
_MAX_DEPTH: Final = 50
_LONGEST_TEXT: Final = 200
"""Longer texts are kept as digests."""
_MAX_BITS: Final = 10_000
"""Python writes larger integers in hexadecimal only."""
_MAX_FOLDERS: Final = 64
"""The deepest path whose folders are compared."""

_UUID: Final = re.compile(
    r"(?:urn:uuid:)?\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?",
    re.IGNORECASE,
)
_UUID_LENGTH: Final = 32
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,400}(?:\.[0-9]{0,400})?(?:[eE][+-]?[0-9]{1,4})?")
_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}.{0,24})?")
_WORDS: Final = {"true": "1", "True": "1", "false": "0", "False": "0"}
_NONE: Final = "\0none"
_Mappings: Final = (dict, Mapping)
_Sequences: Final = (list, tuple, Sequence)
_Sets: Final = (set, frozenset, AbstractSet)


@dataclass(frozen=True, slots=True)
class Doubt:
    """The reason for which the place of an argument is not known.

    Attributes:
        words: the predicate of a sentence whose subject is the place of the argument.
        is_broken: whether a method of the argument raised. Nothing is then known of the whole scope.
    """

    words: str
    is_broken: bool = False


_ANY: Final = Doubt("cannot be told and may be any; name an id or a path")
_SEVERAL: Final = Doubt("may be several; name one id or path")
_OF_FIELDS: Final = Doubt("may be told by any of its fields; name the one that tells it")
_HOLDS_RELATIVE: Final = Doubt(
    "is the working directory or a folder above it, which holds all relative paths; name one below it"
)


class _Unplaced(Exception):
    """An argument does not tell its place.

    Args:
        doubt: the reason.
    """

    def __init__(self, doubt: Doubt = _ANY) -> None:
        super().__init__(doubt)
        self.doubt = doubt


def place_of(argument: Any) -> str | Doubt:
    """Return the canonical text of the place that an argument names.

    Case and accents are left out, because many databases and file systems compare without them.

    Args:
        argument: what an action was called with.

    Returns:
        A text that arguments of the same place share, or a Doubt. Any place may be meant by None, and by an
        object that has nothing but its identity. Several are meant by a collection, by a record with more
        than one field, and by the working directory and the folders above it.

    Raises:
        BaseException: an interrupt that arrived meanwhile.

    Example:
        >>> place_of(7) == place_of("7") == place_of(7.0)
        True
        >>> place_of("acme") == place_of("other")
        False
        >>> place_of([1, 2])
        Doubt(words='may be several; name one id or path', is_broken=False)
    """
    kind = type(argument)
    try:
        if kind is str:
            text = _of_text(argument)
        elif kind is int:
            text = _of_int(argument)
        elif argument is None:
            return _ANY
        else:
            text = _ask(argument, one_place=True)
        return _fold(text)
    except _Unplaced as unplaced:
        return unplaced.doubt
    except BaseException as error:  # an object may raise what it likes
        let_through(error)
        return Doubt(
            f"cannot be told and may be any, because a method of it raised {class_name(type(error))}",
            is_broken=True,
        )


def text_of(argument: Any) -> str | None:
    """Return a text that equal arguments share, collections included.

    Args:
        argument: what an action was called with.

    Returns:
        The text, or None if an argument does not tell it, as an object that has nothing but its identity.

    Raises:
        BaseException: an interrupt that arrived meanwhile.
    """
    try:
        return None if argument is None else _shorten(_ask(argument, one_place=False))
    except BaseException as error:  # an object may raise what it likes
        let_through(error)
        return None


def folders_above(place: str) -> tuple[str, ...]:
    """Return the folders above a path, the outermost first.

    A place that is not a path has none.

    Example:
        >>> folders_above("/srv/a/b"), folders_above("acme")
        (('/srv', '/srv/a'), ())
    """
    if "/" not in place:
        return ()
    return tuple(place[:at] for at, character in enumerate(place) if character == "/" and at)


def _fold(text: str) -> str:
    """Return the text without case and accents, and in short.

    Raises:
        _Unplaced: the place holds others, or it has too many folders to compare.
    """
    if not text.isascii():
        text = "".join(character for character in normalize("NFKD", text) if not combining(character))
        text = text.casefold()
    else:
        text = text.lower()
    if "/" not in text:
        if text in {".", ".."}:  # the latter if the working directory is gone
            raise _Unplaced(_HOLDS_RELATIVE)
        return _shorten(text)
    if text == "/" or text.startswith("../") or f"{_working_folder()}/".lower().startswith(f"{text}/"):
        raise _Unplaced(_HOLDS_RELATIVE)
    if text.count("/") > _MAX_FOLDERS:
        raise _Unplaced
    return text


def _shorten(text: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _ask(argument: Any, *, one_place: bool) -> str:
    # A method of the argument does not belong to the run: an action that it calls is not verified.
    token = current_batch.set({})
    try:
        return _Walk(one_place=one_place).text(argument, 0)
    finally:
        current_batch.reset(token)


class _Walk:
    """One argument with all that it holds, up to a limit.

    Args:
        one_place: whether an argument that may name several places has no text.
    """

    __slots__ = ("_left", "_one_place")

    def __init__(self, *, one_place: bool) -> None:
        self._left = _MAX_NODES
        self._one_place = one_place

    def text(self, value: Any, depth: int) -> str:  # noqa: C901, PLR0911, PLR0912 - a table of types
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            raise _Unplaced
        if value is None:
            if self._one_place:
                raise _Unplaced
            return _NONE
        # The base's own method, so that a subclass of a plain type runs no code of its own.
        if isinstance(value, Enum):
            if self._one_place and isinstance(value, Flag):
                raise _Unplaced(_SEVERAL)
            # A member is one place, whatever its value is made of.
            return _Walk(one_place=False).text(value._value_, depth + 1)
        if isinstance(value, str):
            return _of_text(str.__str__(value))
        if isinstance(value, int):
            return _of_int(int.__index__(value))
        if isinstance(value, float):
            return _of_number(Decimal(float.__repr__(value)))
        if isinstance(value, complex):
            return self.text(value.real, depth) if not value.imag else complex.__repr__(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return _of_text(bytes(value).decode("utf-8", "surrogateescape"))
        if isinstance(value, Decimal):
            return _of_number(Decimal(value))
        if isinstance(value, Fraction):
            whole = value.denominator == 1
            return _of_int(value.numerator) if whole else _of_number(Decimal(repr(float(value))))
        if isinstance(value, UUID):
            return f"{value.int:032x}"
        if isinstance(value, datetime):
            return _of_moment(value)
        if isinstance(value, date):
            return _of_moment(datetime.combine(value, time.min))
        if isinstance(value, PurePath | os.PathLike):
            path = os.fspath(value)
            return _of_text(path if isinstance(path, str) else os.fsdecode(path))
        if self._one_place and isinstance(value, range | re.Pattern):
            raise _Unplaced(_SEVERAL)
        if isinstance(value, range | re.Pattern):
            return repr(value) if isinstance(value, range) else self.text(value.pattern, depth + 1)
        return self._of_object(value, depth)

    def _of_object(self, value: Any, depth: int) -> str:
        kind = type(value)
        if self._one_place and isinstance(value, Container):
            raise _Unplaced(_SEVERAL)
        if isinstance(value, _Mappings):
            items = dict.items(value) if isinstance(value, dict) else dict(value).items()
            return self._of_pairs(items, depth)
        if callable(getattr(kind, "tolist", None)):  # numbers and arrays of numpy
            return self.text(value.tolist(), depth + 1)
        if isinstance(value, _Sequences):
            members = [self._member(member, depth) for member in _members_of(value)]
            return f"\0[{''.join(members)}]"
        if isinstance(value, _Sets):
            return f"\0{{{''.join(sorted(self._member(member, depth) for member in value))}}}"
        if _definer(kind, "__eq__") is object or hasattr(kind, "get_secret_value"):
            raise _Unplaced  # two of them may stand for one place, as two clients of one database do
        if (value == value) is not True:  # noqa: PLR0124 - a comparison that raises, or makes an expression
            raise _Unplaced
        if kind.__hash__ is not None:
            hash(value)
        return self._of_record(value, kind, depth)

    def _of_record(self, value: Any, kind: type, depth: int) -> str:
        if _shows_text(kind):
            return _of_text(str(value))
        if hasattr(kind, "__struct_fields__"):  # msgspec
            return self._of_members({name: getattr(value, name) for name in kind.__struct_fields__}, depth)
        if _is_generated(getattr(kind, "__eq__", None)) or _is_pydantic(kind):
            return self._of_fields(value, kind, depth)
        # Equality of its own may see less than the fields: two that are equal share their hash at least.
        if _definer(kind, "__hash__") is not object and kind.__hash__ is not None:
            return f"\0hash:{hash(value)}"
        if is_record(kind):
            if self._one_place:  # its fields are declared nowhere
                raise _Unplaced(_OF_FIELDS)
            return self._of_fields(value, kind, depth)
        raise _Unplaced

    def _of_members(self, fields: Mapping[Any, Any], depth: int) -> str:
        """Return the text of a record.

        In the search for one place it is that of its only field.
        """
        if not self._one_place:
            return self._of_pairs(fields.items(), depth)
        if len(fields) != 1:
            raise _Unplaced(_OF_FIELDS)
        return self.text(next(iter(fields.values())), depth + 1)

    def _of_fields(self, value: Any, kind: type, depth: int) -> str:
        compared = _compared(kind)
        if compared is not None:
            fields: Mapping[Any, Any] = {name: getattr(value, name) for name in compared}
        else:
            fields = fields_of(value)
        if len(fields) == 1 and "root" in fields and _is_pydantic(kind):  # a RootModel is what it wraps
            return self.text(fields["root"], depth + 1)
        return self._of_members(fields, depth)

    def _of_pairs(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> str:
        members = sorted(self._member(key, depth) + self._member(item, depth) for key, item in pairs)
        return f"\0({''.join(members)})"

    def _member(self, value: Any, depth: int) -> str:
        text = self.text(value, depth + 1)
        return f"{len(text)}:{text}"  # so that no member can pass for two


def _members_of(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        return list.__iter__(value)
    return tuple.__iter__(value) if isinstance(value, tuple) else iter(value)


# What a type says of itself -------------------------------------------------------------------------------


def _definer(kind: type, name: str) -> type:
    """Return the class that defines a special method, metaclasses left out."""
    return next(base for base in kind.__mro__ if name in vars(base))


def _shows_text(kind: type) -> bool:
    """Return whether a type defines the text of its values, as URLs do."""
    definer = _definer(kind, "__str__")
    return definer is not object and not definer.__module__.startswith(("pydantic.main", "sqlmodel."))


def _is_pydantic(kind: type) -> bool:
    return any(base.__module__ == "pydantic.main" for base in kind.__mro__)


def _is_python(method: Any) -> bool:
    return hasattr(method, "__code__")


def _is_generated(method: Any) -> bool:
    """Return whether `dataclass` or `attrs` generated a method.

    They compile text that is not in a file.
    """
    return _is_python(method) and method.__code__.co_filename.startswith("<")


def _compared(kind: type) -> tuple[str, ...] | None:
    """Return the fields that equality looks at, of a dataclass or an attrs class."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if field.compare)
    attributes = getattr(kind, "__attrs_attrs__", None)
    return None if attributes is None else tuple(field.name for field in attributes if field.eq)


# Texts ----------------------------------------------------------------------------------------------------


def _of_text(text: str) -> str:  # noqa: PLR0911 - a table of what a text may be, the most frequent first
    if text.isascii():
        if text.isalpha():
            return _WORDS.get(text, text)
    else:
        text = normalize("NFC", text)
    text = text.strip()
    if len(text) >= _UUID_LENGTH and (match := _UUID.fullmatch(text)):
        return "".join(match.groups()).lower()
    if _NUMBER.fullmatch(text):
        return _of_number(Decimal(text))
    if _MOMENT.fullmatch(text):
        try:
            return _of_moment(datetime.fromisoformat(text.replace("Z", "+00:00")))
        except ValueError:
            return text
    if "/" in text or "\\" in text or text in {"", ".", "..", "~"}:
        return _of_path(text.replace("\\", "/"))
    return _WORDS.get(text, text)


def _of_int(number: int) -> str:
    if number.bit_length() > _MAX_BITS:
        return f"\0int:{number:x}"
    text = str(number)
    return text if len(text) < _UUID_LENGTH else _of_text(text)


def _of_number(number: Decimal) -> str:
    if not number.is_finite():
        return repr(float(number)) if not number.is_nan() else "nan"
    # Or the text of a whole number would be as long as the number is large.
    if number.adjusted() <= 2 * _LONGEST_TEXT and number == number.to_integral_value():
        return str(int(number))
    return repr(float(number))  # the float that is nearest, since 0.1 and Decimal("0.1") are one place


def _of_moment(moment: datetime) -> str:
    """Return the text of a moment in UTC, which is the default zone."""
    if moment.utcoffset() is not None:
        moment = moment.astimezone(timezone.utc)
    return moment.replace(tzinfo=None, fold=0).isoformat()


def _of_path(text: str) -> str:
    """Return a path relative to the working directory, without access to the file system."""
    path = _plain(text.removeprefix("file://"))
    if path == "~" or path.startswith("~/"):
        path = _plain(os.path.expanduser(path))  # noqa: PTH111 - a Path drops what is left of an URL
    if path.startswith(("/", "..")):
        here = _working_folder()
        if not here:
            return path
        path = _plain(os.path.join(here, path))  # noqa: PTH118 - likewise
        if path == here:
            return "."
        path = path.removeprefix(f"{here}/")
    # What is left of a relative path may read as a plain name, a number or an id.
    return path if "/" in path or path in {".", "..", "~"} else _of_text(path)


def _working_folder() -> str:
    """Return the working directory, or nothing if it is gone."""
    try:
        return _plain(os.getcwd())  # noqa: PTH109 - a Path drops what is left of an URL
    except OSError:
        return ""


def _plain(path: str) -> str:
    path = os.path.normpath(path).replace("\\", "/")
    return path[1:] if path.startswith("//") else path
