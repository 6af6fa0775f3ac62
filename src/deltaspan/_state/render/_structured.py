"""Frozen states as maps and arrays, within a number of characters and levels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from deltaspan._interrupts import let_through
from deltaspan._state.render._format import WORTH_CUTTING
from deltaspan._state.render._order import items_of
from deltaspan._state.render._render import wire
from deltaspan._state.render._scalars import Shape, Words, escape, shape_of
from deltaspan._state.render._styles import JSON, json_key

MAX_LEVELS: Final = 3
"""The levels of maps and arrays in a value. Backends need not take more."""
_REST: Final = "…"
"""The key of the entry that counts the entries that have no room."""


def structured(value: object, max_chars: int) -> Any:
    """Convert a state to the maps, arrays and scalars of a log record.

    Scalars are those of `wire`, but None within a collection stays None. Sequences and sets are lists.
    A collection below three others is compact JSON. What does not fit is counted in a last item.

    Args:
        value: a frozen state.
        max_chars: the most characters of keys and values together, without brackets and commas.

    Returns:
        A dict, list, str, int, float or bool, and the same or None within.

    Example:
        >>> structured({"tags": frozenset({"b", "a"}), 7: (None, 1)}, 1024)
        {'tags': ['a', 'b'], '7': [None, 1]}
        >>> structured(tuple(range(1000)), 5)
        [0, 1, 2, 3, 4, '… 995 more']
    """
    return wire(None, max_chars) if value is None else _convert(value, max_chars, MAX_LEVELS)[0]


def _convert(value: object, room: int, levels: int) -> tuple[Any, int]:
    """Return a value and the number of characters that it takes."""
    try:
        shape = shape_of(type(value))
        if shape is not None and levels:
            return _collection(value, shape, room, levels - 1)
    except Exception as error:
        let_through(error)
        value = Words.of(value)
    if value is None:
        return None, len("null")
    rendered = wire(value, room)
    return rendered, len(str(rendered))


def _collection(value: Any, shape: Shape, room: int, levels: int) -> tuple[Any, int]:
    size = len(value)
    items = items_of(value, shape, min(size, room))
    if shape == "mapping":
        return _mapping(items, size, room, levels)
    shown: list[Any] = []
    used = 0
    for item in items:
        if not _has_room(item, room - used):
            break
        rendered, taken = _convert(item, room - used, levels)
        shown.append(rendered)
        used += taken
    if len(shown) < size:
        shown.append(f"{_REST} {size - len(shown)} more")
    return shown, used


def _mapping(
    items: Iterable[tuple[object, object]], size: int, room: int, levels: int
) -> tuple[dict[str, Any], int]:
    shown: dict[str, Any] = {}
    used = 0
    for key, item in items:
        # A name that is empty would be dropped.
        unique = _unused(str(wire(escape(json_key(key, room)), max(room, WORTH_CUTTING))) or '""', shown)
        rest = room - used - len(unique)
        if not _has_room(item, rest):
            break
        shown[unique], taken = _convert(item, rest, levels)
        used += len(unique) + taken
    left = size - len(shown)
    if left:
        shown[_unused(_REST, shown)] = f"{left} more {'key' if left == 1 else 'keys'}"
    return shown, used


def _unused(text: str, shown: dict[str, Any]) -> str:
    unique, number = text, 1
    while unique in shown:
        number += 1
        unique = f"{text} #{number}"
    return unique


def _has_room(item: object, room: int) -> bool:
    return room >= WORTH_CUTTING or (room > 0 and JSON.whole(item, room, 0) is not None)
