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
            f"{role}={pointer!r} is no JSON Pointer: it begins with '/', as in '/data/0/id'; '~' is written '~0' "
            f"and '/' within a name '~1'"
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
            kind = {dict: "an object", list: f"a list of {len(found) if isinstance(found, list) else 0}"}
            where = f"{path!r} is {kind.get(type(found), f'a {type(found).__name__}')}"
            raise LookupError(f"the answer has nothing at {pointer!r}: {where}, without {name!r}")
        path += f"/{escaped}"
    return found
