"""JSON Pointer (RFC 6901): which part of a document is meant."""

from __future__ import annotations

import re
from typing import Any, Final

from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

__all__ = ["at", "checked"]

_WHOLE: Final = ""
_INDEX: Final = re.compile(r"0|[1-9][0-9]*")
_ESCAPE: Final = re.compile(r"~(?![01])")


def checked(pointer: str | None, role: str) -> str | None:
    """Return a pointer that is one, or None.

    Raises:
        DefinitionTypeError: it is no text.
        DefinitionValueError: it is no JSON Pointer.
    """
    if pointer is None:
        return None
    if not isinstance(pointer, str):
        raise DefinitionTypeError(f"{role} takes a JSON Pointer such as '/data/0/id', not {pointer!r}")
    if (pointer != _WHOLE and not pointer.startswith("/")) or _ESCAPE.search(pointer):
        raise DefinitionValueError(
            f"{role}={pointer!r} is no JSON Pointer: it begins with '/', as in '/data/0/id'; '~' is written "
            f"'~0' and '/' within a name '~1'"
        )
    return pointer


def at(document: Any, pointer: str) -> Any:
    """Return what a pointer points to.

    Raises:
        LookupError: there is nothing; the text says from where on.
    """
    found, path = document, ""
    for escaped in pointer.split("/")[1:]:
        name = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and _INDEX.fullmatch(name) and int(name) < len(found):
            found = found[int(name)]
        else:
            raise LookupError(
                f"the answer has nothing at {pointer!r}: {_kind(found)} at {path!r} has no {name!r}"
            )
        path += f"/{escaped}"
    return found


def _kind(found: Any) -> str:
    if isinstance(found, list):
        return f"the list of {len(found)}"
    return "the object" if isinstance(found, dict) else f"the {type(found).__name__}"
