"""Operands that are computed from the run.

They are found when a check is planned and resolved when it is judged.

An operand is a field of an expectation or of a part of it, an item of a tuple of members, or a key or value
of a mapping. Each has a path, such as `movement.amount` or `movement.adding.members.0`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from inspect import isawaitable
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, TypeVar

from deltaspan._callables import discard
from deltaspan._state.diff import Delta, for_predicate, identity
from deltaspan._state.render import show
from deltaspan._state.snapshot import MAX_NODES, freeze
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations._base import States
from deltaspan.expectations._patterns import Pattern, has_pattern, is_own_pattern

__all__ = [
    "BEFORE",
    "DELTA",
    "KEY",
    "MEMBER",
    "POST_STATE",
    "PRE_STATE",
    "VALUE",
    "BoundPredicate",
    "any_computed",
    "computed_operands",
    "has_operand",
    "is_predicate",
    "predicate_name",
    "read_own_generator",
    "with_operands",
]

DELTA: Final = "delta"
PRE_STATE: Final = "pre_state"
POST_STATE: Final = "post_state"

MEMBER: Final = "member"
KEY: Final = "key"
VALUE: Final = "value"
BEFORE: Final = "before"
"""The names that a predicate may use for one member of a collection, or one entry of a mapping."""

_KEY_OF: Final = "key of "
"""The prefix of an item's position, if the key of the item is computed, and not its value."""

_PREDICATES: Final = frozenset({"predicate", "where"})

D = TypeVar("D")


def is_predicate(path: str) -> bool:
    """Return whether the operand at this path is a predicate.

    A predicate is asked about a delta. Any other operand is computed before it.
    """
    return path.rpartition(".")[2] in _PREDICATES


def predicate_name(predicate: Any) -> str:
    """Return the name of a predicate for sentences: its own, if it has one."""
    name = predicate.name if isinstance(predicate, BoundPredicate) else getattr(predicate, "__name__", None)
    return name if isinstance(name, str) and name.isidentifier() else "the predicate"


class BoundPredicate:
    """A predicate bound to the values that its run has for it.

    It gets the values of the change when it is asked.

    Args:
        ask: calls the predicate with values by name.
        known: the values of the run for its parameters.
        names: the names of all its parameters.
        name: its name in sentences.
    """

    __slots__ = ("_answers", "_ask", "_known", "name", "names")

    def __init__(
        self,
        ask: Callable[[Mapping[str, Any]], object],
        known: Mapping[str, Any],
        names: Iterable[str] = (),
        name: str = "the predicate",
    ) -> None:
        self._ask = ask
        self._known = known
        self._answers: dict[Hashable, bool] = {}
        self.names = frozenset(names)
        self.name = name

    def holds(self, delta: Delta, states: States) -> bool:
        """Return the answer of the predicate.

        Errors of the predicate go on to the caller.
        """
        return self._answer({DELTA: for_predicate(delta), PRE_STATE: states[0], POST_STATE: states[1]})

    def holds_of(self, kind: str, entry: Any, given: Mapping[str, object]) -> bool:
        """Return the cached answer of the predicate about one entry.

        Args:
            kind: adding, removing or modifying.
            entry: a member, or the path of an entry.
            given: the values of the entry, by name.
        """
        key = (kind, identity(entry))
        if key not in self._answers:
            self._answers[key] = self._answer(given)
        return self._answers[key]

    def _answer(self, given: Mapping[str, object]) -> bool:
        answer = self._ask({**self._known, **given})
        if isawaitable(answer) or isinstance(answer, Generator | AsyncGenerator):
            discard(answer)
            raise TypeError("the predicate returned an awaitable or a generator; return the answer itself")
        return bool(answer)


def read_own_generator(value: object, function: Callable[..., object]) -> object:
    """Return a computed value, with the callable's own generator as a list.

    Any other iterator may be part of the result. Reading it would exhaust it for the caller.

    Args:
        value: the value that the callable returned.
        function: the callable.
    """
    if not isinstance(value, Generator):
        return value
    code: Any = getattr(function, "__code__", None)
    running: Any = getattr(value, "gi_code", None)
    if code is None or not (running is code or any(running is const for const in code.co_consts)):
        return value
    return list(islice(value, MAX_NODES + 1))


def any_computed(operands: Iterable[object]) -> bool:
    """Return whether any of the operands is still to be computed."""
    return any(map(callable, operands))


def has_operand(expectation: Any, path: str) -> bool:
    """Return whether an expectation has the field in which a computed operand stands.

    Args:
        expectation: any expectation.
        path: the path of the operand.
    """
    return any(field.name == path.partition(".")[0] for field in fields(expectation))


