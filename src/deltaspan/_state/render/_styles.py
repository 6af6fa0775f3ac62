"""The two styles: compact JSON for telemetry, and Python-like text for people."""

from __future__ import annotations

import math
from datetime import timedelta
from enum import Enum
from typing import Any

from deltaspan._interrupts import let_through
from deltaspan._state.render._format import Leaf, Style
from deltaspan._state.render._scalars import (
    TEXTS,
    Text,
    Words,
    as_scalar,
    enum_text,
    json_string,
    one_line,
    shape_of,
)

_JSON_WORDS = {None: "null", True: "true", False: "false"}


def json_leaf(value: object) -> Leaf:
    scalar = value if type(value) is str else as_scalar(value)
    if isinstance(scalar, TEXTS):
        return Leaf(scalar, json_string, 1)
    if isinstance(scalar, float) and not math.isfinite(scalar):
        name = "NaN" if math.isnan(scalar) else "Infinity" if scalar > 0 else "-Infinity"
        return Leaf(name, json_string, 1)
    return Leaf(_JSON_WORDS[scalar] if scalar is None or isinstance(scalar, bool) else repr(scalar), str, 0)


def json_key(key: object, room: int) -> Text:
    if type(key) is str:
        return key
    try:
        return json_leaf(key).raw if shape_of(type(key)) is None else JSON.fit(key, room)
    except Exception as error:
        let_through(error)
        return Words.of(key).text


def _python_leaf(value: Any) -> Leaf:
    kind = type(value)
    if issubclass(kind, Enum):
        return Leaf(enum_text(value), one_line, 0)
    if issubclass(kind, timedelta):
        return Leaf(f"-{-value}" if value.days < 0 else str(value), one_line, 0)
    scalar = as_scalar(value)
    if issubclass(kind, (str, bytes, bytearray)) and isinstance(scalar, TEXTS):
        return Leaf(scalar, repr, 1)
    return Leaf(str(scalar), one_line, 0)


JSON = Style(
    comma=",",
    colon=":",
    brackets={"sequence": ("[", "]"), "set": ("[", "]"), "mapping": ("{", "}")},
    empty_set="[]",
    leaf=json_leaf,
    key=json_key,
)
PYTHON = Style(
    comma=", ",
    colon=": ",
    brackets={"sequence": ("[", "]"), "set": ("{", "}"), "mapping": ("{", "}")},
    empty_set="set()",
    leaf=_python_leaf,
    key=lambda key, _: key,
)
