"""The movement of each number in a mapping or in a nested document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from deltaspan._state.diff import Delta, MappingDelta, identity, subtract
from deltaspan._state.render import join_phrases, list_members, show, show_member, with_noun
from deltaspan._state.snapshot import MAPPINGS, Path
from deltaspan.expectations._base import Incomparable, Movement, States, wrong_kind
from deltaspan.expectations._comparison import compare, validate_amount, validate_tolerance, zero_like
from deltaspan.expectations._computed import any_computed, resolve, resolve_keys
from deltaspan.expectations._operands import Computed, Operand, OperandValues, operands_in


class _Entry(NamedTuple):
    """One changed entry, with its amount if it is a number."""

    path: Path
    amount: Any
    how: str

    @property
    def counted(self) -> bool:
        """True if the amount tells what happened.

        The amount of a number that came or went as 0 does not.
        """
        if self.amount is None:
            return False
        return self.how == "modified" or compare(self.amount, zero_like(self.amount)) != 0


class _Tally(NamedTuple):
    """The differences from the amounts: wrong keys, and undeclared entries."""

    wrong: list[tuple[object, Any]]
    undeclared: list[_Entry]


@dataclass(frozen=True, slots=True)
class ByKey(Movement):
    """A change of each key by its amount, and of no other key.

    An absent declared key counts as 0. An undeclared key may neither come nor go, not even as 0.

    Attributes:
        amounts: key → amount, at least one. A key is an original key at the top level, or the text of a path.
            Keys and amounts may be computed.
        tolerance: the largest absolute deviation of each amount that still holds.
        others: whether other keys may change too.
    """

    amounts: Mapping[object, Any]
    tolerance: Any = None
    others: bool = False
    _keys: dict[object, object] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for key, amount in self.amounts.items():
            validate_amount(f"by({{{key!r}: ...}})", amount)
        validate_tolerance(self.tolerance)
        object.__setattr__(self, "amounts", MappingProxyType(dict(self.amounts)))
        object.__setattr__(self, "_keys", {identity(key): key for key in self.amounts})

    @property
    def extent(self) -> str:
        amounts = "computed amounts" if self._is_computed else show(self.amounts)
        within = "" if self.tolerance is None else f" ± {show(self.tolerance)}"
        return f"by {amounts}{within}{', allowing others' if self.others else ''}"

    @property
    def expected(self) -> object:
        return "computed" if self._is_computed else self.amounts

    @property
    def _is_computed(self) -> bool:
        return any_computed(self.amounts) or any_computed(self.amounts.values())

    @property
    def admits_no_change(self) -> bool:
        return all(
            isinstance(each, Computed) or compare(each, zero_like(each)) == 0
            for each in self.amounts.values()
        )

    @property
    def allows_others(self) -> bool:
        return self.others

    @property
    def operands(self) -> Iterable[Operand]:
        return operands_in(*self.amounts.values(), *self.amounts, self.tolerance)

    def resolve(self, values: OperandValues) -> ByKey:
        amounts = resolve_keys(self.amounts, values)
        return ByKey(amounts, resolve(self.tolerance, values), self.others)

    def holds(self, delta: Delta, states: States) -> bool:
        if not isinstance(delta, MappingDelta):
            raise wrong_kind("by({...})", "a mapping", delta, states)
        tally = self._tally(delta)
        return not tally.wrong and not tally.undeclared

    def happened(self, delta: Delta) -> str:
        assert isinstance(delta, MappingDelta)  # noqa: S101  # no other delta was judged
        return _describe(list(_entries(delta))) or "did not change"

    def describe_deviation(self, delta: Delta, states: States) -> str | None:
        assert isinstance(delta, MappingDelta)  # noqa: S101  # no other delta was judged
        tally = self._tally(delta)
        phrases = []
        if tally.wrong:
            wrong = list_members(tally.wrong, lambda pair: f"{show_member(pair[0])} by {show(pair[1])}")
            phrases.append(f"changed {with_noun('key', wrong, len(tally.wrong))}")
        if tally.undeclared:
            were = "was" if len(tally.undeclared) == 1 else "were"
            also = "it " if phrases else "also "
            phrases.append(f"{also}{_describe(tally.undeclared)}, which {were} not declared")
        return join_phrases(phrases) or None

    def _tally(self, delta: MappingDelta) -> _Tally:
        found: dict[object, Any] = {}
        undeclared = []
        for entry in _entries(delta):
            key = self._declared(entry.path)
            if key is None or key[0] in found:
                if not self.others:
                    undeclared.append(entry)
            elif entry.amount is None:
                raise Incomparable(
                    f"by({{{key[0]!r}: ...}}) needs a number there before and after the action, "
                    f"and it was {entry.how}"
                )
            else:
                found[key[0]] = entry.amount
        wrong = []
        for key_, amount in self.amounts.items():
            actual = found.get(key_, timedelta() if isinstance(amount, timedelta) else 0)
            if compare(actual, amount, self.tolerance) != 0:
                wrong.append((key_, actual))
        return _Tally(wrong, undeclared)

    def _declared(self, path: Path) -> tuple[object] | None:
        names: list[object] = [path[0]] if len(path) == 1 else []
        if len(path) > 1 or isinstance(path[0], str):
            names.append(path.text)
        for name in names:
            key = identity(name)
            if key in self._keys:
                return (self._keys[key],)
        return None


def _entries(delta: MappingDelta) -> Iterator[_Entry]:
    """Yield each changed entry.

    The numbers of a whole document that came or went are entries of their own.
    """
    for path, after in delta.added.items():
        yield from (_Entry(p, _amount(n, None), "added") for p, n in _leaves(path, after))
    for path, before in delta.removed.items():
        yield from (_Entry(p, _amount(None, n), "removed") for p, n in _leaves(path, before))
    for path, (before, after) in delta.modified.items():
        yield _Entry(path, subtract(after, before), "modified")


def _describe(entries: list[_Entry]) -> str:
    """Describe the changes: "changed 'a' by 1, 'b' by 2 and modified 'c'"."""
    phrases = []
    for how in ("changed", "added", "removed", "modified"):
        some = [entry for entry in entries if how == ("changed" if entry.counted else entry.how)]
        if some:
            phrases.append(f"{how} {with_noun('key', list_members(some, _named), len(some))}")
    return join_phrases(phrases)


def _named(entry: _Entry) -> str:
    member = show_member(entry.path.member)
    return f"{member} by {show(entry.amount)}" if entry.counted else member


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, object]]:
    if type(value) not in MAPPINGS or not value:
        yield path, value
        return
    for key, item in value.items():
        yield from _leaves(Path((*path, key)), item)


def _amount(after: Any, before: Any) -> Any:
    present = before if after is None else after
    zero = timedelta() if isinstance(present, timedelta) else 0
    return subtract(present, zero) if before is None else subtract(zero, present)
