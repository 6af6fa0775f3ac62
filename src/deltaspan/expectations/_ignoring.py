"""Removal of ignored members from a delta."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

from deltaspan._state.diff import Delta, MappingDelta, SequenceDelta, SetDelta, TaggedDelta, difference, equal
from deltaspan._state.render import list_members
from deltaspan._state.snapshot import MAPPINGS, Path, Record, class_of
from deltaspan.expectations._computed import any_computed, resolve_members
from deltaspan.expectations._operands import Computed, Operand, OperandValues, operands_in
from deltaspan.expectations._paths import Names
from deltaspan.expectations._patterns import demand_text
from deltaspan.expectations._pruning import PatternPruning

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Ignored:
    """The keys, members or paths that are left out before a delta is judged.

    Attributes:
        patterns: patterns, members that are not text, and Computed members.
        pruning: leaves the members that no callable computes out of a state, before it is copied. Computed
            members are left out of the delta alone.
    """

    patterns: tuple[object, ...] = ()
    pruning: PatternPruning | None = field(init=False, repr=False, compare=False)
    _names: Names | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = None if any_computed(self.patterns) else Names(self.patterns, deep=True)
        known = [pattern for pattern in self.patterns if not isinstance(pattern, Computed)]
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "pruning", PatternPruning(known) if known else None)

    @property
    def words(self) -> str:
        """The clause for a demand, such as ", ignoring 'updated_at'"."""
        return f", ignoring {list_members(self.patterns, demand_text)}" if self.patterns else ""

    @property
    def operands(self) -> Iterable[Operand]:
        """The operands that a run fills in."""
        return operands_in(*self.patterns)

    def resolve(self, values: OperandValues) -> Ignored:
        """Return the same with the computed members of one run."""
        return Ignored(resolve_members(self.patterns, values)) if any_computed(self.patterns) else self

    def leave_out(self, delta: Delta) -> Delta:
        """Return the delta without ignored members.

        If the states have no members, it is the delta itself.
        """
        names = self._names
        if not self.patterns or names is None:
            return delta
        match delta:
            case TaggedDelta():
                mine, others, untagged = (
                    _prune_delta(part, names) for part in (delta, delta.others, delta.untagged)
                )
                return TaggedDelta(mine.added, mine.removed, mine.modified, others, untagged, delta.counted)
            case MappingDelta():
                return _prune_delta(delta, names)
            case SetDelta():
                return SetDelta(
                    frozenset(member for member in delta.added if not names.of_member(member)),
                    frozenset(member for member in delta.removed if not names.of_member(member)),
                )
            case SequenceDelta():
                before, after = (
                    tuple(member for member in stretch if not names.of_member(member))
                    for stretch in (delta.before, delta.after)
                )
                rest = difference(before, after)
                assert isinstance(rest, SequenceDelta)  # noqa: S101  # the difference of two tuples
                return replace(rest, tail=rest.tail + delta.tail)
            case _:
                return delta


NOTHING_IGNORED = Ignored()


def _prune_delta(delta: MappingDelta, names: Names) -> MappingDelta:
    def prune(path: Path, value: Any) -> Any:
        return _prune_value(value, path, names)

    def prune_both(path: Path, both: tuple[Any, Any]) -> tuple[Any, Any]:
        return prune(path, both[0]), prune(path, both[1])

    modified = _prune_entries(delta.modified, names, prune_both)
    return MappingDelta(
        _prune_entries(delta.added, names, prune),
        _prune_entries(delta.removed, names, prune),
        MappingProxyType({path: both for path, both in modified.items() if not equal(*both)}),
    )


def _prune_entries(
    entries: Mapping[Path, V], names: Names, prune: Callable[[Path, V], V]
) -> Mapping[Path, V]:
    return MappingProxyType(
        {path: prune(path, item) for path, item in entries.items() if not names.of_path(path)}
    )


def _prune_value(value: Any, path: Path, names: Names) -> Any:
    """Return a whole value without its ignored descendants.

    The value is one that was added, removed or replaced as a whole.
    """
    kind = type(value)
    if kind in MAPPINGS:
        below = ((key, item, Path((*path, key))) for key, item in value.items())
        rest = {key: _prune_value(item, at, names) for key, item, at in below if not names.of_path(at)}
        name = class_of(value)
        return MappingProxyType(rest) if name is None else Record(rest, name)
    if kind is tuple:
        return tuple(
            _prune_value(item, at, names)
            for item, at in ((item, Path((*path, index))) for index, item in enumerate(value))
            if not names.of_path(at)
        )
    return value
