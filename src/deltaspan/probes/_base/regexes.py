"""Regular expressions and globs with fields: where an argument can be quoted, and where it cannot."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_literal_place", "is_literal_place_of_glob"]

_QUOTED: Final = re.compile(r"\\Q.*?\\E", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_CLASS: Final = re.compile(r"\[\^?\]?(?:\[:\w*:\]|[^\]])*\]")
_OPEN: Final = re.compile(r"\[|\\\Z|\{[\w,^]*\Z|\(\?[^:)>=!]*\Z")
"""A class, an escape, a repetition or a group's flags that goes on where the text ends."""
_CLASS_OF_GLOB: Final = re.compile(r"\[[^\]]*\]")
_OPEN_GLOB: Final = re.compile(r"\[|\\\Z")


def is_literal_place(before: str) -> bool:
    """Return whether a quoted text behind this part of a regular expression matches itself alone.

    Args:
        before: the regular expression up to that place, in the syntax that RE2, PCRE and Python share.
    """
    rest = _QUOTED.sub("", before)
    if "\\Q" in rest:
        return False
    return not _OPEN.search(_CLASS.sub("", _ESCAPED.sub("_", rest)))


def is_literal_place_of_glob(before: str) -> bool:
    """Return whether a quoted text behind this part of a pattern of Redis matches itself alone."""
    return not _OPEN_GLOB.search(_CLASS_OF_GLOB.sub("", _ESCAPED.sub("_", before)))
