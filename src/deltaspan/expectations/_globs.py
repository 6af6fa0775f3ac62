"""Glob patterns over the text of a path, matched in polynomial time.

The time grows at most as the length of the pattern times that of the text.

A regular expression tries each way to divide the text among the stars, and there are exponentially many. Here
each part of a pattern runs once. It maps the places in the text that it may start from to those it may reach.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

_Part: TypeAlias = Callable[[str, set[int]], set[int]]
"""Maps a text, and the places that the parts before it reach, to the places that it reaches."""

_TOKEN: Final = re.compile(
    r"""
    (?P<within>(?<=/)(?:\*\*/)+) | (?P<leading>^(?:\*\*/)+) | (?P<trailing>/\*\*\Z)
    | (?P<any>\*\*+) | (?P<part>\*) | (?P<one>\?) | (?P<set>\[!?\]?[^]]*\]) | (?P<plain>.)
    """,
    re.VERBOSE | re.DOTALL,
)


_NONE: Final[Mapping[int, str]] = MappingProxyType({})


class Glob:
    """A pattern that is prepared to match whole texts.

    Args:
        pattern: the pattern, as `_paths.py` describes it.
        literals: place in the pattern → literal text that replaces the character at that place.
    """

    __slots__ = ("_parts",)

    def __init__(self, pattern: str, literals: Mapping[int, str] = _NONE) -> None:
        self._parts = tuple(_parts(pattern, literals))

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches all of the text."""
        places = {0}
        for part in self._parts:
            places = part(text, places)
            if not places:
                return False
        return len(text) in places


def sets_of(pattern: str) -> Iterator[tuple[int, str]]:
    """Yield place and text of each set of characters in brackets."""
    for token in _TOKEN.finditer(pattern):
        if token.lastgroup == "set":
            yield token.start(), token.group()


def is_backwards(characters: str) -> bool:
    """Return whether a set of characters has a backwards range.

    Such a set is read as plain text.
    """
    return _characters(characters) is None


def _parts(pattern: str, literals: Mapping[int, str]) -> Iterator[_Part]:
    literal = ""
    for token in _TOKEN.finditer(pattern):
        kind, text = token.lastgroup or "plain", literals.get(token.start(), token.group())
        characters = _characters(text) if kind == "set" else None
        part = _PARTS.get(kind) if characters is None else _in_set(characters)
        if part is None:
            literal += text
            continue
        if literal:
            yield _literal(literal)
            literal = ""
        yield part
    if literal:
        yield _literal(literal)


def _characters(text: str) -> re.Pattern[str] | None:
    """Return a regex for one character of the set, or None.

    It is None for a range that is written backwards.
    """
    negated = text.startswith("[!")
    escaped = re.sub(r"[\\\[\]^&~|]", r"\\\g<0>", text[2 if negated else 1 : -1])
    try:
        return re.compile(f"(?!/)[{'^' if negated else ''}{escaped}]")
    except re.error:
        return None


def _literal(literal: str) -> _Part:
    size = len(literal)
    return lambda text, places: {place + size for place in places if text.startswith(literal, place)}


def _in_set(characters: re.Pattern[str]) -> _Part:
    return lambda text, places: {place + 1 for place in places if characters.match(text, place)}


def _one(text: str, places: set[int]) -> set[int]:
    """One character within a key, of which `~0` and `~1` each stand for one."""
    found = {place + 1 for place in places if place < len(text) and text[place] != "/"}
    return found | {place + 2 for place in places if text.startswith(("~0", "~1"), place)}


def _part(text: str, places: set[int]) -> set[int]:
    """Any characters within a key."""
    found: set[int] = set()
    end = -1
    for place in sorted(places):
        if place > end:  # else the stretch before it has covered it already
            end = text.find("/", place)
            end = len(text) if end < 0 else end
            found.update(range(place, end + 1))
    return found


def _any(text: str, places: set[int]) -> set[int]:
    """Any characters."""
    return set(range(min(places), len(text) + 1))


def _keys(text: str, places: set[int]) -> set[int]:
    """Any number of keys, each with the `/` after it, or none."""
    first = min(places) + 1
    return places | {place + 1 for place in range(first, len(text)) if text[place] == "/"}


def _rest(text: str, places: set[int]) -> set[int]:
    """All below a key, or the key itself."""
    slash = min((place for place in places if text.startswith("/", place)), default=len(text))
    return places | set(range(slash + 1, len(text) + 1))


_PARTS: Final[dict[str, _Part]] = {
    "within": _keys,
    "leading": _keys,
    "trailing": _rest,
    "any": _any,
    "part": _part,
    "one": _one,
}
