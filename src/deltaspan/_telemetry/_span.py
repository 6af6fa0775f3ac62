"""The span of a run: identity at its start, verdict at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from time import perf_counter, time_ns
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode, format_span_id, format_trace_id

from deltaspan import semconv
from deltaspan._guard import qualified_name
from deltaspan._process import on_reset
from deltaspan._reports import ActionReport
from deltaspan._state.render import attribute_key
from deltaspan._telemetry._values import RenderedCheck, ValueRenderer, error_type_of, is_error, type_name
from deltaspan.causal_tag import CausalTag
from deltaspan.typing import Outcome

_NANOSECONDS: Final = 1_000_000_000
MAX_DETAILED_CHECKS: Final = 16
"""The most checks whose states and deltas are on the span. With more they are in the events only, because a
span holds 128 attributes and drops the oldest, which are its identity."""


def identity_of(action: Mapping[str, str], tag: CausalTag, attempt: int) -> dict[str, str | int]:
    """Return the attributes of a run from its start: action, tag and attempt.

    Args:
        action: the attributes that `ActionNames` has of the action.
        tag: the causal tag of the run.
        attempt: the number of the run, from 1.
    """
    attributes: dict[str, str | int] = {
        **action,
        semconv.CAUSAL_TAG_ID: tag.id,
        semconv.CAUSAL_TAG_ROOT_ID: tag.root_id,
    }
    if tag.parent_id is not None:
        attributes[semconv.CAUSAL_TAG_PARENT_ID] = tag.parent_id
    if attempt > 1:
        attributes[semconv.ACTION_ATTEMPT] = attempt
    return attributes


def ids_of(span: Span) -> tuple[str | None, str | None]:
    """Return the ids of trace and span in hexadecimal, or None without a span."""
    context = span.get_span_context()
    if not context.is_valid or context.is_remote:
        return None, None
    return format_trace_id(context.trace_id), format_span_id(context.span_id)


def wall_time_of(instant: float) -> int:
    """Return an instant of `time.perf_counter` as nanoseconds since the epoch."""
    return time_ns() - int((perf_counter() - instant) * _NANOSECONDS)


def enclosing_call(context: Context) -> dict[str, str]:
    """Return agent, conversation and call of the enclosing span.

    A span of deltaspan passes on the agent and the conversation. Its call is another one.
    """
    span = trace.get_current_span(context)
    if not span.is_recording():
        return {}
    attributes = getattr(_readable(span), "attributes", None) or {}
    names = _OF_AGENT if semconv.ACTION_NAME in attributes else _OF_CALL
    return {name: str(attributes[name]) for name in names if name in attributes}


_OF_AGENT: Final = (semconv.GEN_AI_AGENT_NAME, semconv.GEN_AI_CONVERSATION_ID)
_OF_CALL: Final = (*_OF_AGENT, semconv.GEN_AI_TOOL_CALL_ID)


def framework_tool_span(action: str, context: Context) -> Span | None:
    """Return the current span if an agent framework started it for this tool.

    It is returned once: a second call within it is a call of its own.
    """
    span = trace.get_current_span(context)
    if not span.is_recording():
        return None
    readable = _readable(span)
    attributes = getattr(readable, "attributes", None) or {}
    tool = _tool_of(readable, attributes)
    if tool is None or not _is_same_tool(tool, action) or semconv.ACTION_NAME in attributes:
        return None
    if span in _enriched:
        return None
    try:
        _enriched.add(span)
    except TypeError:  # it cannot be remembered, so a second call would be recorded on it, too
        return None
    return span


_enriched: Final[WeakSet[Span]] = WeakSet()
"""The spans of frameworks that have the verdict of a run."""
on_reset(_enriched.clear)

_DIALECTS: Final = (
    (semconv.GEN_AI_OPERATION_NAME, semconv.SPAN_EXECUTE_TOOL, semconv.GEN_AI_TOOL_NAME),
    ("openinference.span.kind", "TOOL", "tool.name"),
    ("traceloop.span.kind", "tool", "traceloop.entity.name"),
)
"""For each convention: the attribute that tells the kind of a span, its value for a tool, and the attribute
that names the tool."""

_SEPARATORS: Final = ("__", ".", "/", ":")


def _readable(span: Span) -> Any:
    """Return the span with readable attributes, which a wrapper may hold.

    The API declares neither attributes nor a name. The spans of an SDK have both.
    """
    if hasattr(span, "attributes"):
        return span
    context = span.get_span_context()
    for value in getattr(span, "__dict__", {}).values():
        if isinstance(value, Span) and hasattr(value, "attributes") and value.get_span_context() == context:
            return value
    return span


def _tool_of(span: Any, attributes: Mapping[str, Any]) -> str | None:
    """Return the name of the tool that a span was started for, or None."""
    name = str(getattr(span, "name", ""))
    for kind, of_tools, tool in _DIALECTS:
        if tool in attributes and attributes.get(kind, of_tools) == of_tools:
            return str(attributes[tool])
        if attributes.get(kind) == of_tools:
            return name.removeprefix(f"{semconv.SPAN_EXECUTE_TOOL} ")
    # Some frameworks set the attributes only at the end.
    return name.removeprefix(_EXECUTES) if name.startswith(_EXECUTES) else None


_EXECUTES: Final = f"{semconv.SPAN_EXECUTE_TOOL} "


def _is_same_tool(tool: str, action: str) -> bool:
    """Return whether two names differ at most by a namespace before one of them."""
    longer, shorter = sorted((tool, action), key=len, reverse=True)
    return longer == shorter or any(longer.endswith(f"{each}{shorter}") for each in _SEPARATORS)


def record_verdict(
    span: Span,
    report: ActionReport,
    checks: Sequence[RenderedCheck],
    renderer: ValueRenderer,
    error: BaseException | None,
    identity: Mapping[str, Any],
    *,
    is_own: bool,
) -> None:
    """Set the verdict on a recording span: outcome, failed metrics, states, deltas, status.

    Args:
        span: the span of the run, or of a framework.
        report: the finished run.
        checks: its checks, rendered.
        renderer: renders the status.
        error: the exception that the action raised, or None.
        identity: the attributes that the span has from its start.
        is_own: whether the span is ours. Status and error of a framework's span are the framework's.
    """
    verdict: dict[str, Any] = {
        semconv.CHECK_COUNT: len(checks),
        semconv.VERIFICATION_DURATION: report.verification_seconds,
    }
    if report.outcome in ("fail", "inconclusive"):
        verdict |= _unproven_metrics(checks)
    if report.claim is not None:
        verdict[semconv.ACTION_CLAIM] = report.claim
    if (ended := _ending_of(error)) is not None:
        verdict[semconv.ACTION_ENDED] = ended
    error_type = error_type_of(report, error) if is_own else None
    if error_type is not None:
        verdict[semconv.ERROR_TYPE] = error_type
    verdict[semconv.ACTION_OUTCOME] = report.outcome
    # A span drops its oldest attributes if there are too many. An attribute that is set again is the newest.
    span.set_attributes({**_details(checks), **verdict})
    if getattr(span, "dropped_attributes", 1):
        span.set_attributes({**identity, **verdict})
    if error_type is not None and _status_is_unset(span):
        span.set_status(Status(StatusCode.ERROR, renderer.status(report, error)))


def record_error(span: Span, renderer: ValueRenderer, error: BaseException) -> None:
    """Set the error of an action whose verdict goes to another span.

    Args:
        span: the span of the action.
        renderer: renders the status.
        error: the exception that the action raised.
    """
    if not is_error(error):
        return
    span.set_attribute(semconv.ERROR_TYPE, type_name(qualified_name(type(error))))
    if _status_is_unset(span):
        span.set_status(Status(StatusCode.ERROR, renderer.message(error)))


def _details(checks: Sequence[RenderedCheck]) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if len(checks) > MAX_DETAILED_CHECKS:
        return details
    for check, pre_state, post_state, expected_delta, actual_delta, _ in checks:
        names = _names_of_details(check.metric)
        if pre_state is not None:
            details[names.pre_state] = pre_state
        if post_state is not None:
            details[names.post_state] = post_state
        details[names.expected_delta] = expected_delta
        if actual_delta is not None:
            details[names.actual_delta] = actual_delta
    return details


class _DetailNames(NamedTuple):
    """The names of the attributes for the states and deltas of one metric."""

    pre_state: str
    post_state: str
    expected_delta: str
    actual_delta: str


@lru_cache(maxsize=1024)
def _names_of_details(metric: str) -> _DetailNames:
    key = attribute_key(metric)
    return _DetailNames(
        semconv.PRE_STATE_PREFIX + key,
        semconv.POST_STATE_PREFIX + key,
        semconv.EXPECTED_DELTA_PREFIX + key,
        semconv.ACTUAL_DELTA_PREFIX + key,
    )


def _unproven_metrics(checks: Sequence[RenderedCheck]) -> dict[str, list[str]]:
    names: tuple[tuple[str, Outcome], ...] = (
        (semconv.CHECK_FAILED_METRICS, "fail"),
        (semconv.CHECK_INCONCLUSIVE_METRICS, "inconclusive"),
    )
    listed = {
        name: [each.check.metric for each in checks if each.check.verdict.outcome == outcome]
        for name, outcome in names
    }
    return {name: metrics for name, metrics in listed.items() if metrics}


def _ending_of(error: BaseException | None) -> str | None:
    """Return the ending of an action that raised without an error, or None."""
    if error is None or is_error(error):
        return None
    return "exited" if isinstance(error, SystemExit) else "cancelled"


def _status_is_unset(span: Span) -> bool:
    # A status that the action set itself takes precedence.
    status = getattr(span, "status", None)
    return status is None or status.status_code is StatusCode.UNSET
