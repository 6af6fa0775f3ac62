"""The movements of members: gained, lost and changed members, and the size."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

from deltaspan._guard import describe
from deltaspan._interrupts import let_through
from deltaspan._state.diff import Delta, MappingDelta, SequenceDelta, SetDelta, TaggedDelta, identity
from deltaspan._state.render import joined, listed, show, shown, transition, with_noun
from deltaspan._state.snapshot import Path
from deltaspan._verdicts import UNREAD
from deltaspan.exceptions import DefinitionTypeError
from deltaspan.expectations._base import Incomparable, NothingClaimed, States, wrong_kind
from deltaspan.expectations._computed import (
    BEFORE,
    KEY,
    MEMBER,
    VALUE,
    BoundPredicate,
    any_computed,
    predicate_name,
)
from deltaspan.expectations._movements import NoMovement
from deltaspan.expectations._paths import Names
from deltaspan.expectations._patterns import Pattern, demand_text, is_glob
from deltaspan.expectations._predicates import PredicateRaised

__all__ = [
    "KINDS",
    "Kind",
    "Members",
    "Named",
    "Resizing",
    "entries_of",
    "entry_words",
    "kept_order",
]

Kind: TypeAlias = Literal["adding", "removing", "modifying"]

KINDS: Final[tuple[Kind, ...]] = ("adding", "removing", "modifying")
_PAST: Final[dict[Kind, str]] = {"adding": "added", "removing": "removed", "modifying": "modified"}
_BARE: Final[dict[Kind, str]] = {"adding": "add", "removing": "remove", "modifying": "modify"}


class _Tally(NamedTuple):
    """The differences between the entries of one kind and those named."""

    missing: list[object]
    beyond: Collection[Any]
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
        members: values, keys and patterns, frozen, and callables that compute some. None accepts any.
        count: the total number, a callable that computes it, or None.
        where: the predicate of one entry, or None. In a run it is a BoundPredicate.
    """

    kind: Kind
    members: tuple[object, ...] | None = None
    count: Any = None
    where: Any = None
    _names: Names | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.count is not None and not callable(self.count) and not _is_count(self.count):
            raise DefinitionTypeError(
                f"{self.kind}(count=...) takes a whole number of members, 0 or more, or a callable that "
                f"computes one, not {show(self.count)}"
            )
        if self.where is not None and not callable(self.where) and not isinstance(self.where, BoundPredicate):
            raise DefinitionTypeError(
                f"{self.kind}(where=...) takes a predicate to be called, not {show(self.where)}; "
                f"write where=lambda member: ..., or name key and value for a mapping"
            )
        members = self.members
        names = None if members is None or any_computed(members) else Names(members, deep=self._deep)
        object.__setattr__(self, "_names", names)

    @property
    def words(self) -> str:
        """The text of the demand, such as "adding 'acme', 3 members in total"."""
        counted = "a computed number of" if callable(self.count) else self.count
        unit = "member" if self.count == 1 else "members"
        if self.is_nothing:
            text = f"{self.kind} no member"
        elif not self.members:
            text = f"{self.kind} any member" if self.count is None else f"{self.kind} {counted} {unit}"
        else:
            text = f"{self.kind} {_demand_list(self.members)}" + (
                "" if self.count is None else f", {counted} {unit} in total"
            )
        return text if self.where is None else f"{text} for which {predicate_name(self.where)} holds"

    @property
    def is_nothing(self) -> bool:
        """True if the computed operands demand no member.

        The members, or the count, are then computed as nothing.
        """
        return not self.members and (self.members == () if self.count is None else self.count == 0)

    @property
    def admits_none(self) -> bool:
        """True if the computed operands may demand no member."""
        if self.count is not None:
            return callable(self.count) and not self.members
        return self.members is not None and all(map(callable, self.members))

    @property
    def is_vacuous(self) -> bool:
        """True if it demands nothing where other members may change too."""
        return self.members == () and self.count is None

    @property
    def _deep(self) -> bool:
        # A change below a key modifies the value at the key. An addition below it does not add the key.
        return self.kind == "modifying"

    def tally(self, entries: Collection[Any], delta: Delta) -> _Tally:
        """Compare the entries of this kind with the named members.

        Raises:
            PredicateRaised: the predicate raised instead of answering.
        """
        matching: Collection[Any] = entries
        rejected: list[Any] = []
        if self.where is not None:
            matching, rejected = self._partition(entries)
        miscounted = self.count is not None and len(matching) != self.count
        if self.members is None:
            return _Tally([], (), miscounted or (self.count is None and not matching), matching, rejected)
        if isinstance(delta, SequenceDelta):
            missing, beyond = self._each_once(matching)
        else:
            missing, beyond = self._all(matching, delta)
        if self.count is not None and not (
            isinstance(delta, MappingDelta) and any(map(is_glob, self.members))
        ):
            beyond = []
        return _Tally(missing, beyond, miscounted, matching, rejected)

    def _partition(self, entries: Collection[Any]) -> tuple[list[Any], list[Any]]:
        matching: list[Any] = []
        rejected: list[Any] = []
        for entry in entries:
            (matching if self._matches(entry, entries) else rejected).append(entry)
        return matching, rejected

    def _matches(self, entry: Any, entries: Collection[Any]) -> bool:
        """Ask the predicate about one entry, with the names of its kind."""
        where = self.where
        if not isinstance(where, BoundPredicate):
            raise PredicateRaised(
                f"{predicate_name(where)} of {self.kind}(where=...) was asked outside of a run"
            )
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
                f"{asked} names {missing!r}, and what was {_PAST[self.kind]} has {joined(map(repr, known))}"
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
        beyond = []
        for entry in entries:
            found = find(entry)
            if found:
                hit.update(found)
            else:
                beyond.append(entry)
        return [member for index, member in enumerate(self.members) if index not in hit], beyond

    def _each_once(self, entries: Collection[Any]) -> tuple[list[object], list[Any]]:
        """Compare entries one by one, because each occurrence in a sequence counts."""
        assert self.members is not None  # noqa: S101  # `tally` asked
        assert self._names is not None  # noqa: S101  # computed members are filled in by now
        values = [member.literal if isinstance(member, Pattern) else member for member in self.members]
        due = Counter(map(identity, values))
        hit: set[int] = set()
        beyond = []
        for entry in entries:
            if _take(due, entry):
                continue
            found = [index for index in self._names.of_value(entry) if _is_marked(self.members[index])]
            hit.update(found)
            if not found:
                beyond.append(entry)
        left = [index for index, value in enumerate(values) if _take(due, value)]
        return [self.members[index] for index in left if index not in hit], beyond

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
            return self.where is None or self._matches(path, entries)
        except PredicateRaised:
            return False

    def faults(self, entries: Collection[Any], delta: Delta, tally: _Tally, *, others: bool) -> Iterator[str]:
        """Describe the parts of the demand that were not met."""
        past = _PAST[self.kind]
        holds = "" if self.where is None else f" for which {predicate_name(self.where)} holds"
        missing = self._missing_anyway(entries, delta) if tally.rejected else tally.missing
        is_said = bool(tally.rejected) and (not others or len(missing) < len(tally.missing))
        if is_said:
            rejected = _names(self.kind, tally.rejected, delta)
            yield f"{past} {rejected}, for which {predicate_name(self.where)} does not hold"
        if missing:
            yield f"did not {_BARE[self.kind]} {_demand_list(missing)}{self._hint(entries)}"
        elif tally.missing:
            return  # they are there, but the predicate does not hold for them
        elif tally.miscounted and not entries:
            yield f"{past} no member"
        elif tally.miscounted and tally.matching:
            unit = "member" if len(tally.matching) == 1 else "members"
            named = _names(self.kind, tally.matching, delta)
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


