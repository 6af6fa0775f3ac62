"""SQL as a developer writes it: which `:name` in it is a parameter, and which colon is none."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["parsed"]

_LITERAL: Final = r"""(?<!\w)[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" """
_LITERAL_OF_MYSQL: Final = r"""'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | \#[^\n]*"""
_PATTERN: Final = r"""
    (?P<skipped> {literal} | `(?:[^`]|``)*`
      | --[^\n]* | /\*.*?\*/ | (?P<dollar>\$(?:[^\W\d]\w*)?\$).*?(?P=dollar) )
    | (?<![:\w\\]):(?P<name>\w+)(?:(?P<cast>::)(?=\w)|(?![:\w]))
"""
_FLAGS: Final = re.VERBOSE | re.DOTALL
_TOKENS: Final = re.compile(_PATTERN.format(literal=_LITERAL), _FLAGS)
_TOKENS_OF_MYSQL: Final = re.compile(_PATTERN.format(literal=_LITERAL_OF_MYSQL), _FLAGS)

# What `text()` of SQLAlchemy takes for a parameter, and for one that is escaped: also within a literal.
_TAKEN: Final = re.compile(r"(?<![:\w\\]):(?=\w+(?![:\w]))")
_UNESCAPED: Final = re.compile(r"\\(?=:\w*(?![:\w]))")


def parsed(sql: str, *, mysql: bool = False) -> tuple[str, tuple[str, ...]]:
    """Find the parameters of SQL, and escape every other colon that `text()` would take for one.

    Within literals, quoted identifiers, comments and dollar quotes nothing is a parameter; nor is `::cast`.

    Args:
        sql: SQL with `:name` for parameters.
        mysql: a backslash escapes a quote in any literal, and a # begins a comment.

    Returns:
        SQL for `text()`, and the names of its parameters in order of appearance.
    """
    names: dict[str, None] = {}

    def told(token: re.Match[str]) -> str:
        name = token["name"]
        if name is None:
            return _TAKEN.sub(r"\\:", _UNESCAPED.sub(r"\\\\", token.group()))
        if name[0].isdigit():  # a bound of a slice, [:2]
            return "\\" + token.group()
        names[name] = None
        return rf":{name}\:\:" if token["cast"] else token.group()

    found = (_TOKENS_OF_MYSQL if mysql else _TOKENS).sub(told, sql)
    return found, tuple(names)
