"""Fields in PromQL, and series written as PromQL writes them.

`"$name"` in a query stands for the action's argument of that name.

A field may stand in the value of a label matcher. Behind `=` and `!=` its argument is text, behind `=~` and
`!~` it is quoted for RE2, so that it matches itself alone. Everywhere else it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from deltaspan._templates import fill
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.patterns import is_literal_place

_LITERAL: Final = re.compile(r"(?P<comment>#[^\n]*)|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`")
_FIELD: Final = re.compile(r"\$(?:(?P<escaped>\$)|\{(?P<braced>[^\W\d]\w*)\}|(?P<named>[^\W\d]\w*))")
_FOREIGN_FIELD: Final = re.compile(r"""(['"`])(?:\{(?P<braced>[^\W\d]\w*)\}|:(?P<marked>[^\W\d]\w*))\1""")
"""A quoted value that is nothing but a field, as it is written elsewhere."""

_MATCHER: Final = re.compile(r"(?:(?P<text>(?<![=!<>])=|!=)|(?P<pattern>=~|!~))\s*\Z")
"""What stands before the value of a label matcher."""
_META: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")
"""What RE2 does not take for itself."""
_REPEATED: Final = re.compile(r"[*+?{]")

_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What PromQL writes without quotes, of a metric and of a label."""


def query_fields(query: str) -> tuple[str, ...]:
    """Return the names of the fields in a query, each once, in order.

    Raises:
        DefinitionTypeError: it is not a str.
        DefinitionValueError: a field stands outside quotes, or in quotes that are not the value of a label
            matcher, where its value would be a part of the language; it stands in a part of a regular
            expression that cannot be quoted; or it is written as for other probes, which would be a text
            that no label has.
    """
    if not isinstance(query, str) or not query.strip():
        raise DefinitionTypeError(f"expected PromQL, not {query!r}")
    for literal in _LITERAL.finditer(query):
        foreign_field = _FOREIGN_FIELD.fullmatch(literal[0])
        if foreign_field:
            name = foreign_field["braced"] or foreign_field["marked"]
            raise DefinitionValueError(
                f'{query!r}: {literal[0]} is literal text, not an argument; write "${name}"; to match the '
                f'text itself, write =~"[{literal[0][1]}]{literal[0][2:-1]}"'
            )
    for field in _FIELD.finditer(_LITERAL.sub(_drop_literal, query) + "".join(_raw_literals(query))):
        if not field["escaped"]:
            raise DefinitionValueError(
                f"{query!r}: {field[0]} stands outside of quotes, where an argument would be a part of the "
                f"query; write it between \"...\" or '...', and $$ for a dollar sign"
            )
    for literal, operator in _operands(query):
        _check_field_place(query, literal[0], operator)
    names = (field["braced"] or field["named"] for field in _FIELD.finditer(query) if not field["escaped"])
    return tuple(dict.fromkeys(names))


def fill_query(query: str, values: Mapping[str, Any]) -> str:
    """Fill the fields of a query, quoted so that values stay text."""
    operators = {fill_literal.start(): operator for fill_literal, operator in _operands(query)}

    def fill_literal(literal: re.Match[str]) -> str:
        if literal["comment"]:  # a quote in it begins no literal
            return literal[0]
        quote, operator = literal[0][0], operators[literal.start()]
        is_pattern = operator is not None and operator["pattern"] is not None
        return _FIELD.sub(
            lambda field: _render_field(field, values, quote, is_pattern=is_pattern), literal[0]
        )

    return _LITERAL.sub(fill_literal, query)


def _operands(query: str) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    """Yield each literal with the operator of its label matcher.

    The operator is None if the literal is not the value of a label matcher.
    """
    code, end = "", 0
    for literal in _LITERAL.finditer(query):
        code, end = code + query[end : literal.start()], literal.end()
        if not literal["comment"]:
            yield literal, _MATCHER.search(code)
            code = ""


def _check_field_place(query: str, literal: str, operator: re.Match[str] | None) -> None:
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


def _drop_literal(literal: re.Match[str]) -> str:
    return literal["comment"] or ""


def _raw_literals(query: str) -> Iterator[str]:
    """Yield the literals in backticks, in which nothing can be escaped."""
    return (literal[0] for literal in _LITERAL.finditer(query) if literal[0].startswith("`"))


def _render_field(field: re.Match[str], values: Mapping[str, Any], quote: str, *, is_pattern: bool) -> str:
    if field["escaped"]:
        return "$"
    name = field["braced"] or field["named"]
    text = fill(f"{{{name}}}", values)
    if is_pattern:
        text = _META.sub(r"\\\g<0>", text)
        if _REPEATED.match(field.string, field.end()):  # the repetition applies to the whole text
            text = f"(?:{text})"
    return text.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\n")


def render_series(metric: Mapping[str, str]) -> str:
    """Return the name and labels of a series as PromQL writes them."""
    name = metric.get("__name__", "")
    if name and not _NAME.fullmatch(name):
        return f"{{{','.join([_quote(name), *_render_labels(metric)])}}}"
    labels = ",".join(_render_labels(metric))
    return f"{name}{{{labels}}}" if labels or not metric else name


def _render_labels(metric: Mapping[str, str]) -> list[str]:
    # Two series are never written alike, or one would hide the other.
    return [
        f"{name if _LABEL.fullmatch(name) else _quote(name)}={_quote(text)}"
        for name, text in sorted(metric.items())
        if name != "__name__"
    ]


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
