"""Plain JSON values, unbounded, for programs."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

from deltaspan._interrupts import let_through
from deltaspan._state.render._order import items_of
from deltaspan._state.render._scalars import TEXTS, Words, as_scalar, encodable, shape_of
from deltaspan._state.render._format import MAX_DEPTH
from deltaspan._state.render._styles import json_key, json_leaf


def plain_value(value: object, above: set[int]) -> Any:
    try:
        shape = shape_of(type(value))
        if shape is None:
            scalar = as_scalar(value)
            if isinstance(scalar, float) and not math.isfinite(scalar):
                return json_leaf(scalar).raw
            return encodable(scalar) if isinstance(scalar, TEXTS) else scalar
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
        return encodable(Words.of(value).text)


def _plain_mapping(items: Iterable[tuple[object, object]], above: set[int]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    seen: dict[str, int] = {}
    for key, value in items:
        text = unique = encodable(json_key(key, sys.maxsize))
        while unique in result:
            seen[text] = seen.get(text, 1) + 1
            unique = f"{text} #{seen[text]}"
        result[unique] = plain_value(value, above)
    return result
