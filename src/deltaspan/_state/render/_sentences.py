"""Two states in one sentence: both if they are short, else their difference."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Final

from deltaspan._interrupts import let_through
from deltaspan._state.render._scalars import TEXTS, shape_of
from deltaspan._state.render._styles import PYTHON

_SHORT: Final = 40
"""The most characters of two states that a sentence repeats after the difference."""

_MAX_CHARS: Final = 60
_CONTEXT: Final = 15
"""The number of shared characters that are shown before the first difference of two long texts."""

_SMALL_INT: Final = 10**15
_UNITS: Final = {"sequence": ("list", "member"), "set": ("set", "member"), "mapping": ("mapping", "key")}


def transition(before: object, after: object) -> str:
    """Return both states to follow what happened: " (3 → 4)", or nothing.

    Two collections of one kind are shown only if both are short, because a delta names their differences. Of
    two long texts, the part around the first difference is shown.

    Args:
        before: the frozen baseline.
        after: the frozen post-state.

    Example:
        >>> transition(3, 4), transition(tuple(range(50)), tuple(range(51)))
        (' (3 → 4)', '')
    """
    if type(before) is int and type(after) is int and max(abs(before), abs(after)) < _SMALL_INT:
        return f" ({before} → {after})"
    short = _both_short(before, after)
    if short is not None:
        return f" ({short[0]} → {short[1]})"
    shape = _shape(before)
    if shape is not None and shape == _shape(after):
        return ""
    first, second = distinct(before, after)
    return f" ({first} → {second})" if first != second else ""


def describe_kinds(before: object, after: object) -> str:
    """Return both states to follow "the states were".

    A long collection is described by its kind and size.
    """
    first, second = _both_short(before, after) or distinct(before, after)
    return f"{first} → {second}"


def distinct(one: object, other: object) -> tuple[str, str]:
    """Return the bounded texts of two states.

    Of two long texts these are the parts around the first difference.

    A long collection is described by its kind and size.
    """
    if type(one) is type(other) and isinstance(one, TEXTS):
        return _excerpts(one, other)
    return _fit(one), _fit(other)


def whole(state: object, max_chars: int = _SHORT) -> str | None:
    """Return the text of a state, or None if it is too long."""
    return PYTHON.whole(state, max_chars, 0)


def with_noun(noun: str, shown: str, count: int = 1) -> str:
    """Put a noun before members whose text could be read as an amount.

    Args:
        noun: the noun in the singular: "key".
        shown: the text of the members.
        count: the number of members.

    Example:
        >>> with_noun("key", "9"), with_noun("member", "8, 9", 2), with_noun("key", "'status'")
        ('key 9', 'members 8, 9', "'status'")
    """
    if shown[:1] in ("", "'", '"'):
        return shown
    return f"{noun if count == 1 else noun + 's'} {shown}"


def _both_short(before: object, after: object) -> tuple[str, str] | None:
    first = whole(before)
    second = None if first is None else whole(after, _SHORT - len(first))
    return None if first is None or second is None else (first, second)


def _shape(state: object) -> str | None:
    try:
        return shape_of(type(state))
    except Exception as error:
        let_through(error)
        return None


def _fit(state: Any) -> str:
    shape = _shape(state)
    if shape is None:
        return PYTHON.fit(state, _MAX_CHARS)
    text = whole(state)
    if text is not None:
        return text
    kind, unit = _UNITS[shape]
    count = len(state)
    return f"a {kind} of {count} {unit}{'' if count == 1 else 's'}"


def _excerpts(one: Any, other: Any) -> tuple[str, str]:
    first, second = PYTHON.fit(one, _MAX_CHARS), PYTHON.fit(other, _MAX_CHARS)
    if "…" not in first + second:
        return first, second
    limit = min(len(one), len(other))
    # The longest common beginning, by halves: a text may have a million characters.
    shared = bisect_left(range(limit), True, key=lambda size: one[: size + 1] != other[: size + 1])
    for context in (_CONTEXT, 0):
        start = max(shared - context, 0)
        first, second = (_from(text, start) for text in (one, other))
        if first != second:
            break
    return first, second


def _from(text: Any, start: int) -> str:
    rest = PYTHON.fit(text[start:], _MAX_CHARS)
    return f"…{rest}" if start else rest
