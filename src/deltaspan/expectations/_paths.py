"""Resolution of members: the values, and the paths of entries, that they name.

A member that is not text compares by value with the members of a set or a sequence, or with the original keys
of a mapping. A Pattern, which is text that an author writes, is a glob over the path of an entry. The keys of
a path are joined by `/`:

    *       any part of one key           orders/*/status
    **      any number of keys, or none   **/status, orders/3/**
    ?       one character of a key
    [ab]    one of these characters; [!ab] any other

A pattern without a `/` matches a key at the top level. Within a key `/` is `~1` and `~` is `~0`, as in
RFC 6901; a key that has them may also be written as it is, so `logs/*` matches the key "logs/a.txt" too. A
character that has a meaning stands for itself in brackets: `[*]`, `[?]`, `[[]`. Text that *is* a top-level
key, whatever characters it has, always names that key.

A plain `str` was computed in the run and is literal: it names the one path that it spells, or the key that it
is. So does an argument that is filled into a pattern. It stays within one key, even if it holds a `/`.

At the top level text names keys that are text, and no other: "1" is not the key 1, nor "None" the key None,
and `*` matches neither; only `**`, alone, is every key of whatever kind. Further down a path is text, in
which a key that is no text stands as it is written: `orders/3`, `*/status`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from deltaspan._state.diff import identity
from deltaspan._state.snapshot import Path
from deltaspan.expectations._globs import Glob
from deltaspan.expectations._patterns import Pattern

_TILDE: Final = re.compile(r"~(?![01])")
_EVERY_KEY: Final = re.compile(r"\*\*+")


class _Placed(NamedTuple):
    place: int
    of_text: Glob
    of_raw: Glob
    top_level: bool
    every_key: bool
    raw_is_key: bool
    """Whether the pattern has an argument with a `/`, so that it is not a path of raw keys."""


class Names:
    """An index of members.

    Each question costs a few look-ups, and one match for each glob pattern.

    Args:
        members: values and patterns, frozen.
        deep: whether naming an entry at the top level names all that lies below it.
    """

    __slots__ = ("_deep", "_globs", "_marked", "_raws", "_texts", "_values")

    def __init__(self, members: Iterable[object], *, deep: bool) -> None:
        self._deep = deep
        self._values: dict[object, list[int]] = {}
        self._texts: dict[str, list[int]] = {}
        self._raws: dict[str, list[int]] = {}
        self._globs: list[_Placed] = []
        self._marked: set[int] = set()
        for index, member in enumerate(members):
            value = member.literal if isinstance(member, Pattern) else member
            self._values.setdefault(identity(value), []).append(index)
            if isinstance(member, Pattern):
                self._add_pattern(index, member)
            elif isinstance(member, str):
                self._add_text(index, _TILDE.sub("~0", member), member)

    def _add_pattern(self, index: int, member: Pattern) -> None:
        if member.is_marked:
            self._marked.add(index)
        if not member.is_glob:
            self._add_text(index, member.path_text, None if member.crosses_keys else member.literal)
            return
        text = member.text
        self._globs.append(
            _Placed(
                index,
                member.of_text(),
                member.of_raw(),
                top_level="/" not in text,
                every_key=_EVERY_KEY.fullmatch(text) is not None,
                raw_is_key=member.crosses_keys,
            )
        )

    def _add_text(self, index: int, text: str, raw: str | None) -> None:
        self._texts.setdefault(text, []).append(index)
        if raw is not None:
            self._raws.setdefault(raw, []).append(index)

    def of_value(self, member: object) -> Collection[int]:
        """Return the positions of members that name this member of a collection.

        The collection is a set or a sequence.

        They are those that equal it, and those that are marked as patterns and match its text.
        """
        found = self._values.get(identity(member), [])
        if not self._marked or not isinstance(member, str):
            return found
        return {*found, *(self._marked & self.of_path(Path((member,))))}

    def of_member(self, member: object) -> set[int]:
        """Return the same as `of_value`, with all patterns matched against text.

        Text is matched as if it were a key.
        """
        return self.of_path(Path((member,))) if isinstance(member, str) else set(self.of_value(member))

    def of_path(self, path: Path) -> set[int]:
        """Return the positions of members that name this entry of a mapping.

        The mapping may be nested.
        """
        found: set[int] = set()
        if self._deep or len(path) == 1:
            found.update(self._values.get(identity(path[0]), ()))
        if not self._texts and not self._globs:
            return found
        is_text = isinstance(path[0], str)  # the text of another kind of key does not name it
        if len(path) == 1 and not is_text:
            found.update(glob.place for glob in self._globs if glob.every_key)
            return found
        text = path.text
        top = text.partition("/")[0] if self._deep and is_text else None
        raw = text.replace("~1", "/").replace("~0", "~") if "~" in text else None
        found.update(self._texts.get(text, ()))
        if top is not None:
            found.update(self._texts.get(top, ()))
        if raw is not None:
            found.update(self._raws.get(raw, ()))
        for glob in self._globs:
            if (
                glob.of_text.matches(text)
                or (top is not None and glob.top_level and glob.of_text.matches(top))
                or (raw is not None and _is_raw(glob, path) and glob.of_raw.matches(raw))
            ):
                found.add(glob.place)
        return found


def _is_raw(glob: _Placed, path: Path) -> bool:
    return len(path) == 1 or not glob.raw_is_key
