"""Paths to the entries of a state, and arrays with their structure."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from deltaspan._guard import EXHAUSTED, class_name
from deltaspan._interrupts import let_through
from deltaspan._state.record import Record
from deltaspan._state.snapshot._trusted import has_plain_text


class Path(tuple[object, ...]):
    """The keys from the root of a state to one entry, outermost first.

    A path is the tuple of the *original* keys, so it equals and hashes like that tuple. An index into a
    sequence is an int. Its text is built only when it is read.

    Example:
        >>> path = Path(("orders", 3, "status"))
        >>> path.text, path.member
        ('orders/3/status', 'orders/3/status')
        >>> Path((42,)).text, Path((42,)).member
        ('42', 42)
    """

    __slots__ = ()

    @property
    def text(self) -> str:
        """The keys as text, joined by `/`.

        Within a key `~` is written `~0` and `/` is written `~1`, as in RFC 6901.
        """
        return "/".join(map(_escape, self))

    @property
    def member(self) -> object:
        """The name of this entry in an expectation.

        At the top level it is the original key, below it the text.
        """
        return self[0] if len(self) == 1 else self.text

    def __str__(self) -> str:
        return self.text


def _escape(key: object) -> str:
    try:
        text = _text_of(key)
    except EXHAUSTED:
        raise
    except BaseException as error:
        let_through(error)
        # The text of a key may raise. The path must have a text all the same.
        text = f"<{class_name(type(key))}>"
    return text.replace("~", "~0").replace("/", "~1")


def _text_of(key: Any) -> str:
    """Return the text of a key.

    A class that writes its own text cannot take that of another key.
    """
    kind = type(key)
    if has_plain_text(kind):  # type: ignore[arg-type]  # a class hashes
        return str.__str__(str(key))
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, Enum):
        return f"{class_name(kind)}.{key._name_}"
    return f"<{class_name(kind)}: {str.__str__(str(key))}>"


class Aspect(str):
    """The name of a change that is not a change of content.

    No key of a state has this type.
    """

    __slots__ = ()


STRUCTURE: Final = Aspect("(structure)")
"""The change of the structure of a frame or an array: columns, names, types, shape."""

ORDER: Final = Aspect("(order)")
"""The change of the order of a frame's rows."""


class Array(tuple[Any, ...]):  # noqa: SLOT001 - a tuple of any length has no room for slots
    """The members of an array, with its structure.

    Attributes:
        structure: the class, the type of its items, and its shape but for its length, as text.
    """

    structure: str

    def __reduce__(self) -> tuple[Any, ...]:
        return make_array, (tuple(self), self.structure)


def make_array(members: tuple[Any, ...], structure: str) -> Array:
    """Return frozen members as those of an array with this structure."""
    made = Array(members)
    made.structure = structure
    return made


def structure_of(frozen: Any) -> str | None:
    """Return the structure of a frame, a series or an array, else None."""
    if type(frozen) is Array:
        return frozen.structure
    return frozen.structure if type(frozen) is Record else None
