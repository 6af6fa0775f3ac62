"""The order in which the items of a collection are written.

Sets have a total order of their members.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from heapq import nsmallest
from itertools import islice
from typing import Any

from deltaspan._interrupts import let_through
from deltaspan._state.render._scalars import Shape, Words, as_scalar, shape_of

MAX_SORTED = 10_000
"""The largest set that is sorted to be cut. A larger one shows its first members as it iterates."""


def items_of(value: Any, shape: Shape, most: int) -> Iterable[Any]:
    if shape == "set":
        return _sort(value, most)
    return islice(value.items() if shape == "mapping" else value, most)


def _sort(members: Collection[Any], most: int) -> list[Any]:
    some = list(members if len(members) <= max(MAX_SORTED, most) else islice(members, most))
    kinds = {*map(type, some)}
    key = None if kinds in ({str}, {int}) else _order
    return sorted(some, key=key) if most >= len(some) else nsmallest(most, some, key=key)


def _order(value: Any) -> tuple[Any, ...]:
    """Key of a total order: ranks differ unless the rest compares."""
    kind = type(value)
    if kind is str or kind is int:
        return (3 if kind is str else 1, value)
    try:
        shape = shape_of(kind)
        if shape is None:
            return _scalar_order(value, kind)
        keys = list(map(_order, value))
        return (7, *sorted(keys)) if shape == "set" else (6, *keys)
    except Exception as error:
        let_through(error)
        return (8, Words.of(value).text)


def _scalar_order(value: Any, kind: type) -> tuple[Any, ...]:
    # A value that does not equal itself is NaN, and is ordered by its text alone.
    if kind in (Decimal, Fraction, timedelta) and value == value:  # noqa: PLR0124
        return (2, kind.__name__, value)
    scalar = as_scalar(value)
    if scalar is None:
        return (0,)
    if isinstance(scalar, int | float) and scalar == scalar:  # noqa: PLR0124
        return (1, scalar)
    if isinstance(scalar, bytes):
        return (4, scalar)
    return (3, scalar) if issubclass(kind, str) else (5, kind.__name__, str(scalar))
