"""What a member names: a value, or the entries of a mapping or a nested document whose path it matches.

A member that is not text is compared by value, with the members of a set or a sequence, or with the original
keys of a mapping. Text is a glob pattern over the path of an entry, its keys joined by `/`:

    *       any part of one key           orders/*/status
    **      any number of keys, or none   **/status, orders/3/**
    ?       one character of a key
    [ab]    one of these characters; [!ab] any other

A pattern without a `/` matches a key at the top level. Within a key `/` is `~1` and `~` is `~0`, as in
RFC 6901; a key that has them may also be written as it is, so `logs/*` matches the key "logs/a.txt" too. A
character that has a meaning stands for itself in brackets: `[*]`, `[?]`, `[[]`. Text that *is* a top-level
key, whatever characters it has, always names that key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from deltaspan._difference import identity
from deltaspan._freeze import Path

__all__ = ["Names", "is_glob"]

_MARKS: Final = re.compile(r"[*?[]")
_TILDE: Final = re.compile(r"~(?![01])")
_TOKEN: Final = re.compile(
    r"""
    (?P<within>(?<=/)(?:\*\*/)+) | (?P<leading>^(?:\*\*/)+) | (?P<trailing>/\*\*\Z)
    | (?P<any>\*\*+) | (?P<part>\*) | (?P<one>\?) | (?P<set>\[!?\]?[^]]*\]) | (?P<plain>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_TRANSLATED: Final = {
    "within": "(?:.+/)?",
    "leading": "(?:.+/)?",
    "trailing": "(?:/.*)?",
    "any": ".*",
    "part": "[^/]*",
    "one": "(?:~[01]|[^/])",
}


def is_glob(member: object) -> bool:
    """Whether the member is text that may match more than the one path that it spells."""
    return isinstance(member, str) and _MARKS.search(member) is not None


class _Glob(NamedTuple):
    place: int
    of_text: re.Pattern[str]
    of_raw: re.Pattern[str]
    top_level: bool


class Names:
    """Members, prepared to be found: each question costs a few look-ups, and one match a glob pattern.

    Args:
        members: values and patterns, frozen.
        deep: whether naming an entry at the top level names all that lies below it.
    """

    __slots__ = ("_deep", "_globs", "_raws", "_texts", "_values")

    def __init__(self, members: Iterable[object], *, deep: bool) -> None:
        self._deep = deep
        self._values: dict[object, list[int]] = {}
        self._texts: dict[str, list[int]] = {}
        self._raws: dict[str, list[int]] = {}
        self._globs: list[_Glob] = []
        for index, member in enumerate(members):
            self._values.setdefault(identity(member), []).append(index)
            if not isinstance(member, str):
                continue
            text = _TILDE.sub("~0", member)
            if is_glob(member):
                top_level = "/" not in member
                self._globs.append(_Glob(index, _compiled(text), _compiled(member), top_level))
            else:
                self._texts.setdefault(text, []).append(index)
                self._raws.setdefault(member, []).append(index)

    def of_value(self, member: object) -> list[int]:
        """Return which of the members, by position, equal this one of a set or a sequence."""
        return self._values.get(identity(member), [])

    def of_member(self, member: object) -> set[int]:
        """As `of_value`, but text is also matched by patterns, as if it were a key."""
        return self.of_path(Path((member,))) if isinstance(member, str) else set(self.of_value(member))

    def of_path(self, path: Path) -> set[int]:
        """Return which of the members, by position, name this entry of a mapping or a nested document."""
        found: set[int] = set()
        if self._deep or len(path) == 1:
            found.update(self._values.get(identity(path[0]), ()))
        if not self._texts and not self._globs:
            return found
        text = path.text
        top = text.partition("/")[0]
        raw = text.replace("~1", "/").replace("~0", "~") if "~" in text else None
        found.update(self._texts.get(text, ()))
        if self._deep:
            found.update(self._texts.get(top, ()))
        if raw is not None:
            found.update(self._raws.get(raw, ()))
        for glob in self._globs:
            if (
                glob.of_text.fullmatch(text)
                or (self._deep and glob.top_level and glob.of_text.fullmatch(top))
                or (raw is not None and glob.of_raw.fullmatch(raw))
            ):
                found.add(glob.place)
        return found


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(map(_translated, _TOKEN.finditer(pattern))), re.DOTALL)


def _translated(token: re.Match[str]) -> str:
    kind, text = token.lastgroup, token.group()
    if kind == "set":
        return _translated_set(text)
    return _TRANSLATED.get(kind or "") or re.escape(text)


def _translated_set(text: str) -> str:
    negated = text.startswith("[!")
    characters = text[2 if negated else 1 : -1]
    escaped = re.sub(r"[\\\[\]^&~|]", r"\\\g<0>", characters)
    expression = f"(?!/)[{'^' if negated else ''}{escaped}]"
    try:
        re.compile(expression)
    except re.error:  # a range written backwards
        return re.escape(text)
    return expression
