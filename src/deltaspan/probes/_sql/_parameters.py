"""SQL as a developer writes it: which `:name` in it is a parameter, and which colon is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sqlalchemy import SelectBase
from sqlalchemy.engine.default import DefaultDialect

__all__ = ["named_in", "parsed", "pattern_names", "quoted_names"]

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
_BOUND: Final = re.compile(r"(?<![:\w\\]):(\w+)")
_NAMED: Final = re.compile(
    r"""[eE]?(?P<quote>['"])[%*]*(?:\{(?P<braced>[^\W\d]\w*)\}|(?P<mark>[:$])(?P<marked>[^\W\d]\w*))[%*]*(?P=quote)"""
)
# Where it may well be meant: as a path, a key, a pattern, an array of PostgreSQL, an argument of a function.
_MEANT_AFTER: Final = re.compile(
    r"(?:[-#@?&|][-#@?&|>]*|<@|~\*?|,|\b(?:ANY|ALL|SOME)\s*\()\s*\Z", re.IGNORECASE
)
_MEANT_BEFORE: Final = re.compile(r"\s*(?:::|<@|@>|&&|AS\b)", re.IGNORECASE)


# What reads the text behind it as a pattern, a query or a path, to the end of that operand.
_PATTERN_OPERATOR: Final = re.compile(
    r"""\b(?:I?LIKE|SIMILAR\s+TO|GLOB|REGEXP|RLIKE|MATCH)\b | !?~~?\*? | @@ | @\?
      | \b(?P<function>regexp_\w+|(?:\w*_)?to_tsquery|to_tsquery|plainto_tsquery|phraseto_tsquery
            |jsonb?_path_\w+|json_(?:extract|value|query|exists|table|type|search|contains_path)
            |i?like|glob|xpath\w*|against)\s*(?=\()""",
    re.VERBOSE | re.IGNORECASE,
)
_OPERAND_END: Final = re.compile(
    r"[()]|\b(?:AND|OR|ESCAPE|THEN|ELSE|END|ORDER|GROUP|LIMIT|UNION)\b|[;]", re.IGNORECASE
)


def pattern_names(sql: str, *, mysql: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each parameter that is a part of a pattern, and what takes it for one: `LIKE`, `regexp_like`.

    Args:
        sql: as for `parsed`.
        mysql: likewise.
    """
    tokens = _TOKENS_OF_MYSQL if mysql else _TOKENS
    # A literal is blanked, so that no operator is found in it; the places stay.
    code = tokens.sub(lambda token: token.group() if token["name"] else " " * len(token.group()), sql)
    for operator in _PATTERN_OPERATOR.finditer(code):
        start = operator.end() + (operator["function"] is not None)  # behind its parenthesis
        operand = code[start : _end_of_operand(code, start)]
        for token in tokens.finditer(operand):
            if token["name"] and not token["name"][0].isdigit():
                yield token["name"], " ".join(operator.group().split())


def _end_of_operand(code: str, start: int) -> int:
    depth = 0
    for end in _OPERAND_END.finditer(code, start):
        if end.group() == "(":
            depth += 1
        elif end.group() == ")":
            depth -= 1
            if depth < 0:
                return end.start()
        elif depth == 0:
            return end.start()
    return len(code)


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


def named_in(statement: SelectBase) -> tuple[tuple[str, ...], str]:
    """Return the parameters of a `select()` that have no value, and its SQL with `:name` for those."""
    compiled = statement.compile(dialect=DefaultDialect(paramstyle="named"))
    names = tuple(name for name, bound in compiled.binds.items() if bound.required)
    written = _BOUND.sub(lambda found: found[0] if found[1] in names else "0", compiled.string)
    return names, written


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
