"""Movements of a state as a whole: some change, any at all, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from deltaspan._state.diff import Delta
from deltaspan.expectations._base import States

__all__ = ["SOME_CHANGE", "AnyMovement", "NoMovement", "SomeChange"]


@dataclass(frozen=True, slots=True)
class SomeChange:
    """Any movement at all, judged by value."""

    verb: ClassVar[str] = "change"
    extent: ClassVar[str] = ""
    expected: ClassVar[None] = None
    admits_none: ClassVar[bool] = False

    def holds(self, delta: Delta, states: States) -> bool:
        return delta.changed

    def happened(self, delta: Delta) -> str:
        return delta.words() if delta.changed else "did not change"

    def fault(self, delta: Delta, states: States) -> str | None:
        return None if delta.changed else self.happened(delta)


SOME_CHANGE = SomeChange()


@dataclass(frozen=True, slots=True)
class AnyMovement:
    """Any movement, or none. Only the end counts."""

    verb: ClassVar[str] = ""
    extent: ClassVar[str] = ""
    expected: ClassVar[None] = None
    admits_none: ClassVar[bool] = True

    def holds(self, delta: Delta, states: States) -> bool:
        return True

    def happened(self, delta: Delta) -> str:
        return delta.words() if delta.changed else "did not change"

    def fault(self, delta: Delta, states: States) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class NoMovement:
    """No movement, because the computed operands name none."""

    verb: ClassVar[str] = "stay unchanged"
    extent: ClassVar[str] = "because no change was computed"
    expected: ClassVar[str] = "no change, as computed"
    admits_none: ClassVar[bool] = True

    def holds(self, delta: Delta, states: States) -> bool:
        return not delta.changed

    def happened(self, delta: Delta) -> str:
        return delta.words() if delta.changed else "did not change"

    def fault(self, delta: Delta, states: States) -> str | None:
        return self.happened(delta) if delta.changed else None
