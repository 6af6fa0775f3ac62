"""Patterns over paths, taken part by part on the way down: a folder that cannot match is never entered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from typing import Final, TypeAlias

from deltaspan._render import show
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

__all__ = ["Patterns", "Places"]

Places: TypeAlias = frozenset[tuple[int, int]]
"""How far a path has come: pairs of a pattern and how many of its parts are behind it."""

_FOLDERS: Final = None
"""The part `**`: any number of names, or none."""


_FIELD: Final = re.compile(r"\{([^\W\d]\w*)\}")


class Patterns:
    """One or more patterns, any of which may match a path relative to the root.

    In a name `*` is any characters, `?` one and `[ab]` one of these, `[!ab]` one of the others; `**` in place
    of a name is any number of names, or none.

    Attributes:
        start: the places of the root itself.

    Args:
        role: what they are given as, for errors.
        patterns: one, or several.

    Raises:
        DefinitionTypeError: a pattern is not text.
        DefinitionValueError: a pattern could never match.
    """

    def __init__(self, role: str, patterns: str | Iterable[str]) -> None:
        given = [patterns] if isinstance(patterns, str) else list(patterns)
        if not given:
            raise DefinitionValueError(f"{role}= has no pattern; leave it out")
        self._patterns = [_compiled(role, pattern) for pattern in given]
        self.start = self._opened({(index, 0) for index in range(len(given))})

    def after(self, places: Places, name: str) -> Places:
        """Return where one more name leads."""
        found = set()
        for index, at in places:
            parts = self._patterns[index]
            if at < len(parts):
                part = parts[at]
                if part is _FOLDERS:
                    found.add((index, at))
                elif part.match(name):
                    found.add((index, at + 1))
        return self._opened(found)

    def of_files(self, places: Places) -> Callable[[str], object]:
        """Return what tells whether a file of some name matches, in a folder that these places lead to."""
        last = set()
        for index, at in places:
            parts = self._patterns[index]
            if at < len(parts) and set(parts[at + 1 :]) <= {_FOLDERS}:
                last.add(parts[at])
        tests = [part.match for part in last if part is not _FOLDERS]
        if len(tests) < len(last):
            return _anything
        return tests[0] if len(tests) == 1 else lambda name: any(test(name) for test in tests)

    def match(self, places: Places) -> bool:
        """Return whether some pattern has come to its end: it matches the path."""
        return any(at == len(self._patterns[index]) for index, at in places)

    def lead_on(self, places: Places) -> bool:
        """Return whether some pattern could match below."""
        return any(at < len(self._patterns[index]) for index, at in places)

    def _opened(self, places: set[tuple[int, int]]) -> Places:
        """Add the places behind each `**`, which may stand for no name at all."""
        found = set(places)
        for index, at in places:
            parts, end = self._patterns[index], at
            while end < len(parts) and parts[end] is _FOLDERS:
                end += 1
                found.add((index, end))
        return frozenset(found)


def _anything(_: str) -> bool:
    return True


def _compiled(role: str, pattern: object) -> tuple[re.Pattern[str] | None, ...]:
    if not isinstance(pattern, str):
        raise DefinitionTypeError(f"a pattern of {role}= is text, not {show(pattern)}")
    field = _FIELD.search(pattern)
    if field:
        raise DefinitionValueError(
            f"the pattern {pattern!r} of {role}= takes no fields: write {field[0]} in the folder's path, "
            f"or [{{]{field[1]}}} for a name with a brace"
        )
    names = pattern.split("/")
    wrong = [name for name in names if name in {"", ".", ".."} or ("**" in name and name != "**")]
    if wrong:
        raise DefinitionValueError(
            f"the pattern {pattern!r} of {role}= matches no path: paths are relative to the root, as in "
            f"'raw/*.csv', and '**' stands in place of a name, as in '**/*.csv'"
        )
    return tuple(_FOLDERS if name == "**" else re.compile(translate(name)) for name in names)
