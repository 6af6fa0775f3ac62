"""The arguments and the result of a tool, which leave only on request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from deltaspan import semconv
from deltaspan._guard import class_name
from deltaspan._interrupts import let_through
from deltaspan._reports import REDACTED
from deltaspan._state.record import MAPPINGS
from deltaspan._state.render import MASK
from deltaspan._state.snapshot import freeze
from deltaspan._telemetry._values import ValueRenderer
from deltaspan._verdicts import UNREAD

_SECRET_NAME: Final = re.compile(
    r"passw(or)?d|passphrase|pwd|token(?!s)|secret|credential|cookie|authorization|(^|[_-])auth$"
    r"|(api|access|private|signing|encryption)[_-]?key",
    re.IGNORECASE,
)
_CREDENTIALS: Final = re.compile(r"(?<=://)[^\s/?#'\"@]+@")
"""User and password in a URL."""


class ToolContent:
    """The arguments and the result of one call, as they may be shown.

    Args:
        arguments: the arguments, by name.
        redacted: the names of arguments that are shown as redacted.
        has_result: whether the result leaves too.
        redacts_result: whether it is shown as redacted.
    """

    __slots__ = ("_arguments", "_has_result", "_redacts_result", "_result")

    def __init__(
        self,
        arguments: Mapping[str, Any],
        redacted: frozenset[str],
        *,
        has_result: bool,
        redacts_result: bool,
    ) -> None:
        # The action may change its arguments, so they are copied before it runs.
        self._arguments = MappingProxyType(
            {
                name: REDACTED if name in redacted else _masked_entry(name, _copy(value))
                for name, value in arguments.items()
            }
        )
        self._has_result = has_result
        self._redacts_result = redacts_result
        self._result: Any = UNREAD

    def add_result(self, result: Any) -> None:
        """Add what the action returned."""
        if self._has_result:
            self._result = REDACTED if self._redacts_result else _masked(_copy(result))

    def attributes(self, renderer: ValueRenderer) -> dict[str, Any]:
        """Return the attributes of the span. There are none without full states."""
        if not renderer.is_full:
            return {}
        attributes = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: renderer.value(self._arguments)}
        if self._result is not UNREAD:
            attributes[semconv.GEN_AI_TOOL_CALL_RESULT] = renderer.value(self._result)
        return attributes


def _copy(value: Any) -> Any:
    """Return a snapshot of a value, or else the name of its class."""
    try:
        return freeze(value)
    except BaseException as error:
        let_through(error)
        return f"({class_name(type(value))})"


def _masked(value: Any) -> Any:
    """Return a snapshot without what looks like a secret."""
    if type(value) in MAPPINGS:
        return MappingProxyType({key: _masked_entry(key, held) for key, held in value.items()})
    if type(value) is tuple:
        return tuple(map(_masked, value))
    return _CREDENTIALS.sub(f"{MASK}@", value) if type(value) is str else value


def _masked_entry(name: Any, value: Any) -> Any:
    return MASK if type(name) is str and _SECRET_NAME.search(name) else _masked(value)