@dataclass(frozen=True, slots=True)
class Members:
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

    verb: ClassVar[str] = "change"

    def resolved(self, **values: Any) -> Members | NoMovement:
        """Return a copy with computed operands, or NoMovement if they name no change."""
        members = replace(self, **values)
        return NoMovement() if members.is_nothing else members

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
        text = joined(named.words for named in self._all_named)
        return f"{text}, allowing others" if self.others else text

    @property
    def admits_none(self) -> bool:
        return all(named.admits_none for named in self._all_named)

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
            if not self.others and (tally.beyond or tally.rejected):
                return False
        return self.others or not isinstance(delta, SequenceDelta) or kept_order(delta)

    def happened(self, delta: Delta) -> str:
        return delta.words() if delta.changed else "did not change"

    def fault(self, delta: Delta, states: States) -> str | None:
        if self.holds(delta, states):
            return None
        if not delta.changed:
            return "did not change"
        unmet: list[str] = []
        beyond: list[str] = []
        strays = 0
        for kind, entries in self._entries(delta, states):
            named: Named | None = getattr(self, kind)
            strange = entries
            if named is not None:
                tally = named.tally(entries, delta)
                unmet += named.faults(entries, delta, tally, others=self.others)
                strange = tally.beyond
            if strange and not self.others:
                strays += len(strange)
                beyond.append(entry_words(kind, strange, delta))
        if not self.others and isinstance(delta, SequenceDelta) and not kept_order(delta):
            strays += 1
            beyond.append("reordered its members")
        if beyond:
            were = "was" if strays == 1 else "were"
            unmet.append(f"{'it' if unmet else 'also'} {joined(beyond)}, which {were} not declared")
        return joined(unmet)

    def _entries(self, delta: Delta, states: States) -> list[tuple[Kind, Collection[Any]]]:
        word = next(kind for kind in KINDS if getattr(self, kind) is not None)
        entries = entries_of(delta)
        if entries is None:
            raise wrong_kind(word, "a collection", delta, states)
        if self.modifying is not None and not isinstance(delta, MappingDelta):
            raise wrong_kind("modifying", "a mapping", delta, states)
        return entries


