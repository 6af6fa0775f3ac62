"""The movement that is confined to some members."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from deltaspan._state.diff import Delta, MappingDelta
from deltaspan._state.render import join_phrases, list_members
from deltaspan._state.snapshot import Path
from deltaspan.expectations._base import Movement, States, wrong_kind
from deltaspan.expectations._computed import any_computed, resolve_members
from deltaspan.expectations._entries import Kind, entries_of, entry_words
from deltaspan.expectations._movements import NoMovement
from deltaspan.expectations._operands import Computed, Operand, OperandValues, operands_in
from deltaspan.expectations._order import kept_order
from deltaspan.expectations._paths import Names
from deltaspan.expectations._patterns import demand_text


@dataclass(frozen=True, slots=True)
class Only(Movement):
    """At least one change, of any kind, and none beyond these members.

    Attributes:
        members: values, keys and patterns, frozen, and Computed ones.
    """

    members: tuple[object, ...]
    _names: Names | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = None if any_computed(self.members) else Names(self.members, deep=True)
        object.__setattr__(self, "_names", names)

    @property
    def operands(self) -> Iterable[Operand]:
        return operands_in(*self.members)

    def resolve(self, values: OperandValues) -> Movement:
        members = resolve_members(self.members, values)
        return Only(members) if members else NoMovement()

    @property
    def extent(self) -> str:
        return f"only in {list_members(self.members, demand_text)}"

    @property
    def admits_no_change(self) -> bool:
        return all(isinstance(member, Computed) for member in self.members)

    def holds(self, delta: Delta, states: States) -> bool:
        outside = self._outside(delta, states)
        return delta.changed and not any(entries for _, entries in outside) and kept_order(delta)

    def describe_deviation(self, delta: Delta, states: States) -> str | None:
        if self.holds(delta, states):
            return None
        if not delta.changed:
            return "did not change"
        outside = [(kind, entries) for kind, entries in self._outside(delta, states) if entries]
        phrases = [entry_words(kind, entries, delta) for kind, entries in outside]
        outside_count = sum(len(entries) for _, entries in outside)
        if not kept_order(delta):
            phrases.append("reordered its members")
            outside_count += 1
        also = "also " if outside_count < _changes(delta) else ""
        return f"{also}{join_phrases(phrases)}, which {'lies' if outside_count == 1 else 'lie'} outside"

    def within(self, paths: Collection[Path]) -> list[Path]:
        """Return those of the paths that lie within the members."""
        assert self._names is not None  # noqa: S101  # computed members are filled in by now
        return [path for path in paths if self._names.of_path(path)]

    def _outside(self, delta: Delta, states: States) -> Iterator[tuple[Kind, list[Any]]]:
        entries = entries_of(delta)
        if entries is None:
            raise wrong_kind("only", "a collection", delta, states)
        assert self._names is not None  # noqa: S101  # computed members are filled in by now
        find: Callable[[Any], object] = self._names.of_member
        if isinstance(delta, MappingDelta):
            find = self._names.of_path
        return ((kind, [entry for entry in some if not find(entry)]) for kind, some in entries)


def _changes(delta: Delta) -> int:
    return sum(len(entries) for _, entries in entries_of(delta) or ())
