"""Removal of ignored members from a state before it is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import inf
from typing import Final

from deltaspan._state.snapshot import Path
from deltaspan.expectations._paths import Names
from deltaspan.expectations._patterns import Pattern

_MARKS: Final = re.compile(r"[*?[]")


class PatternPruning:
    """A pruning of all entries that some patterns name, with their descendants.

    Args:
        patterns: patterns, and keys that are not text. None is computed.
    """

    __slots__ = ("_deepest", "_last_keys", "_names", "_shallow")

    def __init__(self, patterns: Iterable[object]) -> None:
        patterns = tuple(patterns)
        self._names = Names(patterns, deep=True)
        texts = [pattern.path_text if isinstance(pattern, Pattern) else pattern for pattern in patterns]
        across = [text for text in texts if isinstance(text, str) and "**" in text]
        # A pattern without `**` names nothing below as many keys as it has parts.
        self._shallow = max(
            (text.count("/") + 1 if isinstance(text, str) else 1 for text in texts if text not in across),
            default=0,
        )
        self._deepest = inf if across else self._shallow
        # If the patterns with `**` end in a plain key, one look-up rules out nearly all keys.
        lasts = [text.rpartition("/")[2] for text in across]
        self._last_keys = None if any(map(_MARKS.search, lasts)) else frozenset(lasts)

    def leaves_out(self, keys: Sequence[object], key: object) -> bool:
        """Return whether the entry at `key` below `keys` is left out."""
        if len(keys) >= self._shallow and self._last_keys is not None:
            text = str(key) if type(key) is int else key
            if type(text) is str and text not in self._last_keys and "/" not in text and "~" not in text:
                return False
        return bool(self._names.of_path(Path((*keys, key))))

    def reaches(self, depth: int) -> bool:
        """Return whether anything may be left out below this many keys."""
        return depth < self._deepest
