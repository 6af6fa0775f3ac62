"""By how much a collection must have grown or shrunk, whichever members came and went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from deltaspan._state.diff._init_part1 import Delta, MappingDelta, SequenceDelta, SetDelta
from deltaspan._state.render._render import show
from deltaspan.exceptions import DefinitionTypeError
from deltaspan.expectations._base_part1 import unfit
from deltaspan.expectations._base import States

__all__ = ["Resizing"]


@dataclass(frozen=True, slots=True)
class Resizing:
    """A net size that changed by exactly `amount`; a mapping's size is that of its top level."""

    amount: Any

    verb: ClassVar[str] = "change"

    def __post_init__(self) -> None:
        if not callable(self.amount) and type(self.amount) is not int:
            raise DefinitionTypeError(
                f"resizing takes a whole number of members, or a callable that computes one, "
                f"not {show(self.amount)}"
            )

    @property
    def extent(self) -> str:
        return f"in size by {'a computed number' if callable(self.amount) else show(self.amount)}"

    @property
    def expected(self) -> str:
        return self.extent

    @property
    def admits_none(self) -> bool:
        return callable(self.amount) or bool(self.amount == 0)

    def holds(self, delta: Delta, states: States) -> bool:
        amount = _resized(delta)
        if amount is None:
            raise unfit("resizing", "a collection", delta, states)
        return bool(amount == self.amount)

    def happened(self, delta: Delta) -> str:
        return f"changed in size by {_resized(delta)}"

    def fault(self, delta: Delta, states: States) -> str | None:
        return None if self.holds(delta, states) else self.happened(delta)


def _resized(delta: Delta) -> int | None:
    match delta:
        case MappingDelta():
            return _entries(delta.added) - _entries(delta.removed)
        case SetDelta() | SequenceDelta():
            return len(delta.added) - len(delta.removed)
        case _:
            return None


def _entries(paths: Any) -> int:
    return sum(len(path) == 1 for path in paths)
