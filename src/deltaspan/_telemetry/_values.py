"""Render states for telemetry: in full, as kind and size, or not at all.

Explanations quote states. If states do not leave in full, explanations do not leave either.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Mapping, Sized
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any, Final, NamedTuple

from deltaspan import semconv
from deltaspan._config import Settings
from deltaspan._guard import qualified_name, safe_str
from deltaspan._reports import ActionReport, CheckReport
from deltaspan._state.render import label, structured, wire

_NOT_CAPTURED: Final = "(not captured)"


class RenderedCheck(NamedTuple):
    """The attribute values of one check, for its span, event and log record.

    Attributes:
        check: the check itself.
        pre_state: the baseline, or None if it was not read.
        post_state: the state after the action, or None if it was not read.
        expected_delta: the expected change.
        actual_delta: the change, or None if a state is missing.
        explanation: one sentence about the verdict.
    """

    check: CheckReport
    pre_state: Any
    post_state: Any
    expected_delta: Any
    actual_delta: Any
    explanation: str


class ValueRenderer:
    """Renders states and sentences as attribute values, according to the settings.

    Args:
        settings: how much of a state leaves, and its longest text.
        is_structured: whether collections are maps and arrays, and not JSON.

    Attributes:
        is_full: whether states leave with their content.
    """

    __slots__ = ("_is_structured", "_is_summary", "_max_chars", "is_full")

    def __init__(self, settings: Settings, *, is_structured: bool = False) -> None:
        self._is_structured = is_structured
        self.is_full = settings.capture_state == "full"
        self._is_summary = settings.capture_state == "summary"
        self._max_chars = settings.max_state_chars

    def render(self, check: CheckReport) -> RenderedCheck:
        """Return the attribute values of one check's states and deltas."""
        render = self._state
        return RenderedCheck(
            check,
            render(check.pre_state) if check.has_pre_state else None,
            render(check.post_state) if check.has_post_state else None,
            render(check.expectation.expected),
            None if check.delta is None else render(check.delta.value),
            self.text(check.explanation) if self.is_full else _verdict(check),
        )

    def others_and_untagged(self, others: object, untagged: object) -> dict[str, Any]:
        """Return the attributes for rows that are not of this run."""
        return {semconv.CHECK_OTHERS: self._state(others), semconv.CHECK_UNTAGGED: self._state(untagged)}

    def _state(self, state: object) -> Any:
        if self.is_full:
            write = structured if self._is_structured else wire
            return write(state, self._max_chars)
        return _kind_of(state) if self._is_summary else _NOT_CAPTURED

    def value(self, value: object) -> Any:
        """Return a snapshot that is not a state, shortened to the configured length."""
        return wire(value, self._max_chars)

    def text(self, text: str) -> str:
        """Return a text, shortened to the configured length."""
        return str(wire(text, self._max_chars))

    def status(self, report: ActionReport, error: BaseException | None) -> str:
        """Return the description of an ERROR status."""
        if report.outcome == "fail":
            if self.is_full:
                return self.text(report.explanation)
            return "; ".join(_verdict(check) for check in report.failed)
        return "" if error is None else self.message(error)

    def message(self, error: BaseException) -> str:
        """Return the message of an exception. It is empty if content does not leave."""
        return self.text(safe_str(error, "")) if self.is_full else ""


@lru_cache(maxsize=8)
def renderer_for(settings: Settings, *, is_structured: bool = False) -> ValueRenderer:
    """Return the renderer for these settings. It is cached."""
    return ValueRenderer(settings, is_structured=is_structured)


def type_name(qualified_name: str) -> str:
    """Return the name of an exception's class for `error.type` and `exception.type`."""
    return label(qualified_name.removeprefix("builtins."))


def error_type_of(report: ActionReport, error: BaseException | None) -> str | None:
    """Return `error.type` of a run's span and durations, or None if nothing is wrong.

    Args:
        report: the finished run.
        error: the exception that the action raised, or None.
    """
    if error is not None and is_error(error):
        return type_name(qualified_name(type(error)))
    return semconv.ERROR_TYPE_CHECK_FAILED if report.outcome == "fail" else None


def is_error(error: BaseException) -> bool:
    """Return whether an exception means that something went wrong.

    A cancellation by the caller does not, and neither do the end of a generator and an exit with success.
    """
    if isinstance(error, SystemExit):
        return error.code not in (None, 0)
    if isinstance(error, GeneratorExit | CancelledError):
        return False
    return qualified_name(type(error)) != "trio.Cancelled"


def _verdict(check: CheckReport) -> str:
    return f"{check.metric}: {check.outcome}{f' ({check.reason})' if check.reason else ''}"


def _kind_of(state: object) -> str:
    if isinstance(state, Sized):
        kind = type(state).__name__
        if isinstance(state, Mapping):
            kind = "mapping"
        elif isinstance(state, AbstractSet):
            kind = "set"
        elif isinstance(state, tuple):
            kind = "sequence"
        return f"{kind} of {len(state)}"
    return type(state).__name__
