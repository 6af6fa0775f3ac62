"""Helpers to test your own probes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import copy_context
from dataclasses import dataclass
from inspect import Parameter, isawaitable
from typing import Any, Final

from deltaspan._batches import current_batch
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
    """Check a probe for common faults, and return the state that it read.

    The probe is read twice as in a check, with no action in between. It receives the arguments that it
    names. Another thread reads it if it is `blocking`, and a new event loop awaits it if it is async. Run
    it on a system that no other program writes to.

    Args:
        probe: a callable that reads a state.
        **arguments: the arguments that it needs, including `causal_tag` (any str) if it needs that.

    Returns:
        The state of the first read, as the probe returned it.

    Raises:
        AssertionError: the probe has faults. The text names each fault and its fix: the probe raises, its
            state cannot be frozen (an iterator, a connection, a cycle), it returns the live object, or two
            reads differ although nothing happened.
        DefinitionTypeError: the probe is not callable, needs a missing argument, or is async while an event
            loop is running (await `check_probe_async`).

    Example:
        >>> from deltaspan.testing import check_probe
        >>> flows = {"acme": [1, 2]}
        >>> check_probe(lambda tenant: len(flows[tenant]), tenant="acme")
        2
        >>> check_probe(lambda tenant: flows[tenant], tenant="acme")
        Traceback (most recent call last):
            ...
        AssertionError: the probe has a fault:
        - both reads return the same list, [1, 2]: it is live, or cached; return a new copy
    """
    if is_async(probe):
        if is_loop_running():
            raise DefinitionTypeError(
                "the probe is async, and an event loop is running; await check_probe_async(...)"
            )
        return asyncio.run(check_probe_async(probe, **arguments))
    bound = _bind_arguments(probe, arguments)
    return _judge([_read(bound, arguments) for _ in range(_READS)])


async def check_probe_async(probe: Any, /, **arguments: Any) -> Any:
    """Check a sync or async probe in the running event loop.

    Arguments, result and errors are those of `check_probe`.

    Example:
        >>> import asyncio
        >>> from deltaspan.testing import check_probe_async
        >>> async def count_flows():
        ...     return 2
        >>> asyncio.run(check_probe_async(count_flows))
        2
    """
    bound = _bind_arguments(probe, arguments)
    return _judge([await _read_async(bound, arguments) for _ in range(_READS)])


@dataclass(frozen=True, slots=True)
class _ReadResult:
    """The result of one read: a value with its snapshot, or a fault."""

    value: Any = None
    snapshot: Any = UNREAD
    fault: str = ""


def _bind_arguments(probe: Any, arguments: Mapping[str, Any]) -> Bound:
    missing = [
        needed.name
        for needed in parameters_of(probe)
        if needed.name not in arguments
        and needed.default is Parameter.empty
        and needed.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    ]
    if missing:  # the error of `bind` would mention an action and its parameters
        names, given = " and ".join(map(repr, missing)), ", ".join(f"{name}=..." for name in missing)
        passed = f"; passed were {', '.join(arguments)}" if arguments else ""
        raise DefinitionTypeError(f"the probe needs {names}: pass {given} to check it with{passed}")
    return bind(probe, arguments.keys(), "the probe")


def _read(bound: Bound, arguments: Mapping[str, Any]) -> _ReadResult:
    def call() -> Any:
        current_batch.set({})
        return bound.call(arguments)

    try:
        # A resource that is bound to one thread fails here, and not only in the first async action.
        value = submit(call).result() if is_blocking(bound.function) else copy_context().run(call)
    except Exception as error:
        let_through(error)
        return _error_result(error)
    if isawaitable(value):
        discard(value)
        return _ReadResult(fault="it returns an awaitable: define it with async def, or await what it calls")
    return _freeze_result(value)


async def _read_async(bound: Bound, arguments: Mapping[str, Any]) -> _ReadResult:
    if not bound.is_async:
        return _read(bound, arguments)
    token = current_batch.set({})
    try:
        return _freeze_result(await bound.call(arguments))
    except Exception as error:
        let_through(error)
        return _error_result(error)
    finally:
        current_batch.reset(token)


def _error_result(error: Exception) -> _ReadResult:
    return _ReadResult(fault=f"it raises {describe(error)}")


def _freeze_result(value: Any) -> _ReadResult:
    try:
        return _ReadResult(value, freeze(value))
    except Unfreezable as error:
        return _ReadResult(value, fault=f"its state cannot be compared: {error}")


def _judge(results: list[_ReadResult]) -> Any:
    first, second = results
    # Both reads may have the same fault. A dict keeps their order.
    faults = list(dict.fromkeys(result.fault for result in results if result.fault))
    shared = _mutable_containers(first.value).keys() & _mutable_containers(second.value).keys()
    if shared:
        container = _mutable_containers(first.value)[min(shared)]
        faults.append(
            f"both reads return the same {type(container).__name__}, {show(container)}: it is live, or "
            f"cached; return a new copy"
        )
    if not faults:
        delta = difference(first.snapshot, second.snapshot)
        if delta.changed:
            both = transition(first.snapshot, second.snapshot)
            faults.append(
                f"two reads with nothing in between differ: the state {delta.words()}{both}; leave out "
                f"values that change by themselves, and sort values without an order"
            )
    if faults:
        heading = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise AssertionError("\n- ".join([f"the probe has {heading}:", *faults]))
    return first.value


def _mutable_containers(value: Any) -> dict[int, Any]:
    """Return the mutable containers inside a value, by identity."""
    containers: dict[int, Any] = {}
    pending = [value]
    while pending:
        container = pending.pop()
        if isinstance(container, _MUTABLE):
            if id(container) in containers:
                continue
            containers[id(container)] = container
        if isinstance(container, dict):
            pending.extend(container.values())
        elif isinstance(container, list | tuple):
            pending.extend(container)
    return containers
