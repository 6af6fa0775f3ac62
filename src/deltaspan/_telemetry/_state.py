"""How much of a state leaves: all of it within bounds, its kind and size, or nothing.

A sentence quotes states, so where states do not leave, neither do the sentences.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from collections.abc import Sized
from types import MappingProxyType
from typing import Any, Final

from deltaspan._config import Settings
from deltaspan._render import wire
from deltaspan._reports import ActionReport, CheckReport

__all__ = ["StateOnWire", "class_name"]

_NOT_CAPTURED: Final = "(not captured)"


class StateOnWire:
    """Turns frozen states and sentences into attribute values, by the settings of the process.

    Attributes:
        in_full: whether states leave with their content.
    """

    __slots__ = ("_kinds_only", "_max_chars", "in_full")

    def __init__(self, settings: Settings) -> None:
        self.in_full = settings.capture_state == "full"
        self._kinds_only = settings.capture_state == "summary"
        self._max_chars = settings.max_state_chars

    def of(self, state: object) -> Any:
        """Return the attribute value for a frozen state or delta."""
        if self.in_full:
            return wire(state, self._max_chars)
        return _kind_of(state) if self._kinds_only else _NOT_CAPTURED

    def text(self, text: object) -> str:
        """Return a text within bounds."""
        return str(wire(_str(text), self._max_chars))

    def explanation(self, check: CheckReport) -> str:
        """Return the sentence of one check, or what may be said without its states."""
        return self.text(check.explanation) if self.in_full else _verdict(check)

    def status(self, report: ActionReport, error: BaseException | None) -> str:
        """Return the description of an ERROR status: what was refuted, or what the action raised."""
        if report.outcome == "fail":
            if self.in_full:
                return self.text(report.explanation)
            return "; ".join(_verdict(check) for check in report.failed)
        name = type(error).__name__
        message = _str(error)
        return self.text(f"{name}: {message}" if message and self.in_full else name)


def class_name(error: BaseException) -> str:
    """Return the name of an exception's class as `error.type` and `exception.type` give it."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _verdict(check: CheckReport) -> str:
    return f"{check.metric}: {check.outcome}{f' ({check.reason})' if check.reason else ''}"


def _kind_of(state: object) -> str:
    if isinstance(state, Sized):
        kind = type(state).__name__
        if isinstance(state, MappingProxyType):
            kind = "mapping"
        elif isinstance(state, AbstractSet):
            kind = "set"
        elif isinstance(state, tuple):
            kind = "sequence"
        return f"{kind} of {len(state)}"
    return type(state).__name__


def _str(value: object) -> str:
    try:
        return str(value)
    except Exception:
        return type(value).__name__
