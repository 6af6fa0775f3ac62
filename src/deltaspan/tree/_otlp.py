"""Parse spans from OTLP/JSON of exporters, collectors and Jaeger's API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from deltaspan import semconv
from deltaspan.tree._model import Span

_KINDS: Final = ("", "internal", "server", "client", "producer", "consumer")
_TRACE_ID: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID: Final = re.compile(r"(?!0{16})[0-9a-f]{16}")
_MAX_DIGITS: Final = 20  # of an integer of 64 bits
_SERVICE: Final = "service.name"


class Reading(NamedTuple):
    """The result of reading a source.

    Attributes:
        spans: the valid spans.
        complaints: one sentence for each fault, and for what may be missing.
    """

    spans: tuple[Span, ...]
    complaints: tuple[str, ...]


def holds_spans(document: Any) -> bool:
    """Return whether a JSON document is OTLP with spans."""
    return isinstance(document, dict) and isinstance(document.get("resourceSpans"), list)


def signals_in(document: Any) -> list[str]:
    """Return the other OTLP signals of a JSON document."""
    if not isinstance(document, dict):
        return []
    return [name for name in ("metrics", "logs", "profiles") if f"resource{name.title()}" in document]


def spans_in(document: Any) -> Iterator[Span | None]:
    """Yield the spans of a document, and None for each invalid one.

    Args:
        document: parsed JSON that `holds_spans`. Its content may be invalid.
    """
    for resource in _list(document, "resourceSpans"):
        service = _attributes(_get(resource, "resource")).get(_SERVICE)
        for scope in _list(resource, "scopeSpans"):
            for span in _list(scope, "spans"):
                yield _span(span, service if isinstance(service, str) else "")


def _span(span: Any, service: str) -> Span | None:
    trace_id, span_id = _id(span, "traceId"), _id(span, "spanId")
    if not (_TRACE_ID.fullmatch(trace_id) and _SPAN_ID.fullmatch(span_id)):
        return None
    name = _get(span, "name")
    return Span(
        trace_id,
        span_id,
        _id(span, "parentSpanId"),
        name if isinstance(name, str) else "",
        _kind(_get(span, "kind")),
        service,
        _whole(_get(span, "startTimeUnixNano")),
        _whole(_get(span, "endTimeUnixNano")),
        _attributes(span),
        tuple(
            _attributes(event)
            for event in _list(span, "events")
            if _get(event, "name") == semconv.EVENT_CHECK_RESULT
        ),
    )


def _get(holder: Any, key: str) -> Any:
    return holder.get(key) if isinstance(holder, dict) else None


def _list(holder: Any, key: str) -> list[Any]:
    value = _get(holder, key)
    return value if isinstance(value, list) else []


def _id(span: Any, key: str) -> str:
    value = _get(span, key)
    return value.lower() if isinstance(value, str) else ""


def _kind(kind: Any) -> str:
    if isinstance(kind, str):  # protobuf's own JSON has the name
        return (
            kind.removeprefix("SPAN_KIND_").lower()
            if kind.removeprefix("SPAN_KIND_").lower() in _KINDS
            else ""
        )
    return _KINDS[kind] if type(kind) is int and 0 <= kind < len(_KINDS) else ""


def _whole(value: Any) -> int:
    """Parse a 64-bit integer, which OTLP/JSON writes as text. Return 0 if invalid."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
        return int(value)
    return value if type(value) is int and 0 <= value < 2**64 else 0


def _attributes(holder: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for pair in _list(holder, "attributes"):
        key = _get(pair, "key")
        if isinstance(key, str):
            attributes[key] = _value(_get(pair, "value"))
    return attributes


def _value(value: Any) -> Any:
    """Parse an attribute's value: a scalar, or a list of scalars."""
    if not isinstance(value, Mapping) or not value:
        return None
    kind, content = next(iter(value.items()))
    if kind == "intValue":
        negative = isinstance(content, str) and content.startswith("-")
        return -_whole(content[1:]) if negative else _whole(content) if type(content) is not int else content
    if kind == "arrayValue":
        return [_scalar(each) for each in _list(content, "values")]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    content = next(iter(value.values()), None) if isinstance(value, Mapping) else None
    return content if isinstance(content, (str, bool, int, float)) else None
