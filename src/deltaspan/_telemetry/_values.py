"""How much of a state leaves: all of it within bounds, its kind and size, or nothing.

A sentence quotes states, so where states do not leave, neither do the sentences.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from collections.abc import Sized
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from deltaspan import semconv
from deltaspan._config import Settings
from deltaspan._guard import class_name, describe
from deltaspan._reports import ActionReport, CheckReport
from deltaspan._state.render import label, wire

__all__ = ["CheckOnWire", "StateOnWire", "states_on_wire", "type_name"]

_NOT_CAPTURED: Final = "(not captured)"


class CheckOnWire(NamedTuple):
    """One check as attribute values, rendered once for its span, its event and its log record.

    Attributes:
        check: the check itself.
        pre_state: None when it was not read.
        post_state: likewise.
        expected_delta: the demand.
        actual_delta: None when a state is missing.
        explanation: the sentence.
    """

    check: CheckReport
    pre_state: Any
    post_state: Any
    expected_delta: Any
    actual_delta: Any
    explanation: str


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

    def of(self, check: CheckReport) -> CheckOnWire:
        """Return the attribute values of one check's states and deltas."""
        render = self._render
        return CheckOnWire(
            check,
            render(check.pre_state) if check.has_pre_state else None,
            render(check.post_state) if check.has_post_state else None,
            render(check.expectation.expected),
            None if check.delta is None else render(check.delta.value),
            self.text(check.explanation) if self.in_full else _verdict(check),
        )

    def others_and_untagged(self, others: object, untagged: object) -> dict[str, Any]:
        """Return the attributes for rows that are not of this run."""
        return {semconv.CHECK_OTHERS: self._render(others), semconv.CHECK_UNTAGGED: self._render(untagged)}

    def _render(self, state: object) -> Any:
        if self.in_full:
            return wire(state, self._max_chars)
        return _kind_of(state) if self._kinds_only else _NOT_CAPTURED

    def text(self, text: str) -> str:
        """Return a text within bounds."""
        return str(wire(text, self._max_chars))

    def status(self, report: ActionReport, error: BaseException | None) -> str:
        """Return the description of an ERROR status: what was refuted, or what the action raised."""
        if report.outcome == "fail":
            if self.in_full:
                return self.text(report.explanation)
            return "; ".join(_verdict(check) for check in report.failed)
        if error is None:
            return ""
        return self.text(describe(error) if self.in_full else class_name(type(error)))


@lru_cache(maxsize=8)
def states_on_wire(settings: Settings) -> StateOnWire:
    """Return the renderer for these settings, made once."""
    return StateOnWire(settings)


def type_name(qualified_name: str) -> str:
    """Return the name of an exception's class as `error.type` and `exception.type` give it."""
    return label(qualified_name.removeprefix("builtins."))


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
