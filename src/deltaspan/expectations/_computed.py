"""The values of computed operands: frozen and validated as what a user writes is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

from deltaspan._state.render import show
from deltaspan._state.snapshot import MAX_NODES, freeze, rebuild
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations._operands import Computed, OperandValues
from deltaspan.expectations._patterns import Pattern, has_pattern, is_own_pattern


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
    return any(isinstance(operand, Computed) for operand in operands)


def resolve(operand: Any, values: OperandValues) -> Any:
    """Return the frozen value of an operand.

    An operand that is not computed is its own value.

    Raises:
        DefinitionError: the value is a callable, or contains a pattern.
        Unfreezable: the value cannot be compared as a state.
    """
    return _freeze_value(values.compute(operand)) if isinstance(operand, Computed) else operand


def resolve_members(members: tuple[object, ...], values: OperandValues) -> tuple[object, ...]:
    """Return members with the computed ones filled in. One callable may compute several.

    Raises:
        DefinitionError: there are too many members, or one of them cannot be a member.
        Unfreezable: a value is an iterator. It may be part of the result, which the caller will read.
    """
    resolved: list[object] = []
    for member in members:
        resolved += _members(values.compute(member)) if isinstance(member, Computed) else [member]
    return tuple(resolved)


def resolve_keys(mapping: Mapping[object, Any], values: OperandValues) -> Mapping[object, Any]:
    """Return a mapping with computed keys and values filled in.

    Raises:
        DefinitionError: two keys have the same value, or a value is not valid.
        Unfreezable: a value cannot be compared as a state.
    """
    entries: dict[object, object] = {}
    for key, item in mapping.items():
        name = _members(values.compute(key))[0] if isinstance(key, Computed) else key
        if name in entries:
            raise DefinitionValueError(f"two of its keys are {show(name)} in this run")
        entries[name] = resolve(item, values)
    return MappingProxyType(entries)


def _members(value: Any) -> list[object]:
    """Return the members that a callable computed.

    An iterable gives its members. Any other value, and text, is one member.
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
        return _freeze_value(value)
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


def _freeze_value(value: object) -> object:
    if callable(value):
        raise DefinitionTypeError(f"it computed {show(value)}, which is a callable; return the value itself")
    frozen = freeze(value)
    if has_pattern(value):
        raise DefinitionTypeError(
            "it computed a value that holds a pattern, which would be compared as a value; a pattern is a "
            "member of its own"
        )
    return rebuild(frozen)
