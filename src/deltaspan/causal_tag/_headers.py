"""Untrusted W3C headers: well-formed parts are read, all others are ignored silently.

OpenTelemetry's propagators read the rest. They log each part that they cannot parse, which would let any
sender fill the log.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote_plus, unquote_plus

from deltaspan.exceptions import DefinitionTypeError

BAGGAGE: Final = "baggage"
_TRACESTATE: Final = "tracestate"
_LONGEST: Final = {"traceparent": 512, _TRACESTATE: 8192, BAGGAGE: 8192}
"""The headers that carry a tag and its trace, and the most characters that are read of each."""
_ENVIRONMENT: Final = type(os.environ)
"""The class of an environment. By OpenTelemetry's specification it carries names in upper case alone."""
_MAX_PAIRS: Final = 180
_LONGEST_PAIR: Final = 4096
_MAX_STATES: Final = 32
_VALUE: Final = r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*"
_PROPERTIES: Final = r"(?:\s*;[\s\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]*)?"
_PAIR: Final = re.compile(rf"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*({_VALUE}{_PROPERTIES})\s*")
_STATE: Final = re.compile(
    r"[a-z][_0-9a-z*/-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
    r"|[a-z0-9][_0-9a-z*/-]{0,240}@[a-z][_0-9a-z*/-]{0,13}="
    r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
)


def carrier_headers(headers: Any) -> dict[str, str]:
    """Return the headers of a tag and its trace, by lower-case name.

    Args:
        headers: any mapping of names to text or bytes. Names of headers may be in any case. Those of
            `os.environ` are in upper case, and any other variable is ignored.

    Raises:
        DefinitionTypeError: it is not a mapping.

    Example:
        >>> carrier_headers({"Host": "shop", "BAGGAGE": "a=1", b"tracestate": b"one=1, nonsense"})
        {'baggage': 'a=1', 'tracestate': 'one=1'}
    """
    if not callable(getattr(headers, "items", None)):
        raise DefinitionTypeError(f"adopt takes a mapping of headers, not {type(headers).__name__}")
    items = headers.items()
    if isinstance(headers, _ENVIRONMENT):
        items = [(name, value) for name, value in items if name.upper() == name]
    carriers = {key: text for key, text in _lower(items) if 0 < len(text) <= _LONGEST.get(key, 0)}
    if _TRACESTATE in carriers:
        members = [member.strip(" \t") for member in carriers[_TRACESTATE].split(",")]
        carriers[_TRACESTATE] = ",".join(filter(_STATE.fullmatch, members[:_MAX_STATES]))
    return carriers


def baggage_pairs(header: str) -> dict[str, str]:
    """Return the well-formed pairs of a baggage header, as W3CBaggagePropagator reads them.

    A value has its properties behind it, as there. Their number is bounded by the header's length alone:
    which ones are passed on is for `within_limits` to say.

    Example:
        >>> baggage_pairs("user=J%C3%BCrgen , =,nonsense, n=1 ;sampled")
        {'user': 'Jürgen', 'n': '1 ;sampled'}
    """
    members = [_PAIR.fullmatch(member) for member in header.split(",") if len(member) <= _LONGEST_PAIR]
    return {
        unquote_plus(pair[1]).strip(): unquote_plus(pair[2]).strip() for pair in members if pair is not None
    }


def within_limits(pairs: Mapping[str, Any], reserved: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the pairs that fit in one baggage header, the first ones first.

    The propagator drops the same pairs, but logs a warning for them each time that it sends.

    Args:
        pairs: baggage, not encoded.
        reserved: pairs that must fit into the header as well.

    Example:
        >>> within_limits({"long": "x" * 5000, "user": "ada"})
        {'user': 'ada'}
    """
    taken = [_encoded_length(name, value) for name, value in (reserved or {}).items()]
    room, length = _MAX_PAIRS - len(taken), sum(taken)
    kept: dict[str, Any] = {}
    for name, value in pairs.items():
        pair_length = _encoded_length(name, value)
        if pair_length > _LONGEST_PAIR:
            continue
        length += pair_length
        # Between members stand commas.
        if len(kept) == room or length + len(taken) + len(kept) > _LONGEST[BAGGAGE]:
            break
        kept[name] = value
    return kept


def _encoded_length(name: str, value: Any) -> int:
    return len(quote_plus(str(name))) + 1 + len(quote_plus(str(value)))


def _lower(items: Iterable[tuple[object, object]]) -> Iterable[tuple[str, str]]:
    return [(_text(name).lower(), _text(value)) for name, value in items]


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else ""