def computed_operands(expectation: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield path and callable of each computed operand, including nested parts."""
    for field in fields(expectation):
        operand = getattr(expectation, field.name)
        if _is_part(operand):
            yield from ((f"{field.name}.{path}", call) for path, call in computed_operands(operand))
        elif callable(operand):
            yield field.name, operand
        elif isinstance(operand, tuple | MappingProxyType):
            items = operand.values() if isinstance(operand, MappingProxyType) else operand
            yield from ((f"{field.name}.{i}", item) for i, item in enumerate(items) if callable(item))
            keys = operand if isinstance(operand, MappingProxyType) else ()
            yield from ((f"{field.name}.{_KEY_OF}{i}", key) for i, key in enumerate(keys) if callable(key))


def with_operands(expectation: D, values: Mapping[str, object]) -> D:
    """Return the expectation with values in place of computed operands, validated again.

    Args:
        expectation: one with computed operands.
        values: the computed values, by the paths that `computed_operands` yielded.

    Raises:
        DefinitionError: the expectation does not take a value.
        Unfreezable: a value cannot be compared as a state.
    """
    resolved = {path: _freeze_computed(value) for path, value in values.items() if "." not in path}
    for field in fields(expectation):  # type: ignore[arg-type]  # every expectation is a dataclass
        inner = {p.partition(".")[2]: v for p, v in values.items() if p.startswith(field.name + ".")}
        if inner:
            resolved[field.name] = _resolve_items(getattr(expectation, field.name), inner)
    make = getattr(expectation, "resolved", None)
    if make is not None:
        # A computed amount may be a mapping, which makes another kind of movement.
        return make(**resolved)  # type: ignore[no-any-return]
    return replace(expectation, **resolved)  # type: ignore[type-var]


def _resolve_items(operand: Any, values: Mapping[str, object]) -> object:
    if isinstance(operand, tuple):
        filled: list[object] = []
        for index, item in enumerate(operand):
            computed = values.get(str(index), operand)
            filled += [item] if computed is operand else _members(computed)
        return tuple(filled)
    if isinstance(operand, MappingProxyType):
        entries: dict[object, object] = {}
        for index, (key, item) in enumerate(operand.items()):
            place = f"{_KEY_OF}{index}"
            name = _members(values[place])[0] if place in values else key
            if name in entries:
                raise DefinitionValueError(f"two of its keys are {show(name)} in this run")
            entries[name] = _freeze_computed(values[str(index)]) if str(index) in values else item
        return MappingProxyType(entries)
    return with_operands(operand, values)


def _members(value: Any) -> list[object]:
    """Return the members that a callable computed.

    An iterable gives its members. Any other value, and text, is one member.

    Raises:
        DefinitionError: there are too many members, or one of them cannot be a member.
        Unfreezable: the value is an iterator. It may be part of the result, which the caller will read.
    """
    if callable(value) or isinstance(value, str | bytes | Iterator) or not isinstance(value, Iterable):
        return [_freeze_member(value)]
    members = list(islice(value, MAX_NODES + 1))
    if len(members) > MAX_NODES:
        raise DefinitionValueError(
            f"it computed more than {MAX_NODES} members; write a pattern that matches them, or their count"
        )
    return list(map(_freeze_member, members))


def _freeze_member(value: object) -> object:
    """Freeze one computed member. Text is literal unless it is marked as a pattern."""
    if not isinstance(value, Pattern):
        return _freeze_computed(value)
    if value.open_fields:
        name = value.open_fields[0]
        raise DefinitionValueError(
            f"it computed {value!r} without a value for the field {{{name}}}; give it as {name}=..."
        )
    if not is_own_pattern(value):
        raise DefinitionValueError(
            f"it computed {value!r}, which was made elsewhere, and a tool must not widen its own check: "
            f"call pattern(...) in the callable, and give it what the run computed by name"
        )
    return value


def _freeze_computed(value: object) -> object:
    if isinstance(value, BoundPredicate):
        return value
    if callable(value):
        raise DefinitionTypeError(f"it computed {show(value)}, which is a callable; return the value itself")
    frozen = freeze(value)
    if has_pattern(value):
        raise DefinitionTypeError(
            "it computed a value that holds a pattern, which would be compared as a value; a pattern is a "
            "member of its own"
        )
    return frozen


def _is_part(operand: object) -> bool:
    return hasattr(type(operand), "__dataclass_fields__")
