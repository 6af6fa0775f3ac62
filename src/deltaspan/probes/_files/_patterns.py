"""Path patterns that are matched name by name on the way down a tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from typing import Any, Final, TypeAlias

from deltaspan._state.render import show
from deltaspan._templates import fields_of, fill, has_fixed_length, places_of, relative_fault
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

Progress: TypeAlias = frozenset[tuple[int, int]]
"""The progress of a path: pairs of a pattern and the number of its parts that are matched."""

_FOLDERS: Final = None
"""The part `**`, which matches any number of names, or none."""


_CLASS: Final = re.compile(r"\[[^\]]*\]")
_GLOB: Final = re.compile(r"[*?\[]")


class Patterns:
    """One or more patterns over paths relative to the root.

    A path matches if any pattern matches it.

    In a name, `*` matches any characters, `?` one, `[ab]` one of these and `[!ab]` any other one. `**` in
    place of a name matches any number of names, or none.

    Attributes:
        start: the progress at the root.

    Args:
        role: the name of their argument, for errors.
        patterns: one, or several.

    Raises:
        DefinitionTypeError: a pattern is not a str.
        DefinitionValueError: a pattern could never match.
    """

    def __init__(self, role: str, patterns: str | Iterable[str]) -> None:
        given = [patterns] if isinstance(patterns, str) else list(patterns)
        if not given:
            raise DefinitionValueError(f"{role}= has no pattern; leave it out")
        self._patterns = [_compile(role, pattern) for pattern in given]
        self.start = self._skip_folders({(index, 0) for index in range(len(given))})

    def advance(self, progress: Progress, name: str) -> Progress:
        """Return the progress after one more name of the path."""
        positions = set()
        for index, position in progress:
            parts = self._patterns[index]
            if position < len(parts):
                part = parts[position]
                if part is _FOLDERS:
                    positions.add((index, position))
                elif part.match(name):
                    positions.add((index, position + 1))
        return self._skip_folders(positions)

    def file_matcher(self, progress: Progress) -> Callable[[str], object]:
        """Return a test of file names in a folder with this progress."""
        last = set()
        for index, position in progress:
            parts = self._patterns[index]
            if position < len(parts) and set(parts[position + 1 :]) <= {_FOLDERS}:
                last.add(parts[position])
        tests = [part.match for part in last if part is not _FOLDERS]
        if len(tests) < len(last):
            return _anything
        return tests[0] if len(tests) == 1 else lambda name: any(test(name) for test in tests)

    def is_match(self, progress: Progress) -> bool:
        """Return whether some pattern is at its end, so that the path matches."""
        return any(position == len(self._patterns[index]) for index, position in progress)

    def can_match_below(self, progress: Progress) -> bool:
        """Return whether some pattern can match a path further below."""
        return any(position < len(self._patterns[index]) for index, position in progress)

    def _skip_folders(self, progress: set[tuple[int, int]]) -> Progress:
        """Add the places after each `**`, which may match no name at all."""
        positions = set(progress)
        for index, position in progress:
            parts, end = self._patterns[index], position
            while end < len(parts) and parts[end] is _FOLDERS:
                end += 1
                positions.add((index, end))
        return frozenset(positions)


class PatternTemplates:
    """Patterns with `{name}` fields, filled with the action's arguments and quoted.

    Attributes:
        names: the arguments, each once.

    Args:
        role: the name of their argument, for errors.
        patterns: one, or several. A literal brace is doubled.

    Raises:
        DefinitionTypeError: a pattern is not a str.
        DefinitionValueError: a pattern could never match, or a field stands where it cannot be matched
            literally: in brackets, or next to `*`.
    """

    def __init__(self, role: str, patterns: str | Iterable[str]) -> None:
        self._role = role
        self._patterns = [patterns] if isinstance(patterns, str) else list(patterns)
        for pattern in self._patterns:
            if not isinstance(pattern, str):
                raise DefinitionTypeError(f"a pattern of {role}= is text, not {show(pattern)}")
            _check_pattern_fields(role, pattern)
        self.names = fields_of(*self._patterns)
        found = self._compile(dict.fromkeys(self.names, "x"))  # a pattern that never matches raises now
        self._fixed_patterns = None if self.names else found

    def fill(self, arguments: Mapping[str, Any]) -> Patterns:
        """Return the patterns of one call, filled with its arguments.

        Raises:
            TypeError: an argument cannot be a part of a path.
            ValueError: one would lead out of the folder.
        """
        if self._fixed_patterns is not None:
            return self._fixed_patterns
        values = {name: fill(f"{{{name}}}", arguments) for name in self.names}
        for name, text in values.items():
            fault = relative_fault(name, text)
            if fault is not None:
                raise ValueError(fault)
        return self._compile({name: _GLOB.sub(r"[\g<0>]", text) for name, text in values.items()})

    def _compile(self, values: Mapping[str, str]) -> Patterns:
        return Patterns(self._role, [fill(pattern, values) for pattern in self._patterns])


def _check_pattern_fields(role: str, pattern: str) -> None:
    for before, name, advance in places_of(pattern):
        is_beside = before.endswith("*") or advance.startswith("*")
        if "[" in _CLASS.sub("", before) or (is_beside and not has_fixed_length(name)):
            raise DefinitionValueError(
                f"the pattern {pattern!r} of {role}= has {{{name}}} in brackets or next to '*', where 'acme' "
                f"would match other names too; put the character that ends the name between them, as in "
                f"'{{{name}}}.*'"
            )


def _anything(_: str) -> bool:
    return True


def _compile(role: str, pattern: object) -> tuple[re.Pattern[str] | None, ...]:
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
