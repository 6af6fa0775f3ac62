"""Replay a delta: the baseline with the delta applied is the post-state."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from deltaspan._state.diff import Delta, MappingDelta, NumberDelta, SequenceDelta, SetDelta
from deltaspan._state.diff._numbers import _EXACT, _to_decimal
from deltaspan._state.snapshot import Aspect

__all__ = ["apply"]

_Kind: TypeAlias = Literal["added", "removed", "modified"]
_Edit: TypeAlias = tuple[Sequence[object], _Kind, object]
"""The remaining keys of a path, the operation at its end, and the new value."""


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
        >>> from deltaspan._state.diff import difference
        >>> pre, post = (1, 2), (1, 2, 3)
        >>> apply(difference(pre, post), pre)
        (1, 2, 3)
    """
    if not delta.changed:
        return pre
    state: Any = pre
    match delta:
        case NumberDelta():
            return _add(state, delta.amount)
        case SetDelta():
            return (state - delta.removed) | delta.added
        case SequenceDelta():
            end = len(state) - delta.tail
            return state[: end - len(delta.before)] + delta.after + state[end:]
        case MappingDelta():
            edits: list[_Edit] = [(path, "removed", None) for path in delta.removed]
            edits += [(path, "modified", after) for path, (_, after) in delta.modified.items()]
            edits += [(path, "added", after) for path, after in delta.added.items()]
            return _edited(state, edits)
        case _:
            raise TypeError("a change of a whole value cannot be replayed: use the post-state itself")


def _edited(state: Any, edits: list[_Edit]) -> object:
    here: dict[_Kind, dict[Any, object]] = {"added": {}, "removed": {}, "modified": {}}
    below: dict[object, list[_Edit]] = {}
    for (key, *rest), kind, item in edits:
        if type(key) is Aspect:
            continue  # the result is plain, and equals the post-state by its content
        if rest:
            below.setdefault(key, []).append((rest, kind, item))
        else:
            here[kind][key] = item
    fresh: Any
    if isinstance(state, tuple):
        # Kept items fill the places between added ones.
        kept = iter([item for index, item in enumerate(state) if index not in here["removed"]])
        size = len(state) - len(here["removed"]) + len(here["added"])
        fresh = [here["added"][index] if index in here["added"] else next(kept) for index in range(size)]
    else:
        fresh = {key: item for key, item in state.items() if key not in here["removed"]}
        fresh.update(here["added"])
    for key, item in here["modified"].items():
        fresh[key] = item
    for key, inner in below.items():
        fresh[key] = _edited(fresh[key], inner)
    return tuple(fresh) if isinstance(state, tuple) else MappingProxyType(fresh)


def _add(pre: Any, amount: Any) -> Any:
    """Add the amount of a delta to a baseline, as exactly as `subtract` computed it."""
    if isinstance(amount, Fraction) and isinstance(pre, Decimal | float):
        return Fraction(pre) + amount
    if isinstance(amount, Decimal):
        return _EXACT.add(_to_decimal(pre), amount)
    return pre + amount
