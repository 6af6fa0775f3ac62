"""PromQL: `"$name"` in a query stands for the action's argument of that name, and how a series is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from deltaspan._fields import filled as text_of
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

__all__ = ["fields_in", "filled_in", "labels_of"]

_LITERAL: Final = re.compile(r"(?P<comment>#[^\n]*)|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`")
_FIELD: Final = re.compile(r"\$(?:(?P<escaped>\$)|\{(?P<braced>[^\W\d]\w*)\}|(?P<named>[^\W\d]\w*))")
_ELSEWHERE: Final = re.compile(r"""(['"`])(?:\{(?P<braced>[^\W\d]\w*)\}|:(?P<marked>[^\W\d]\w*))\1""")
"""A quoted value that is nothing but a field, as it is written elsewhere."""

_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What PromQL writes without quotes, of a metric and of a label."""


def fields_in(query: str) -> tuple[str, ...]:
    """Return the names that a query has as fields, each once, in order.

    Raises:
        DefinitionTypeError: it is no text.
        DefinitionValueError: a field stands outside quotes, where its value would be a part of the language,
            or is written as for other probes, which would be a text that no label has.
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
    names = (field["braced"] or field["named"] for field in _FIELD.finditer(query) if not field["escaped"])
    return tuple(dict.fromkeys(names))


def filled_in(query: str, values: Mapping[str, Any]) -> str:
    """Return the query with each field replaced by its value, so written that it stays within its quotes."""

    def literal(found: re.Match[str]) -> str:
        if found["comment"]:  # a quote in it begins no literal
            return found[0]
        quote = found[0][0]
        return _FIELD.sub(lambda field: _written(field, values, quote), found[0])

    return _LITERAL.sub(literal, query)


def _outside(found: re.Match[str]) -> str:
    return found["comment"] or ""


def _raw(query: str) -> Iterator[str]:
    """Yield the literals in which nothing can be escaped."""
    return (found[0] for found in _LITERAL.finditer(query) if found[0].startswith("`"))


def _written(field: re.Match[str], values: Mapping[str, Any], quote: str) -> str:
    if field["escaped"]:
        return "$"
    name = field["braced"] or field["named"]
    text = text_of(f"{{{name}}}", values)
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
