"""Helpers for the tests of those who write probes of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import copy_context
from dataclasses import dataclass
from inspect import Parameter, isawaitable
from typing import Any, Final

from deltaspan._batches import Moment, verifying
from deltaspan._callables import Bound, bind, discard, is_async, parameters_of
from deltaspan._guard import describe
from deltaspan._interrupts import let_through
from deltaspan._state.diff import difference
from deltaspan._state.render import show, transition
from deltaspan._state.snapshot import Unfreezable, freeze
from deltaspan._verdicts import UNREAD
from deltaspan._workers import is_loop_running, submit
from deltaspan.checks import is_blocking
from deltaspan.exceptions import DefinitionTypeError

__all__ = ["check_probe", "check_probe_async"]

_READS: Final = 2
_MUTABLE: Final = (dict, list, set, bytearray)


def check_probe(probe: Any, /, **arguments: Any) -> Any:
    """Check a probe for the usual faults, and return the state that it read.

    It is read twice, with no action in between, as a check would read it: given by name what it needs, in
    another thread if it is `blocking`, awaited in an event loop of its own if it is async. Run it on a system
    that nobody else writes to.

    Args:
        probe: any callable that is used as a probe.
        **arguments: what it needs of an action's arguments, and `causal_tag` if it needs that: any text.

    Returns:
        The state that was read first, as the probe returned it.

    Raises:
        AssertionError: it has faults; the text names every one of them and what to do: it raises, what it
            returns cannot be frozen (an iterator, a connection, a cycle), it returns the live object, or two
            reads differ although nothing happened.
        DefinitionTypeError: it is not callable, needs what is not among the arguments, or is async and an
            event loop is running (await `check_probe_async`).

    Example:
        >>> from deltaspan.testing import check_probe
        >>> flows = {"acme": [1, 2]}
        >>> check_probe(lambda tenant: len(flows[tenant]), tenant="acme")
        2
        >>> check_probe(lambda tenant: flows[tenant], tenant="acme")
        Traceback (most recent call last):
            ...
        AssertionError: the probe has a fault:
        - both reads return the same list, [1, 2]: it is live, or cached; return a copy that was read anew
    """
    if is_async(probe):
        if is_loop_running():
            raise DefinitionTypeError(
                "the probe is async, and an event loop runs: await check_probe_async(...)"
            )
        return asyncio.run(check_probe_async(probe, **arguments))
    bound = _bound(probe, arguments)
    return _judge([_read(bound, arguments) for _ in range(_READS)])


async def check_probe_async(probe: Any, /, **arguments: Any) -> Any:
    """Check a probe, which may be async, in the running event loop; all else is as for `check_probe`.

    Example:
        >>> import asyncio
        >>> from deltaspan.testing import check_probe_async
        >>> async def count_flows():
        ...     return 2
        >>> asyncio.run(check_probe_async(count_flows))
        2
    """
    bound = _bound(probe, arguments)
    return _judge([await _read_async(bound, arguments) for _ in range(_READS)])


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one read came to: what the probe returned and its snapshot, or what is wrong with it."""

    value: Any = None
    snapshot: Any = UNREAD
    fault: str = ""


def _bound(probe: Any, arguments: Mapping[str, Any]) -> Bound:
    missing = [
        needed.name
        for needed in parameters_of(probe)
        if needed.name not in arguments
        and needed.default is Parameter.empty
        and needed.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    ]
    if missing:  # what `bind` says of it speaks of an action and its parameters
        names, given = " and ".join(map(repr, missing)), ", ".join(f"{name}=..." for name in missing)
        passed = f"; passed were {', '.join(arguments)}" if arguments else ""
        raise DefinitionTypeError(f"the probe needs {names}: pass {given} to check it with{passed}")
    return bind(probe, arguments.keys(), "the probe")


def _read(bound: Bound, arguments: Mapping[str, Any]) -> _Seen:
    def call() -> Any:
        verifying.set(Moment())
        return bound.call(arguments)

    try:
        # A resource that belongs to one thread shows here, not in the first async action.
        value = submit(call).result() if is_blocking(bound.function) else copy_context().run(call)
    except Exception as error:
        let_through(error)
        return _raised(error)
    if isawaitable(value):
        discard(value)
        return _Seen(fault="it returns an awaitable: define it with async def, or await what it calls")
    return _frozen(value)


async def _read_async(bound: Bound, arguments: Mapping[str, Any]) -> _Seen:
    if not bound.is_async:
        return _read(bound, arguments)
    token = verifying.set(Moment())
    try:
        return _frozen(await bound.call(arguments))
    except Exception as error:
        let_through(error)
        return _raised(error)
    finally:
        verifying.reset(token)


def _raised(error: Exception) -> _Seen:
    return _Seen(fault=f"it raises {describe(error)}")


def _frozen(value: Any) -> _Seen:
    try:
        return _Seen(value, freeze(value))
    except Unfreezable as error:
        return _Seen(value, fault=f"what it returns cannot be compared: {error}")


def _judge(seen: list[_Seen]) -> Any:
    first, second = seen
    # Both reads may say the same; a dict keeps the order in which it was said.
    faults = list(dict.fromkeys(one.fault for one in seen if one.fault))
    shared = _mutable(first.value).keys() & _mutable(second.value).keys()
    if shared:
        live = _mutable(first.value)[min(shared)]
        faults.append(
            f"both reads return the same {type(live).__name__}, {show(live)}: it is live, or cached; return "
            f"a copy that was read anew"
        )
    if not faults:
        delta = difference(first.snapshot, second.snapshot)
        if delta.changed:
            both = transition(first.snapshot, second.snapshot)
            faults.append(
                f"two reads with nothing in between differ: the state {delta.words()}{both}; leave out what "
                f"changes by itself, and give an order to what has none"
            )
    if faults:
        found = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise AssertionError("\n- ".join([f"the probe has {found}:", *faults]))
    return first.value


def _mutable(value: Any) -> dict[int, Any]:
    """Return the mutable containers of plain values that a value is made of, by identity."""
    found: dict[int, Any] = {}
    left = [value]
    while left:
        container = left.pop()
        if isinstance(container, _MUTABLE):
            if id(container) in found:
                continue
            found[id(container)] = container
        if isinstance(container, dict):
            left.extend(container.values())
        elif isinstance(container, list | tuple):
            left.extend(container)
    return found
