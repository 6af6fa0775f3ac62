"""The members of one kind that must be added, removed or modified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple

from deltaspan._guard import describe
from deltaspan._interrupts import let_through
from deltaspan._state.diff import Delta, MappingDelta, SequenceDelta, identity
from deltaspan._state.render import join_phrases, list_members, show, with_noun
from deltaspan._state.snapshot import Path
from deltaspan._verdicts import UNREAD
from deltaspan.exceptions import DefinitionTypeError
from deltaspan.expectations._computed import any_computed, resolve, resolve_members
from deltaspan.expectations._entries import PAST_TENSE, Kind, entry_names
from deltaspan.expectations._operands import (
    BEFORE,
    KEY,
    MEMBER,
    VALUE,
    BoundPredicate,
    Computed,
    Operand,
    OperandValues,
    Predicate,
    operands_in,
)
from deltaspan.expectations._paths import Names
from deltaspan.expectations._patterns import Pattern, demand_text, is_glob
from deltaspan.expectations._predicates import PredicateRaised

_BARE: Final[dict[Kind, str]] = {"adding": "add", "removing": "remove", "modifying": "modify"}


class Tally(NamedTuple):
    """The differences between the entries of one kind and those named."""

    missing: list[object]
    undeclared: Collection[Any]
    miscounted: bool
    matching: Collection[Any]
    """The entries for which the predicate holds, or all of them without one."""
    rejected: Collection[Any]


@dataclass(frozen=True, slots=True)
class Named:
    """The members that must be added, removed or modified.

    If there is a predicate, only entries for which it is true count. With a count, members that are given in
    full are among those counted, and the rest may be any. If one of them is a glob pattern, all must be
    named. Without members any entries satisfy the demand: as many as counted, or at least one.

    Attributes:
        kind: adding, removing or modifying.
        members: values, keys and patterns, frozen, and Computed ones. None accepts any.
        count: the total number, perhaps computed, or None.
        where: the predicate of one entry, or None. In a run it is bound.
    """

    kind: Kind
    members: tuple[object, ...] | None = None
    count: Any = None
    where: Predicate | BoundPredicate | None = None
    _names: Names | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (self.count is None or isinstance(self.count, Computed) or _is_count(self.count)):
            raise DefinitionTypeError(
                f"{self.kind}(count=...) takes a whole number of members, 0 or more, or a callable that "
                f"computes one, not {show(self.count)}"
            )
        if isinstance(self.where, Predicate) and not callable(self.where.function):
            raise DefinitionTypeError(
                f"{self.kind}(where=...) takes a predicate to be called, not {show(self.where.function)}; "
                f"write where=lambda member: ..., or name key and value for a mapping"
            )
        members = self.members
        names = None if members is None or any_computed(members) else Names(members, deep=self._deep)
        object.__setattr__(self, "_names", names)

    @property
    def operands(self) -> Iterable[Operand]:
        """The operands that a run fills in."""
        return operands_in(*(self.members or ()), self.count, self.where)

    def resolve(self, values: OperandValues) -> Named:
        """Return the same with the values of one run."""
        return replace(
            self,
            members=None if self.members is None else resolve_members(self.members, values),
            count=resolve(self.count, values),
            where=values.bind(self.where) if isinstance(self.where, Predicate) else self.where,
        )

    @property
    def words(self) -> str:
        """The text of the demand, such as "adding 'acme', 3 members in total"."""
        counted = "a computed number of" if isinstance(self.count, Computed) else self.count
        unit = "member" if self.count == 1 else "members"
        if self.is_nothing:
            text = f"{self.kind} no member"
        elif not self.members:
            text = f"{self.kind} any member" if self.count is None else f"{self.kind} {counted} {unit}"
        else:
            text = f"{self.kind} {_demand_list(self.members)}" + (
                "" if self.count is None else f", {counted} {unit} in total"
            )
        return text if self.where is None else f"{text} for which {self.where.name} holds"

    @property
    def is_nothing(self) -> bool:
        """True if the computed operands demand no member.

        The members, or the count, are then computed as nothing.
        """
        return not self.members and (self.members == () if self.count is None else self.count == 0)

    @property
    def admits_no_change(self) -> bool:
        """True if the computed operands may demand no member."""
        if self.count is not None:
            return isinstance(self.count, Computed) and not self.members
        return self.members is not None and all(isinstance(member, Computed) for member in self.members)

    @property
    def is_vacuous(self) -> bool:
        """True if it demands nothing where other members may change too."""
        return self.members == () and self.count is None

    @property
    def _deep(self) -> bool:
        # A change below a key modifies the value at the key. An addition below it does not add the key.
        return self.kind == "modifying"

    def tally(self, entries: Collection[Any], delta: Delta) -> Tally:
        """Compare the entries of this kind with the named members.

        Raises:
            PredicateRaised: the predicate raised instead of answering.
        """
        matching: Collection[Any] = entries
        rejected: list[Any] = []
        if self.where is not None:
            matching, rejected = self._partition(self.where, entries)
        miscounted = self.count is not None and len(matching) != self.count
        if self.members is None:
            return Tally([], (), miscounted or (self.count is None and not matching), matching, rejected)
        if isinstance(delta, SequenceDelta):
            missing, undeclared = self._each_once(matching)
        else:
            missing, undeclared = self._all(matching, delta)
        if self.count is not None and not (
            isinstance(delta, MappingDelta) and any(map(is_glob, self.members))
        ):
            undeclared = []
        return Tally(missing, undeclared, miscounted, matching, rejected)

    def _partition(
        self, where: Predicate | BoundPredicate, entries: Collection[Any]
    ) -> tuple[list[Any], list[Any]]:
        matching: list[Any] = []
        rejected: list[Any] = []
        for entry in entries:
            (matching if self._matches(where, entry, entries) else rejected).append(entry)
        return matching, rejected

    def _matches(self, where: Predicate | BoundPredicate, entry: Any, entries: Collection[Any]) -> bool:
        """Ask the predicate about one entry, with the names of its kind."""
        if isinstance(where, Predicate):
            raise PredicateRaised(f"{where.name} of {self.kind}(where=...) was asked outside of a run")
        known: dict[str, object] = {MEMBER: entry}
        if isinstance(entries, Mapping):
            item = entries[entry]
            before, value = item if self.kind == "modifying" else (UNREAD, item)
            known = {KEY: entry.member, VALUE: value}
            if before is not UNREAD:
                known[BEFORE] = before
        asked = f"{where.name} of {self.kind}(where=...)"
        missing = next(
            (name for name in (MEMBER, KEY, VALUE, BEFORE) if name in where.names - known.keys()), None
        )
        if missing is not None:
            raise PredicateRaised(
                f"{asked} names {missing!r}, and what was {PAST_TENSE[self.kind]} has "
                f"{join_phrases(map(repr, known))}"
            )
        try:
            return where.holds_of(self.kind, entry, known)
        except BaseException as error:
            let_through(error)
            raise PredicateRaised(f"{asked} raised {describe(error)}", error) from None

    def _all(self, entries: Collection[Any], delta: Delta) -> tuple[list[object], list[Any]]:
        assert self.members is not None  # noqa: S101  # `tally` asked
        assert self._names is not None  # noqa: S101  # computed members are filled in by now
        find: Callable[[Any], Iterable[int]] = self._names.of_value
        if isinstance(delta, MappingDelta):
            find = self._names.of_path
        hit: set[int] = set()
        undeclared = []
        for entry in entries:
            found = find(entry)
            if found:
                hit.update(found)
            else:
                undeclared.append(entry)
        return [member for index, member in enumerate(self.members) if index not in hit], undeclared

    def _each_once(self, entries: Collection[Any]) -> tuple[list[object], list[Any]]:
        """Compare entries one by one, because each occurrence in a sequence counts."""
        assert self.members is not None  # noqa: S101  # `tally` asked
        assert self._names is not None  # noqa: S101  # computed members are filled in by now
        values = [member.literal if isinstance(member, Pattern) else member for member in self.members]
        due = Counter(map(identity, values))
        hit: set[int] = set()
        undeclared = []
        for entry in entries:
            if _take(due, entry):
                continue
            found = [index for index in self._names.of_value(entry) if _is_marked(self.members[index])]
            hit.update(found)
            if not found:
                undeclared.append(entry)
        left = [index for index, value in enumerate(values) if _take(due, value)]
        return [self.members[index] for index in left if index not in hit], undeclared

    def matching(self, entries: Mapping[Path, Any], more: Mapping[Path, Any]) -> list[Path]:
        """Return the paths of `more` that, together with `entries`, would satisfy the demand."""
        due: list[Path] = []
        rest = [path for path in more if self._might_match(path, more)]
        if self._names is not None:
            hit: set[int] = set().union(*map(self._names.of_path, entries))
            possible, rest = rest, []
            for path in possible:
                found = self._names.of_path(path)
                (rest if found <= hit else due).append(path)
                hit |= found
            if self.count is None or any(map(is_glob, self.members or ())):
                rest = [path for path in rest if self._names.of_path(path)]
        room = len(rest) if self.count is None else max(0, self.count - len(entries) - len(due))
        return [*due, *rest[:room]]

    def _might_match(self, path: Path, entries: Mapping[Path, Any]) -> bool:
        try:
            return self.where is None or self._matches(self.where, path, entries)
        except PredicateRaised:
            return False

    def describe_deviations(
        self, entries: Collection[Any], delta: Delta, tally: Tally, *, others: bool
    ) -> Iterator[str]:
        """Describe the parts of the demand that were not met."""
        past = PAST_TENSE[self.kind]
        name = "" if self.where is None else self.where.name
        holds = f" for which {name} holds" if name else ""
        missing = self._missing_anyway(entries, delta) if tally.rejected else tally.missing
        is_said = bool(tally.rejected) and (not others or len(missing) < len(tally.missing))
        if is_said:
            rejected = entry_names(self.kind, tally.rejected, delta)
            yield f"{past} {rejected}, for which {name} does not hold"
        if missing:
            yield f"did not {_BARE[self.kind]} {_demand_list(missing)}{self._hint(entries)}"
        elif tally.missing:
            return  # they are there, but the predicate does not hold for them
        elif tally.miscounted and not entries:
            yield f"{past} no member"
        elif tally.miscounted and tally.matching:
            unit = "member" if len(tally.matching) == 1 else "members"
            named = entry_names(self.kind, tally.matching, delta)
            yield f"{past} {len(tally.matching)} {unit}{holds} ({named})"
        elif tally.miscounted and not is_said:
            yield f"{past} no member{holds}"

    def _missing_anyway(self, entries: Collection[Any], delta: Delta) -> list[object]:
        """Return the members that are missing even if the predicate is not asked."""
        if self.members is None:
            return []
        find = self._each_once if isinstance(delta, SequenceDelta) else partial(self._all, delta=delta)
        return find(entries)[0]

    def _hint(self, entries: Collection[Any]) -> str:
        """Suggest `count=` for a number that was meant to count members."""
        if self.members is None or len(self.members) != 1 or self.count is not None or not entries:
            return ""
        number = self.members[0]
        if type(number) is not int or number < 1 or any(isinstance(_key(entry), int) for entry in entries):
            return ""
        return f" (a number of members is count={number})"


def _key(entry: object) -> object:
    return entry[0] if isinstance(entry, Path) else entry


def _demand_list(members: Collection[Any]) -> str:
    """List demanded members, with a noun before numbers.

    Text needs no noun: its quotes set it apart.
    """
    text = list_members(members, demand_text)
    if any_computed(members) or isinstance(next(iter(members)), str | Pattern):
        return text
    return with_noun("member", text, len(members))


def _is_marked(member: object) -> bool:
    return isinstance(member, Pattern) and member.is_marked


def _is_count(count: object) -> bool:
    return type(count) is int and count >= 0


def _take(due: Counter[Any], member: object) -> bool:
    key = identity(member)
    if due[key] <= 0:
        return False
    due[key] -= 1
    return True