def entries_of(delta: Delta) -> list[tuple[Kind, Collection[Any]]] | None:
    """Return the added, removed and modified entries of a delta by kind.

    They are paths of a mapping, or else members. The result is None if the states have no members.
    """
    match delta:
        case MappingDelta():
            return [("adding", delta.added), ("removing", delta.removed), ("modifying", delta.modified)]
        case SetDelta() | SequenceDelta():
            return [("adding", delta.added), ("removing", delta.removed)]
        case _:
            return None


def entry_words(kind: Kind, entries: Collection[Any], delta: Delta) -> str:
    """Describe the change of some entries of a delta: "added 'a', 'b'"."""
    noun = "row" if isinstance(delta, TaggedDelta) else "key" if isinstance(delta, MappingDelta) else "member"
    return f"{_PAST[kind]} {with_noun(noun, _names(kind, entries, delta), len(entries))}"


def _names(kind: Kind, entries: Collection[Any], delta: Delta) -> str:
    if not isinstance(delta, MappingDelta):
        # The remaining members of a set have no order.
        return listed(frozenset(entries) if isinstance(delta, SetDelta) else entries)
    if kind != "modifying":
        return listed(entries, lambda path: shown(path.member))
    modified = delta.modified

    def both(path: Any) -> str:
        before, after = modified[path]
        return f"{shown(path.member)}{transition(before, after)}"

    return listed(entries, both)


def _key(entry: object) -> object:
    return entry[0] if isinstance(entry, Path) else entry


def _demand_list(members: Collection[Any]) -> str:
    """List demanded members, with a noun before numbers.

    Text needs no noun: its quotes set it apart.
    """
    text = listed(members, demand_text)
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


@dataclass(frozen=True, slots=True)
class Resizing:
    """A change of the size by exactly `amount`.

    The size of a mapping is that of its top level.
    """

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
            raise wrong_kind("resizing", "a collection", delta, states)
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


_MAX_PAIRS: Final = 1_000_000
"""The most pairs of equal members, beyond ten for each member. More would take minutes."""


def kept_order(delta: SequenceDelta) -> bool:
    """Return whether the members that stayed are in the same order.

    They are if the longest common subsequence of both states contains all of them. Any of several equal
    members may be the one that was removed. The method is patience sorting (Hunt and Szymanski, 1977).

    Raises:
        Incomparable: members repeat so often that the answer would take minutes.
    """
    kept = len(delta.before) - len(delta.removed)
    if not delta.before or not delta.after or kept == 0:
        return True
    places: dict[Hashable, list[int]] = {}
    for place, member in enumerate(delta.after):
        places.setdefault(identity(member), []).append(place)
    keys = [identity(member) for member in delta.before]
    pairs = sum(len(places.get(key, ())) for key in keys)
    if pairs > _MAX_PAIRS + 10 * (len(delta.before) + len(delta.after)):
        raise Incomparable(
            "members repeat too often to tell whether the rest kept its order",
            "say .allowing_others(), or let the probe return a set or a count",
        )
    ends: list[int] = []  # ends[n]: the first place at which a common sequence of n + 1 members can end
    for key in keys:
        for place in reversed(places.get(key, ())):
            at = bisect_left(ends, place)
            ends[at : at + 1] = [place]
    return len(ends) == kept
