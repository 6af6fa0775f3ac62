"""Patterns over paths, taken part by part on the way down: a folder that cannot match is never entered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from typing import Any, Final, TypeAlias

from deltaspan._state.render import show
from deltaspan._templates import fields_of, filled, is_of_one_length, places_of, relative_fault
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

__all__ = ["Patterns", "PatternsWithFields", "Places"]

Places: TypeAlias = frozenset[tuple[int, int]]
"""How far a path has come: pairs of a pattern and how many of its parts are behind it."""

_FOLDERS: Final = None
"""The part `**`: any number of names, or none."""


_CLASS: Final = re.compile(r"\[[^\]]*\]")
_GLOB: Final = re.compile(r"[*?\[]")


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


class PatternsWithFields:
    """One or more patterns in whose text `{name}` is an argument of the action, matched as it is.

    Attributes:
        names: the arguments, each once.

    Args:
        role: what they are given as, for errors.
        patterns: one, or several. A brace that is meant is doubled.

    Raises:
        DefinitionTypeError: a pattern is not text.
        DefinitionValueError: a pattern could never match, or a field stands where it cannot be matched as it
            is: in brackets, or next to `*`.
    """

    def __init__(self, role: str, patterns: str | Iterable[str]) -> None:
        self._role = role
        self._patterns = [patterns] if isinstance(patterns, str) else list(patterns)
        for pattern in self._patterns:
            if not isinstance(pattern, str):
                raise DefinitionTypeError(f"a pattern of {role}= is text, not {show(pattern)}")
            _refuse_parts_of_patterns(role, pattern)
        self.names = fields_of(*self._patterns)
        found = self._compiled(dict.fromkeys(self.names, "x"))  # what could never match is refused now
        self._made = None if self.names else found

    def filled(self, arguments: Mapping[str, Any]) -> Patterns:
        """Return the patterns of one call.

        Raises:
            TypeError: an argument cannot be a part of a path.
            ValueError: one would lead out of the folder.
        """
        if self._made is not None:
            return self._made
        values = {name: filled(f"{{{name}}}", arguments) for name in self.names}
        for name, text in values.items():
            fault = relative_fault(name, text)
            if fault is not None:
                raise ValueError(fault)
        return self._compiled({name: _GLOB.sub(r"[\g<0>]", text) for name, text in values.items()})

    def _compiled(self, values: Mapping[str, str]) -> Patterns:
        return Patterns(self._role, [filled(pattern, values) for pattern in self._patterns])


def _refuse_parts_of_patterns(role: str, pattern: str) -> None:
    for before, name, after in places_of(pattern):
        is_beside = before.endswith("*") or after.startswith("*")
        if "[" in _CLASS.sub("", before) or (is_beside and not is_of_one_length(name)):
            raise DefinitionValueError(
                f"the pattern {pattern!r} of {role}= has {{{name}}} in brackets or next to '*', where 'acme' "
                f"would match other names too; put what ends the name between them, as in '{{{name}}}.*'"
            )


def _anything(_: str) -> bool:
    return True


def _compiled(role: str, pattern: object) -> tuple[re.Pattern[str] | None, ...]:
    if not isinstance(pattern, str):
        raise DefinitionTypeError(f"a pattern of {role}= is text, not {show(pattern)}")
    names = pattern.split("/")
    wrong = [name for name in names if name in {"", ".", ".."} or ("**" in name and name != "**")]
    if wrong:
        raise DefinitionValueError(
            f"the pattern {pattern!r} of {role}= matches no path: paths are relative to the root, as in "
            f"'raw/*.csv', and '**' stands in place of a name, as in '**/*.csv'"
        )
    return tuple(_FOLDERS if name == "**" else re.compile(translate(name)) for name in names)
