"""PromQL: `"$name"` in a query stands for the action's argument of that name, and how a series is written.

A field may stand in the value of a label matcher. Behind `=` and `!=` its argument is text, behind `=~` and
`!~` it is quoted for RE2, so that it matches itself alone. Everywhere else it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from deltaspan._templates import filled as text_of
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.regexes import is_literal_place

__all__ = ["fields_in", "filled_in", "labels_of"]

_LITERAL: Final = re.compile(r"(?P<comment>#[^\n]*)|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`")
_FIELD: Final = re.compile(r"\$(?:(?P<escaped>\$)|\{(?P<braced>[^\W\d]\w*)\}|(?P<named>[^\W\d]\w*))")
_ELSEWHERE: Final = re.compile(r"""(['"`])(?:\{(?P<braced>[^\W\d]\w*)\}|:(?P<marked>[^\W\d]\w*))\1""")
"""A quoted value that is nothing but a field, as it is written elsewhere."""

_MATCHER: Final = re.compile(r"(?:(?P<text>(?<![=!<>])=|!=)|(?P<pattern>=~|!~))\s*\Z")
"""What stands before the value of a label matcher."""
_META: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")
"""What RE2 does not take for itself."""
_REPEATED: Final = re.compile(r"[*+?{]")

_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What PromQL writes without quotes, of a metric and of a label."""


def fields_in(query: str) -> tuple[str, ...]:
    """Return the names that a query has as fields, each once, in order.

    Raises:
        DefinitionTypeError: it is no text.
        DefinitionValueError: a field stands outside quotes, or in quotes that are not the value of a label
            matcher, where its value would be a part of the language; it stands in a part of a regular
            expression that cannot be quoted; or it is written as for other probes, which would be a text
            that no label has.
    """
    if not isinstance(query, str) or not query.strip():
        raise DefinitionTypeError(f"expected PromQL, not {query!r}")
    for literal in _LITERAL.finditer(query):
        found = _ELSEWHERE.fullmatch(literal[0])
        if found:
            name = found["braced"] or found["marked"]
            raise DefinitionValueError(
                f'{query!r}: {literal[0]} is that very text, and no argument: write "${name}"; to mean the '
                f'text itself, match it by =~"[{literal[0][1]}]{literal[0][2:-1]}"'
            )
    for field in _FIELD.finditer(_LITERAL.sub(_outside, query) + "".join(_raw(query))):
        if not field["escaped"]:
            raise DefinitionValueError(
                f"{query!r}: {field[0]} stands outside of quotes, where an argument would be a part of the "
                f"query; write it between \"...\" or '...', and $$ for a dollar sign"
            )
    for literal, operator in _operands(query):
        _refuse_part_of_language(query, literal[0], operator)
    names = (field["braced"] or field["named"] for field in _FIELD.finditer(query) if not field["escaped"])
    return tuple(dict.fromkeys(names))


def filled_in(query: str, values: Mapping[str, Any]) -> str:
    """Return the query with each field replaced by its value, so written that it stays within its quotes."""
    operators = {literal.start(): operator for literal, operator in _operands(query)}

    def literal(found: re.Match[str]) -> str:
        if found["comment"]:  # a quote in it begins no literal
            return found[0]
        quote, operator = found[0][0], operators[found.start()]
        is_pattern = operator is not None and operator["pattern"] is not None
        return _FIELD.sub(lambda field: _written(field, values, quote, is_pattern=is_pattern), found[0])

    return _LITERAL.sub(literal, query)


def _operands(query: str) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    """Yield each literal, and the operator of the label matcher whose value it is; None for any other."""
    code, end = "", 0
    for found in _LITERAL.finditer(query):
        code, end = code + query[end : found.start()], found.end()
        if not found["comment"]:
            yield found, _MATCHER.search(code)
            code = ""


def _refuse_part_of_language(query: str, literal: str, operator: re.Match[str] | None) -> None:
    for field in _FIELD.finditer(literal):
        if field["escaped"]:
            continue
        if operator is None:
            raise DefinitionValueError(
                f"{query!r}: {field[0]} is not in the value of a label matcher, so an argument would be a "
                f'part of the query; compare a label with it, as in {{label="{field[0]}"}}'
            )
        before = literal[1 : field.start()].replace("\\\\", "\\")
        if operator["pattern"] and not is_literal_place(before):
            raise DefinitionValueError(
                f"{query!r}: {field[0]} stands within a part of the regular expression that cannot quote it; "
                f"put it outside of brackets, braces and escapes"
            )


def _outside(found: re.Match[str]) -> str:
    return found["comment"] or ""


def _raw(query: str) -> Iterator[str]:
    """Yield the literals in which nothing can be escaped."""
    return (found[0] for found in _LITERAL.finditer(query) if found[0].startswith("`"))


def _written(field: re.Match[str], values: Mapping[str, Any], quote: str, *, is_pattern: bool) -> str:
    if field["escaped"]:
        return "$"
    name = field["braced"] or field["named"]
    text = text_of(f"{{{name}}}", values)
    if is_pattern:
        text = _META.sub(r"\\\g<0>", text)
        if _REPEATED.match(field.string, field.end()):  # what is repeated is all of it
            text = f"(?:{text})"
    return text.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\n")


def labels_of(metric: Mapping[str, str]) -> str:
    """Return a series as PromQL writes it, by its name and its labels."""
    name = metric.get("__name__", "")
    if name and not _NAME.fullmatch(name):
        return f"{{{','.join([_quoted(name), *_matched(metric)])}}}"
    labels = ",".join(_matched(metric))
    return f"{name}{{{labels}}}" if labels or not metric else name


def _matched(metric: Mapping[str, str]) -> list[str]:
    # Two series are never written alike, or one would hide the other.
    return [
        f"{name if _LABEL.fullmatch(name) else _quoted(name)}={_quoted(text)}"
        for name, text in sorted(metric.items())
        if name != "__name__"
    ]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
