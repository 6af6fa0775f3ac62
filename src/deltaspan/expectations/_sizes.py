"""The change of the size of a collection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from deltaspan._state.diff import Delta, MappingDelta, Path, SequenceDelta, SetDelta
from deltaspan._state.render import show
from deltaspan.exceptions import DefinitionTypeError
from deltaspan.expectations._base import Movement, States, wrong_kind
from deltaspan.expectations._computed import resolve
from deltaspan.expectations._operands import Computed, Operand, OperandValues, operands_in


@dataclass(frozen=True, slots=True)
class Resizing(Movement):
    """A change of the size by exactly `amount`.

    The size of a mapping is that of its top level.
    """

    amount: Any

    def __post_init__(self) -> None:
        if not isinstance(self.amount, Computed) and type(self.amount) is not int:
            raise DefinitionTypeError(
                f"resizing takes a whole number of members, or a callable that computes one, "
                f"not {show(self.amount)}"
            )

    @property
    def extent(self) -> str:
        amount = "a computed number" if isinstance(self.amount, Computed) else show(self.amount)
        return f"in size by {amount}"

    @property
    def admits_no_change(self) -> bool:
        return isinstance(self.amount, Computed) or bool(self.amount == 0)

    @property
    def operands(self) -> Iterable[Operand]:
        return operands_in(self.amount)

    def resolve(self, values: OperandValues) -> Resizing:
        return Resizing(resolve(self.amount, values))

    def holds(self, delta: Delta, states: States) -> bool:
        amount = _size_change(delta)
        if amount is None:
            raise wrong_kind("resizing", "a collection", delta, states)
        return bool(amount == self.amount)

    def happened(self, delta: Delta) -> str:
        return f"changed in size by {_size_change(delta)}"


def _size_change(delta: Delta) -> int | None:
    match delta:
        case MappingDelta():
            return _count_top_level(delta.added) - _count_top_level(delta.removed)
        case SetDelta() | SequenceDelta():
            return len(delta.added) - len(delta.removed)
        case _:
            return None


def _count_top_level(paths: Iterable[Path]) -> int:
    return sum(len(path) == 1 for path in paths)
