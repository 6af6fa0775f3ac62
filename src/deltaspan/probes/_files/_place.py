"""Where a probe reads, a path that an argument of the action may be part of; and how much at most."""

from __future__ import annotations

import os
from collections.abc import Mapping
from string import Formatter
from typing import Any, TypeAlias

from deltaspan._render import show
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

__all__ = ["AnyPath", "Place", "checked_limit"]

AnyPath: TypeAlias = str | os.PathLike[str]


class Place:
    """A path, with `{name}` in its text for an argument of the action.

    Attributes:
        names: the arguments that are part of it, each once.

    Args:
        path: text, in which a brace that is meant is doubled; a `pathlib.Path` is taken as it is.

    Raises:
        DefinitionTypeError: it is no path.
        DefinitionValueError: it is empty, or its braces are not `{name}`.
    """

    def __init__(self, path: AnyPath) -> None:
        self._written = path
        text = path if isinstance(path, str) else _plain(path)
        if text is None:
            raise DefinitionTypeError(f"a place to read is text or a pathlib.Path, not {show(path)}")
        if not text:
            raise DefinitionValueError("a place to read is not empty text: '.' is the current folder")
        self._parts = _parts(text) if isinstance(path, str) else [(text, None)]
        self.names = tuple(dict.fromkeys(name for _, name in self._parts if name is not None))

    def path(self, arguments: Mapping[str, Any]) -> str:
        """Return the path of one call.

        Raises:
            TypeError: an argument is no text, path or whole number.
        """
        return "".join(
            literal if name is None else literal + _as_text(name, arguments[name])
            for literal, name in self._parts
        )

    def __repr__(self) -> str:
        return repr(self._written)


def _plain(path: object) -> str | None:
    text = os.fspath(path) if isinstance(path, os.PathLike) else None
    return text if isinstance(text, str) else None


def _parts(text: str) -> list[tuple[str, str | None]]:
    try:
        parsed = list(Formatter().parse(text))
    except ValueError as error:
        raise _misused(text, f" ({error})") from None
    for _, name, spec, conversion in parsed:
        if name is not None and (spec or conversion or not name.isidentifier()):
            raise _misused(text, "")
    return [(literal, name) for literal, name, _, _ in parsed]


def _misused(text: str, why: str) -> DefinitionValueError:
    return DefinitionValueError(
        f"in {text!r} braces name a parameter of the action, as in '{{workspace}}/out'{why}; double a brace "
        f"that is part of the path, or give a pathlib.Path, which is taken as it is"
    )


def _as_text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = _plain(value)
    if text is None:
        raise TypeError(f"{name} is no part of a path: it is {show(value)}")
    return text


def checked_limit(limit: object, most: int | None = None) -> int:
    """Return a limit.

    Raises:
        DefinitionTypeError: it is no whole number.
        DefinitionValueError: it is not positive, or more than `most`.
    """
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise DefinitionTypeError(f"limit= is a whole number, not {show(limit)}")
    if limit < 1 or (most is not None and limit > most):
        raise DefinitionValueError(
            f"limit={limit} is not a number from 1"
            if most is None
            else f"limit={limit} is not within 1 and {most}"
        )
    return limit
