"""The renderers: `wire` for attributes, `plain` for JSON, `show` for sentences.

All three take any value and never raise. An object whose own text raises is `<ClassName>`. The work of `wire`
and `show` is bounded as well: items that are not shown are counted, but neither rendered nor sorted. Only the
`str()` of an unknown class cannot be bounded.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any, Final

from deltaspan._interrupts import let_through
from deltaspan._state.render._format import MAX_DEPTH, Leaf, fit_leaf
from deltaspan._state.render._order import items_of
from deltaspan._state.render._scalars import TEXTS, Words, as_scalar, escape, escape_surrogates, shape_of
from deltaspan._state.render._styles import JSON, PYTHON, json_key, json_leaf

_LONGEST_LABEL: Final = 256
_SHORT_INT: Final = 10**15
_SHORT_INT_CHARS: Final = 16


def wire(value: object, max_chars: int) -> bool | int | float | str:
    r"""Render a state as the value of a span or event attribute.

    Booleans, floats (NaN and infinities too), integers of 64 bits and short strings stay what they are, as do
    their subclasses, so an `IntEnum` or a `str` enum is its value. All else is text of at most `max_chars`
    characters that any UTF-8 encoder takes: control characters and lone surrogates are escaped as `\u0000`.

    - None is `null`. Larger integers are decimal; above 640 digits, hexadecimal.
    - Decimals and fractions are exact; dates and times are ISO 8601. So is a duration, with a leading sign
      and days as its largest unit: `-P1DT2H3M4.5S`; zero is `PT0S`.
    - Bytes are read as UTF-8, with `\xff` for what is not. An enum without a value type is `Status.ACTIVE`.
    - Collections are compact JSON; keys, and values that JSON lacks, are written as their text.

    What does not fit is counted: `[1,2,… 997 more]`, `{"a":1,… 12 more keys}`, `abc… 48213 more chars`. An
    item too large for what is left takes half of it, so that one large value does not hide its neighbours.

    The members of a set are in order: None, numbers, strings, all else by class. Equal sets render equally,
    but for one of over 10 000 members that must be cut: it shows its first members in iteration order, which
    may differ between processes.

    Args:
        value: a frozen state.
        max_chars: the most characters of a text; a number is never cut.

    Returns:
        A value of a type that OTLP has.

    Example:
        >>> wire(3, 1024), wire("active", 1024)
        (3, 'active')
        >>> wire(frozenset({"beta", "acme"}), 1024)
        '["acme","beta"]'
        >>> wire(tuple(range(1000)), 20)
        '[0,1,2,3,… 996 more]'
    """
    kind = type(value)
    if kind is str:
        # Printable means neither control characters nor surrogates: the usual text goes out as it is.
        if len(value) <= max_chars and value.isprintable():  # type: ignore[arg-type,attr-defined]
            return value  # type: ignore[return-value]
    elif kind is float or kind is bool or (kind is int and -(2**63) <= value < 2**63):  # type: ignore[operator]
        return value  # type: ignore[return-value]
    try:
        if shape_of(kind) is not None:
            return JSON.fit(value, max_chars)
    except Exception as error:
        let_through(error)
        value = Words.of(value)
    scalar = as_scalar(value)
    if isinstance(scalar, float | bool) or (isinstance(scalar, int) and -(2**63) <= scalar < 2**63):
        return scalar
    raw = scalar if isinstance(scalar, TEXTS) else json_leaf(scalar).raw
    return fit_leaf(Leaf(raw, escape, 0), max_chars)


def plain(value: object) -> Any:
    """Convert a state to JSON values, without a limit.

    `json.dumps` always takes the result.

    Scalars are those of `wire`, but None stays None and integers stay integers up to 640 digits; NaN and
    infinities, which JSON lacks, become text. Sequences and sets are lists, sets in the order of `wire`;
    mappings keep theirs. Keys become text; a second key with the same text is told apart by `#2`. Only
    what no frozen state has is left out, as `…`: a collection within itself, or below 101 others.

    Args:
        value: a frozen state.

    Returns:
        A dict, list, str, int, float, bool or None, and nothing else within.

    Example:
        >>> plain({"tags": frozenset({"b", "a"}), 7: (None, float("nan"))})
        {'tags': ['a', 'b'], '7': [None, 'NaN']}
    """
    return plain_value(value, set())


def show(value: object, max_chars: int = 120) -> str:
    """Render a state as it reads in a sentence, on one line.

    Strings are quoted; numbers, decimals, dates and the like are bare. Collections are as in Python, though a
    tuple reads as the list that it was, and are cut as in `wire`.

    Args:
        value: a frozen state.
        max_chars: the most characters of the text.

    Returns:
        One line of at most `max_chars` characters.

    Example:
        >>> from decimal import Decimal
        >>> show(frozenset({"beta", "acme"})), show(Decimal("12.50")), show("active")
        ("{'acme', 'beta'}", '12.50', "'active'")
        >>> show((1, 2, 3, 4, 5, 6, 7), max_chars=20)
        '[1, 2, 3, … 4 more]'
    """
    if type(value) is int and -_SHORT_INT < value < _SHORT_INT and max_chars >= _SHORT_INT_CHARS:
        return str(value)
    return PYTHON.fit(value, max_chars)


def label(name: str) -> str:
    """Return a name that every encoder takes.

    An encoder that refuses one name loses the whole batch.

    Args:
        name: of an action or a class; it may come from anywhere.

    Returns:
        The name with surrogates and control characters escaped, of at most 256 characters.
    """
    return str(wire(name, _LONGEST_LABEL))


def plain_value(value: object, above: set[int]) -> Any:
    try:
        shape = shape_of(type(value))
        if shape is None:
            scalar = as_scalar(value)
            if isinstance(scalar, float) and not math.isfinite(scalar):
                return json_leaf(scalar).raw
            return escape_surrogates(scalar) if isinstance(scalar, TEXTS) else scalar
        if id(value) in above or len(above) == MAX_DEPTH:
            return "…"
        above.add(id(value))
        try:
            items = items_of(value, shape, sys.maxsize)
            if shape != "mapping":
                return [plain_value(item, above) for item in items]
            return _plain_mapping(items, above)
        finally:
            above.discard(id(value))
    except Exception as error:
        let_through(error)
        return escape_surrogates(Words.of(value).text)


def _plain_mapping(items: Iterable[tuple[object, object]], above: set[int]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    seen: dict[str, int] = {}
    for key, value in items:
        text = unique = escape_surrogates(json_key(key, sys.maxsize))
        while unique in result:
            seen[text] = seen.get(text, 1) + 1
            unique = f"{text} #{seen[text]}"
        result[unique] = plain_value(value, above)
    return result
