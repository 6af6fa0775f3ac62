"""Paths with `{name}` fields, and size limits of a read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from deltaspan._state.render import show
from deltaspan._templates import Template, fields_of, fill, places_of, relative_fault
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

AnyPath: TypeAlias = Template


class PathTemplate:
    """A path, with `{name}` in its text for an argument of the action.

    Attributes:
        names: the arguments that are part of it, each once.

    Args:
        path: a str, in which a literal brace is doubled, or a `pathlib.Path`, which is used literally.

    Raises:
        DefinitionTypeError: it is not a str or a path.
        DefinitionValueError: it is empty, or has braces that are not `{name}`.
    """

    def __init__(self, path: AnyPath) -> None:
        self._path = path
        if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
            raise DefinitionTypeError(f"a path is a str or a pathlib.Path, not {show(path)}")
        if not path:
            raise DefinitionValueError("the path is empty; write '.' for the current folder")
        self.names = fields_of(path)
        # An argument at the start may be any path. An argument after a folder stays below that folder.
        self._behind = tuple(dict.fromkeys(name for before, name, _ in places_of(path) if before))

    def path(self, arguments: Mapping[str, Any]) -> str:
        """Return the path of one call.

        Raises:
            TypeError: an argument cannot be a part of a path.
            ValueError: an argument would lead to another folder than the one that the template names.
        """
        for name in self._behind:
            fault = relative_fault(name, fill(f"{{{name}}}", arguments))
            if fault is not None:
                raise ValueError(fault)
        return fill(self._path, arguments)

    def __repr__(self) -> str:
        return repr(self._path)


def check_limit(limit: object, most: int | None = None) -> int:
    """Validate a limit and return it.

    Raises:
        DefinitionTypeError: it is not an int.
        DefinitionValueError: it is not positive, or more than `most`.
    """
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise DefinitionTypeError(f"limit= takes a whole number, not {show(limit)}")
    if limit < 1 or (most is not None and limit > most):
        raise DefinitionValueError(
            f"limit={limit} is too small; write at least 1"
            if most is None
            else f"limit={limit} is out of range; write a number from 1 to {most}"
        )
    return limit
