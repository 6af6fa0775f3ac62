"""Where a probe reads, a path that an argument of the action may be part of; and how much at most."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from deltaspan._state.render import show
from deltaspan._templates import Template, fields_of, filled, places_of, relative_fault
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

__all__ = ["AnyPath", "Place", "checked_limit"]

AnyPath: TypeAlias = Template


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
        self._path = path
        if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
            raise DefinitionTypeError(f"a place to read is text or a pathlib.Path, not {show(path)}")
        if not path:
            raise DefinitionValueError("a place to read is not empty text: '.' is the current folder")
        self.names = fields_of(path)
        # An argument that begins the path may be any path. One behind a folder stays below that folder.
        self._behind = tuple(dict.fromkeys(name for before, name, _ in places_of(path) if before))

    def path(self, arguments: Mapping[str, Any]) -> str:
        """Return the path of one call.

        Raises:
            TypeError: an argument cannot be a part of a path.
            ValueError: one would lead to another place than the one that the template names.
        """
        for name in self._behind:
            fault = relative_fault(name, filled(f"{{{name}}}", arguments))
            if fault is not None:
                raise ValueError(fault)
        return filled(self._path, arguments)

    def __repr__(self) -> str:
        return repr(self._path)


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
