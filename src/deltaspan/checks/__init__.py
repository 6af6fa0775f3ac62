"""Checks: the sentence that a user writes about one piece of state.

    change("active_flows", count_flows).by(1)
    unchanged("users", count_users)
    observe("queue_depth", depth)

A check is a metric, a probe and an expectation. It is immutable: each word returns a new check, so one can
be kept in a constant and refined in several places. `repr()` reads as source.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

from deltaspan.checks._change import Change
from deltaspan.checks._check import Check, Modifiers, Polling, is_context_manager
from deltaspan.checks._keyed import keyed
from deltaspan.checks._probe import (
    call_text,
    has_whole_values,
    hint_of,
    is_blocking,
    is_content,
    keep_values_whole,
    leave_unscoped,
    probe,
    probe_name,
    source_text,
    take_settings,
    unscoped_names,
)
from deltaspan.checks._rows import AsyncRowProbe, Field, RowProbe, is_field, tags_by_key
from deltaspan.checks._unchanged import Unchanged
from deltaspan.expectations import ChangeExpectation, NoChange, NoClaim, Pattern, pattern

__all__ = [
    "AsyncRowProbe",
    "Change",
    "Check",
    "Field",
    "Modifiers",
    "Pattern",
    "Polling",
    "RowProbe",
    "Unchanged",
    "call_text",
    "change",
    "has_whole_values",
    "hint_of",
    "is_blocking",
    "is_content",
    "is_context_manager",
    "is_field",
    "keep_values_whole",
    "keyed",
    "leave_unscoped",
    "observe",
    "pattern",
    "probe",
    "probe_name",
    "source_text",
    "tags_by_key",
    "take_settings",
    "unchanged",
    "unscoped_names",
]

S = TypeVar("S")


@overload
def change(metric: str, probe: Callable[..., Awaitable[S]]) -> Change[S]: ...
@overload
def change(metric: str, probe: Callable[..., S]) -> Change[S]: ...
def change(metric: str, probe: Callable[..., Any]) -> Change[Any]:
    """Claim that an action changes the state that `probe` reads.

    Alone it demands any change, by value. The methods of `Change` demand a specific one.

    Args:
        metric: the name of the state, `[A-Za-z0-9_.-]{1,64}`.
        probe: a callable that reads the state. Its parameters name the action's parameters that it needs, or
            `causal_tag`. A coroutine function fits async actions.

    Raises:
        DefinitionTypeError: the probe is not callable, or the metric is not a string.
        DefinitionValueError: the metric is not a valid name.

    Example:
        >>> from deltaspan import change, window
        >>> flows = ["a", "b"]
        >>> with window("create", change("flows", lambda: len(flows)).by(1)) as w:
        ...     flows.append("c")
        >>> w.report["flows"].passed
        True
    """
    return Change(metric, probe, ChangeExpectation(), (f"change({metric!r}, {source_text(probe)})",))


@overload
def unchanged(metric: str, probe: Callable[..., Awaitable[S]]) -> Unchanged[S]: ...
@overload
def unchanged(metric: str, probe: Callable[..., S]) -> Unchanged[S]: ...
def unchanged(metric: str, probe: Callable[..., Any]) -> Unchanged[Any]:
    """Claim that an action leaves the state that `probe` reads unchanged.

    The arguments and errors are those of `change`.

    It compares the state before with the state after. It does not see a change that the action reverts before
    its end. To see it, put the claim on each call within the action as well.
    """
    return Unchanged(metric, probe, NoChange(), (f"unchanged({metric!r}, {source_text(probe)})",))


def observe(metric: str, probe: Callable[..., Any]) -> Check[Any]:
    """Record the state before and after an action, without a claim.

    The arguments and errors are those of `change`.
    """
    return Check(metric, probe, NoClaim(), (f"observe({metric!r}, {source_text(probe)})",))
