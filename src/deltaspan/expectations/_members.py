"""The movement of members: those added, removed and modified."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from deltaspan._state.diff import Delta, MappingDelta
from deltaspan._state.render import join_phrases
from deltaspan.expectations._base import Movement, NothingClaimed, States, wrong_kind
from deltaspan.expectations._entries import KINDS, Kind, entries_of, entry_words
from deltaspan.expectations._movements import NoMovement
from deltaspan.expectations._named import Named
from deltaspan.expectations._operands import Operand, OperandValues
from deltaspan.expectations._order import kept_order


@dataclass(frozen=True, slots=True)
class Members(Movement):
    """The members that must be added, removed and modified.

    A kind without a demand must not occur.

    Attributes:
        adding: what must be added, or None.
        removing: what must be removed, or None.
        modifying: what must be modified, or None.
        others: whether other members may change too, in any way.
    """

    adding: Named | None = None
    removing: Named | None = None
    modifying: Named | None = None
    others: bool = False

    @property
    def operands(self) -> Iterable[Operand]:
        return [operand for named in self._all_named for operand in named.operands]

    def resolve(self, values: OperandValues) -> Movement:
        kinds: dict[str, Any] = {named.kind: named.resolve(values) for named in self._all_named}
        members = replace(self, **kinds)
        return NoMovement() if members.is_nothing else members

    @property
    def allows_others(self) -> bool:
        return self.others

    @property
    def is_nothing(self) -> bool:
        """True if the computed operands demand that nothing changes at all."""
        return not self.others and all(named.is_nothing for named in self._all_named)

    @property
    def _all_named(self) -> list[Named]:
        return [named for named in (self.adding, self.removing, self.modifying) if named is not None]

    @property
    def extent(self) -> str:
        return f"by {self.expected}"

    @property
    def expected(self) -> str:
        text = join_phrases(named.words for named in self._all_named)
        return f"{text}, allowing others" if self.others else text

    @property
    def admits_no_change(self) -> bool:
        return all(named.admits_no_change for named in self._all_named)

    def holds(self, delta: Delta, states: States) -> bool:
        if self.others and all(named.is_vacuous for named in self._all_named):
            raise NothingClaimed(self.expected)
        for kind, entries in self._entries(delta, states):
            named: Named | None = getattr(self, kind)
            if named is None:
                if entries and not self.others:
                    return False
                continue
            tally = named.tally(entries, delta)
            if tally.missing or tally.miscounted:
                return False
            if not self.others and (tally.undeclared or tally.rejected):
                return False
        return self.others or kept_order(delta)

    def describe_deviation(self, delta: Delta, states: States) -> str | None:
        if self.holds(delta, states):
            return None
        if not delta.changed:
            return "did not change"
        unmet: list[str] = []
        phrases: list[str] = []
        undeclared_count = 0
        for kind, entries in self._entries(delta, states):
            named: Named | None = getattr(self, kind)
            undeclared = entries
            if named is not None:
                tally = named.tally(entries, delta)
                unmet += named.describe_deviations(entries, delta, tally, others=self.others)
                undeclared = tally.undeclared
            if undeclared and not self.others:
                undeclared_count += len(undeclared)
                phrases.append(entry_words(kind, undeclared, delta))
        if not self.others and not kept_order(delta):
            undeclared_count += 1
            phrases.append("reordered its members")
        if phrases:
            were = "was" if undeclared_count == 1 else "were"
            unmet.append(f"{'it' if unmet else 'also'} {join_phrases(phrases)}, which {were} not declared")
        return join_phrases(unmet)

    def _entries(self, delta: Delta, states: States) -> list[tuple[Kind, Collection[Any]]]:
        word = next(kind for kind in KINDS if getattr(self, kind) is not None)
        entries = entries_of(delta)
        if entries is None:
            raise wrong_kind(word, "a collection", delta, states)
        if self.modifying is not None and not isinstance(delta, MappingDelta):
            raise wrong_kind("modifying", "a mapping", delta, states)
        return entries
