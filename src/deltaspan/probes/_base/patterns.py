"""Places in regular expressions and globs at which an argument can be quoted."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_literal_place", "is_literal_place_in_glob"]

_QUOTED: Final = re.compile(r"\\Q.*?\\E", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_CLASS: Final = re.compile(r"\[\^?\]?(?:\[:\w*:\]|[^\]])*\]")
_OPEN: Final = re.compile(r"\[|\\\Z|\{[\w,^]*\Z|\(\?[^:)>=!]*\Z")
"""A class, escape, repetition or group flags that are still open at the end of the text."""
_CLASS_OF_GLOB: Final = re.compile(r"\[[^\]]*\]")
_OPEN_GLOB: Final = re.compile(r"\[|\\\Z")


def is_literal_place(before: str) -> bool:
    """Return whether text quoted at this place in a regular expression matches only itself.

    Args:
        before: the regular expression up to that place, in the syntax that RE2, PCRE and Python share.
    """
    unquoted = _QUOTED.sub("", before)
    if "\\Q" in unquoted:
        return False
    return not _OPEN.search(_CLASS.sub("", _ESCAPED.sub("_", unquoted)))


def is_literal_place_in_glob(before: str) -> bool:
    """Return whether text quoted at this place in a Redis pattern matches only itself."""
    return not _OPEN_GLOB.search(_CLASS_OF_GLOB.sub("", _ESCAPED.sub("_", before)))
