"""JSON Pointers (RFC 6901): a path to a part of a document."""

from __future__ import annotations

import re
from typing import Any, Final

from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

_WHOLE: Final = ""
_INDEX: Final = re.compile(r"0|[1-9][0-9]*")
_ESCAPE: Final = re.compile(r"~(?![01])")


def check_pointer(pointer: str | None, role: str) -> str | None:
    """Validate a JSON Pointer, or pass None through.

    Raises:
        DefinitionTypeError: it is not a str.
        DefinitionValueError: it is not a JSON Pointer.
    """
    if pointer is None:
        return None
    if not isinstance(pointer, str):
        raise DefinitionTypeError(f"{role} takes a JSON Pointer such as '/data/0/id', not {pointer!r}")
    if (pointer != _WHOLE and not pointer.startswith("/")) or _ESCAPE.search(pointer):
        raise DefinitionValueError(
            f"{role}={pointer!r} is not a JSON Pointer: begin it with '/', as in '/data/0/id'; write '~' as "
            f"'~0' and '/' within a name as '~1'"
        )
    return pointer


def resolve_pointer(document: Any, pointer: str) -> Any:
    """Return the part of a document at a pointer.

    Raises:
        LookupError: the path does not exist. The text names the deepest part that exists.
    """
    value, path = document, ""
    for escaped in pointer.split("/")[1:]:
        name = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise LookupError(
                f"the answer has nothing at {pointer!r}: {_describe(value)} at {path!r} has no {name!r}"
            )
        path += f"/{escaped}"
    return value


def _describe(value: Any) -> str:
    if isinstance(value, list):
        return f"the list of {len(value)}"
    return "the object" if isinstance(value, dict) else f"the {type(value).__name__}"
