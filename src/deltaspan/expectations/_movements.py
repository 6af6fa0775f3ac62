"""Movements of a state as a whole: some change, any at all, or none."""

from __future__ import annotations

from dataclasses import dataclass

from deltaspan._state.diff import Delta
from deltaspan.expectations._base import Movement, States


@dataclass(frozen=True, slots=True)
class SomeChange(Movement):
    """Any movement at all, judged by value."""

    @property
    def expected(self) -> None:
        return None

    def holds(self, delta: Delta, states: States) -> bool:
        return delta.changed


SOME_CHANGE = SomeChange()


@dataclass(frozen=True, slots=True)
class AnyMovement(Movement):
    """Any movement, or none. Only the end counts."""

    @property
    def expected(self) -> None:
        return None

    @property
    def admits_no_change(self) -> bool:
        return True

    def holds(self, delta: Delta, states: States) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class NoMovement(Movement):
    """No movement, because the computed operands name none."""

    @property
    def verb(self) -> str:
        return "stay unchanged"

    @property
    def extent(self) -> str:
        return "because no change was computed"

    @property
    def expected(self) -> str:
        return "no change, as computed"

    @property
    def admits_no_change(self) -> bool:
        return True

    def holds(self, delta: Delta, states: States) -> bool:
        return not delta.changed
