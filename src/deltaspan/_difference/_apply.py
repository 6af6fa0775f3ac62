"""Replay a delta: the baseline with the delta applied is the post-state."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

from deltaspan._deltas import Delta, MappingDelta, NumberDelta, SequenceDelta, SetDelta
from deltaspan._deltas._numbers import add

__all__ = ["apply"]

_GONE: Final = object()

_Edit = tuple[Sequence[object], object]
"""The keys that are left to go, and what is to be put there, or `_GONE`."""


def apply(delta: Delta, pre: object) -> object:
    """Apply a delta to the baseline that it was computed from.

    Args:
        delta: what `difference(pre, post)` returned.
        pre: the frozen baseline.

    Returns:
        A frozen value that equals the post-state; of floats up to rounding, as subtraction rounds.

    Raises:
        TypeError: the delta says only that the states differ as wholes, which cannot be replayed.

    Example:
        >>> from deltaspan._difference import difference
        >>> pre, post = (1, 2), (1, 2, 3)
        >>> apply(difference(pre, post), pre)
        (1, 2, 3)
    """
    if not delta.changed:
        return pre
    state: Any = pre
    match delta:
        case NumberDelta():
            return add(state, delta.amount)
        case SetDelta():
            return (state - delta.removed) | delta.added
        case SequenceDelta():
            end = len(state) - delta.tail
            return state[: end - len(delta.before)] + delta.after + state[end:]
        case MappingDelta():
            edits: list[_Edit] = [(path, _GONE) for path in delta.removed]
            edits += [(path, after) for path, (_, after) in delta.modified.items()]
            edits += delta.added.items()
            return _edited(state, edits)
        case _:
            raise TypeError("a change of a whole value cannot be replayed: use the post-state itself")


def _edited(state: Any, edits: list[_Edit]) -> object:
    fresh: Any = list(state) if isinstance(state, tuple) else dict(state)
    below: dict[object, list[_Edit]] = {}
    for (key, *rest), item in edits:
        if rest:
            below.setdefault(key, []).append((rest, item))
        elif item is _GONE:
            del fresh[key]
        else:
            fresh[key] = item
    for key, inner in below.items():
        fresh[key] = _edited(fresh[key], inner)
    return tuple(fresh) if isinstance(state, tuple) else MappingProxyType(fresh)
