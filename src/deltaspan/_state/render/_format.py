"""Formatting of a value within a number of characters.

Items that have no room are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from deltaspan._interrupts import let_through
from deltaspan._state.render._order import items_of
from deltaspan._state.render._scalars import Shape, Text, Words, shape_of

MAX_DEPTH = 101
"""The deepest level. Deeper ones are `…`. No frozen state has them."""

WORTH_CUTTING = 32
"""The least room in which an item is shown in part. With less, it is left out and counted."""


class Leaf(NamedTuple):
    """A value that is not a collection.

    Attributes:
        raw: its text or bytes.
        write: writes them in the style.
        closing: the number of characters that close the written text.
    """

    raw: Text
    write: Callable[[Any], str]
    closing: int


@dataclass(frozen=True, slots=True)
class Style:
    """One way to write collections.

    Each method takes the room in characters and the depth. `whole` leaves nothing out, and returns None if
    that does not fit. `cut` is for values that do not fit, and counts the rest.
    """

    comma: str
    colon: str
    brackets: Mapping[Shape, tuple[str, str]]
    empty_set: str
    leaf: Callable[[object], Leaf]
    key: Callable[[object, int], object]

    def fit(self, value: object, room: int, depth: int = 0) -> str:
        whole = self.whole(value, room, depth)
        return self.cut(value, room, depth) if whole is None else whole

    def whole(self, value: object, room: int, depth: int) -> str | None:
        kind = type(value)
        if kind is int and -(10**9) < value < 10**9:  # type: ignore[operator]
            text = str(value)  # the usual item of collections, the same in every style
            return text if len(text) <= room else None
        try:
            shape = shape_of(kind)
            if shape is not None and depth < MAX_DEPTH:
                return self._whole_collection(value, shape, room, depth)
            leaf = self.leaf(Words("…") if shape else value)
        except Exception as error:
            let_through(error)
            leaf = self.leaf(Words.of(value))
        # Text that cannot fit is not even escaped or decoded. Four bytes of UTF-8 may be one character.
        return text if len(leaf.raw) <= 4 * room and len(text := leaf.write(leaf.raw)) <= room else None

    def _whole_collection(self, value: Any, shape: Shape, room: int, depth: int) -> str | None:
        size = len(value)
        opening, closing = self.brackets[shape]
        if not size and shape == "set":
            opening, closing = self.empty_set, ""
        room -= len(opening) + len(closing) + len(self.comma) * max(size - 1, 0)
        if size > room and size:  # each item takes a character at least
            return None
        parts = []
        for item in items_of(value, shape, size):
            part = self._whole_item(item, shape, room, depth + 1)
            if part is None:
                return None
            parts.append(part)
            room -= len(part)
        return opening + self.comma.join(parts) + closing if room >= 0 else None

    def cut(self, value: object, room: int, depth: int) -> str:
        try:
            shape = shape_of(type(value))
            if shape is not None and depth < MAX_DEPTH:
                return self._cut_collection(value, shape, room, depth)
            leaf = self.leaf(Words("…") if shape else value)
        except Exception as error:
            let_through(error)
            leaf = self.leaf(Words.of(value))
        return fit_leaf(leaf, room)

    def _cut_collection(self, value: Any, shape: Shape, room: int, depth: int) -> str:
        missing = len(value)
        opening, closing = self.brackets[shape]
        unit = " key" if shape == "mapping" else ""
        parts: list[str] = []
        # Invariant: the written parts and a count of the rest fit into the room.
        used = len(opening)
        if not missing or used + len(_more(missing, unit)) + len(closing) > room:
            return "…"[: max(room, 0)]
        for item in items_of(value, shape, min(missing, room // 2)):
            gap = len(self.comma) if parts else 0
            reserve = len(self.comma) + len(_more(missing - 1, unit)) if missing > 1 else 0
            space = room - used - gap - reserve - len(closing)
            part = self._whole_item(item, shape, space, depth + 1)
            share = space // 2 if missing > 1 else space
            if part is None and share >= WORTH_CUTTING:
                part = self._cut_item(item, shape, share, depth + 1)
            if part is None:
                break
            parts.append(part)
            used += gap + len(part)
            missing -= 1
        if missing:
            parts.append(_more(missing, unit))
        return opening + self.comma.join(parts) + closing

    def _whole_item(self, item: Any, shape: Shape, room: int, depth: int) -> str | None:
        if shape != "mapping":
            return self.whole(item, room, depth)
        key = self.whole(self.key(item[0], room), room, depth)
        if key is None:
            return None
        value = self.whole(item[1], room - len(key) - len(self.colon), depth)
        return None if value is None else key + self.colon + value

    def _cut_item(self, item: Any, shape: Shape, room: int, depth: int) -> str:
        if shape != "mapping":
            return self.cut(item, room, depth)
        key = self.fit(self.key(item[0], room // 2), room // 2, depth) + self.colon
        return key + self.fit(item[1], room - len(key), depth)


def _more(count: int, unit: str) -> str:
    return f"… {count} more{unit}{'s' if unit and count != 1 else ''}"


def fit_leaf(leaf: Leaf, room: int) -> str:
    raw, write, closing = leaf
    if len(raw) <= 4 * room and len(text := write(raw)) <= room:
        return text
    total, unit = len(raw), " char" if isinstance(raw, str) else " byte"
    for counted in (True, False):  # where even the count has no room, the mark alone
        reserve = len(_more(total, unit)) if counted else 1
        keep = min(room - reserve, total)
        while keep >= 0:
            text = write(raw[:keep])
            excess = len(text) + reserve - room
            if excess <= 0:
                tail = _more(total - keep, unit) if counted else "…"
                end = len(text) - closing
                return text[:end] + tail + text[end:]
            keep -= max(1, excess // 10)  # no escape has over ten characters
    return "…"[: max(room, 0)]
