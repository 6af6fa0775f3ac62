"""SQL as a developer writes it: which `:name` in it is a parameter, and which colon is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["parsed", "quoted_names"]

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

# A literal that is nothing but a name, written as some language writes a parameter.
_NAMED: Final = re.compile(
    r"""[eE]?(?P<quote>['"])(?:\{(?P<braced>[^\W\d]\w*)\}|(?P<mark>[:$])(?P<marked>[^\W\d]\w*))(?P=quote)"""
)
# Where it may well be meant: as a path, a key, a pattern, an array of PostgreSQL, an argument of a function.
_MEANT_AFTER: Final = re.compile(
    r"(?:[-#@?&|][-#@?&|>]*|<@|~\*?|,|\b(?:ANY|ALL|SOME)\s*\()\s*\Z", re.IGNORECASE
)
_MEANT_BEFORE: Final = re.compile(r"\s*(?:::|<@|@>|&&|AS\b)", re.IGNORECASE)


def quoted_names(sql: str, *, mysql: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each literal that was surely meant as a parameter, and the name in it.

    It is compared as that very text, which no row has: a check of it would find that nothing has changed.

    Args:
        sql: as for `parsed`.
        mysql: likewise; and double quotes are those of a text.
    """
    for token in (_TOKENS_OF_MYSQL if mysql else _TOKENS).finditer(sql):
        found = _NAMED.fullmatch(token.group())
        if (
            found is None
            or _MEANT_AFTER.search(sql[: token.start()])
            or _MEANT_BEFORE.match(sql, token.end())
        ):
            continue
        if found["quote"] == "'" or found["mark"] != "$" or mysql:  # a column may be called "$ref"
            yield token.group(), found["braced"] or found["marked"]


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
