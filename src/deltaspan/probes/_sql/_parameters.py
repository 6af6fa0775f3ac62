"""Parse SQL: find `:name` parameters, and escape every other colon."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sqlalchemy import SelectBase
from sqlalchemy.engine.default import DefaultDialect

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

# Parameters, and escaped parameters, as `text()` of SQLAlchemy finds them, even in a literal.
_TAKEN: Final = re.compile(r"(?<![:\w\\]):(?=\w+(?![:\w]))")
_UNESCAPED: Final = re.compile(r"\\(?=:\w*(?![:\w]))")

# A literal that is only a name, in the syntax of a parameter in some language.
_BOUND: Final = re.compile(r"(?<![:\w\\]):(\w+)")
_NAMED: Final = re.compile(
    r"""[eE]?(?P<quote>['"])[%*]*(?:\{(?P<braced>[^\W\d]\w*)\}|(?P<mark>[:$])(?P<marked>[^\W\d]\w*))[%*]*(?P=quote)"""
)
# Places at which such a literal is valid: a path, key, pattern, array of PostgreSQL or function argument.
_MEANT_AFTER: Final = re.compile(
    r"(?:[-#@?&|][-#@?&|>]*|<@|~\*?|,|\b(?:ANY|ALL|SOME)\s*\()\s*\Z", re.IGNORECASE
)
_MEANT_BEFORE: Final = re.compile(r"\s*(?:::|<@|@>|&&|AS\b)", re.IGNORECASE)


# Operators whose right operand is a pattern, a query or a path.
_PATTERN_OPERATOR: Final = re.compile(
    r"""\b(?:I?LIKE|SIMILAR\s+TO|GLOB|REGEXP|RLIKE|MATCH)\b | !?~~?\*? | @@ | @\?
      | \b(?P<function>regexp_\w+|(?:\w*_)?to_tsquery|to_tsquery|plainto_tsquery|phraseto_tsquery
            |jsonb?_path_\w+|json_(?:extract|value|query|exists|table|type|search|contains_path)
            |i?like|glob|xpath\w*|against|contains|freetext|jsonb?_contain\w*|json_overlaps
            |range_contain\w*|range_overlaps|array_?contain\w*|array_?overlaps?)\s*(?=\()""",
    re.VERBOSE | re.IGNORECASE,
)
_CONTAINMENT: Final = re.compile(r"@>|<@|&&|<regexp>")
"""Operators of PostgreSQL by which an empty document or range may match every row.

The last one is SQLAlchemy's text of a regular expression.
"""
_CONTAINS: Final = re.compile(r"@>|<@|&&|contain|overlap", re.IGNORECASE)
_OPERAND_START: Final = re.compile(
    r"[(),]|\b(?:AND|OR|NOT|WHERE|ON|HAVING|SELECT|FROM|WHEN|THEN|ELSE|BY)\b", re.IGNORECASE
)
_SUBSTRING: Final = re.compile(
    r"\b(?:(?:char_|character_|octet_)?length|len|instr|strpos|position|locate|charindex|starts_with)\s*(?=\()",
    re.IGNORECASE,
)
"""Functions by which an empty text is a part of every text."""
_COUNT: Final = re.compile(
    r"\b(?:LIMIT|OFFSET)\s+(?:%\((\w+)\)s|:(\w+))(?:\s*,\s*(?:%\((\w+)\)s|:(\w+)))?", re.IGNORECASE
)
_OPERAND_END: Final = re.compile(
    r"[()]|\b(?:AND|OR|ESCAPE|THEN|ELSE|END|ORDER|GROUP|LIMIT|UNION)\b|[;]", re.IGNORECASE
)


def pattern_names(sql: str, *, mysql: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each parameter inside a pattern operand, with its operator.

    Operators are, for example, `LIKE` and `regexp_like`.

    Args:
        sql: as for `parse_parameters`.
        mysql: as for `parse_parameters`.
    """
    tokens = _TOKENS_OF_MYSQL if mysql else _TOKENS
    # Literals are blanked, so that operators in them are not found. Positions stay the same.
    code = tokens.sub(lambda token: token.group() if token["name"] else " " * len(token.group()), sql)
    for operator in _PATTERN_OPERATOR.finditer(code):
        start = operator.end() + (operator["function"] is not None)  # behind its parenthesis
        for name in _names_in(code[start : _end_of_operand(code, start)], tokens):
            yield name, " ".join(operator.group().split())
    for operator in () if mysql else _CONTAINMENT.finditer(code):
        # An empty document widens the scope on either side.
        start, end = _start_of_operand(code, operator.start()), _end_of_operand(code, operator.end())
        for name in _names_in(code[start:end], tokens):
            yield name, operator.group()


def is_containment(operator: str) -> bool:
    """Return whether an operator asks for a part of a document."""
    return _CONTAINS.search(operator) is not None


def substring_names(sql: str, *, mysql: bool = False) -> Iterator[str]:
    """Yield each parameter of a function that searches a part of a text.

    Args:
        sql: as for `parse_parameters`.
        mysql: as for `parse_parameters`.
    """
    tokens = _TOKENS_OF_MYSQL if mysql else _TOKENS
    code = tokens.sub(lambda token: token.group() if token["name"] else " " * len(token.group()), sql)
    for function in _SUBSTRING.finditer(code):
        start = function.end() + 1
        yield from _names_in(code[start : _end_of_operand(code, start)], tokens)


def count_names(sql: str) -> frozenset[str]:
    """Return the parameters that are a number of rows, as in `LIMIT :limit`."""
    return frozenset(name for count in _COUNT.finditer(sql) for name in count.groups() if name)


def _names_in(operand: str, tokens: re.Pattern[str]) -> Iterator[str]:
    for token in tokens.finditer(operand):
        if token["name"] and not token["name"][0].isdigit():
            yield token["name"]


def _start_of_operand(code: str, end: int) -> int:
    starts = [0]
    for start in _OPERAND_START.finditer(code, 0, end):
        if start.group() == "(":
            starts.append(start.end())
        elif start.group() == ")":
            starts = starts[:-1] or [0]
        else:
            starts[-1] = start.end()
    return starts[-1]


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
    """Yield each literal that looks like a quoted parameter, with its name.

    No row has that text, so a check would find no change.

    Args:
        sql: as for `parse_parameters`.
        mysql: as for `parse_parameters`. Double quotes also delimit a text.
    """
    for token in (_TOKENS_OF_MYSQL if mysql else _TOKENS).finditer(sql):
        literal = _NAMED.fullmatch(token.group())
        if (
            literal is None
            or _MEANT_AFTER.search(sql[: token.start()])
            or _MEANT_BEFORE.match(sql, token.end())
        ):
            continue
        if literal["quote"] == "'" or literal["mark"] != "$" or mysql:  # a column may be called "$ref"
            yield token.group(), literal["braced"] or literal["marked"]


def statement_parameters(statement: SelectBase) -> tuple[tuple[str, ...], str]:
    """Return the parameters of a `select()` without a value, and its SQL.

    The SQL has `:name` for each of these parameters.
    """
    compiled = statement.compile(dialect=DefaultDialect(paramstyle="named"))
    names = tuple(name for name, bound in compiled.binds.items() if bound.required)
    written = _BOUND.sub(lambda match: match[0] if match[1] in names else "0", compiled.string)
    return names, written


def parse_parameters(sql: str, *, mysql: bool = False) -> tuple[str, tuple[str, ...]]:
    """Find the parameters of SQL, and escape the colons that are not parameters.

    Literals, quoted identifiers, comments and dollar quotes contain no parameters. `::cast` is none either.

    Args:
        sql: SQL with `:name` for parameters.
        mysql: a backslash escapes a quote in any literal, and a # begins a comment.

    Returns:
        SQL for `text()`, and the names of its parameters in order of appearance.
    """
    names: dict[str, None] = {}

    def render(token: re.Match[str]) -> str:
        name = token["name"]
        if name is None:
            return _TAKEN.sub(r"\\:", _UNESCAPED.sub(r"\\\\", token.group()))
        if name[0].isdigit():  # a bound of a slice, [:2]
            return "\\" + token.group()
        names[name] = None
        return rf":{name}\:\:" if token["cast"] else token.group()

    escaped = (_TOKENS_OF_MYSQL if mysql else _TOKENS).sub(render, sql)
    return escaped, tuple(names)
