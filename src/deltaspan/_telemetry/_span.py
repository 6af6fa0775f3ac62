"""The span of a run: identity at its start, verdict at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode

from deltaspan import semconv
from deltaspan._reports import ActionReport
from deltaspan._telemetry._values import RenderedCheck, ValueRenderer, error_type_of
from deltaspan.causal_tag import CausalTag

__all__ = ["MOST_DETAILED_CHECKS", "framework_tool_span", "identity_of", "record_verdict"]

MOST_DETAILED_CHECKS: Final = 16
"""With more checks than this the details are in the events only. A span holds 128 attributes and drops the
oldest, which are its identity."""


def identity_of(action: Mapping[str, str], tag: CausalTag, attempt: int) -> dict[str, str | int]:
    """Return the attributes that identify a run: its action, tag and attempt."""
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


def framework_tool_span(action: str, context: Context) -> Span | None:
    """Return the current span if an agent framework started it for this tool.

    A framework's span has `execute_tool` and the tool's name in its attributes. If the framework sets these
    only at the end, they are in the span's name. A span of deltaspan has them, too, but also has the name of
    its action. So has a framework's span that an earlier run enriched.
    """
    span = trace.get_current_span(context)
    if not span.is_recording():
        return None
    sdk_span: Any = span  # an SDK's span has readable attributes and a name; the API declares neither
    attributes = getattr(sdk_span, "attributes", None) or {}
    if semconv.ACTION_NAME in attributes:
        return None
    if getattr(sdk_span, "name", None) == f"{semconv.SPAN_EXECUTE_TOOL} {action}":
        return span
    of_a_tool = attributes.get(semconv.GEN_AI_OPERATION_NAME) == semconv.SPAN_EXECUTE_TOOL
    return span if of_a_tool and attributes.get(semconv.GEN_AI_TOOL_NAME) == action else None


def record_verdict(
    span: Span,
    report: ActionReport,
    checks: Sequence[RenderedCheck],
    renderer: ValueRenderer,
    error: BaseException | None,
) -> None:
    """Set the verdict on a recording span: outcome, failed metrics, states, deltas, status.

    Args:
        span: the run's span.
        report: the finished run.
        checks: its checks, rendered.
        renderer: renders the status.
        error: the exception that the action raised, or None.
    """
    attributes: dict[str, Any] = {
        semconv.ACTION_OUTCOME: report.outcome,
        semconv.CHECKS_TOTAL: len(checks),
        semconv.CHECKS_FAILED: [each.check.metric for each in checks if each.check.verdict.outcome == "fail"],
    }
    if report.claim is not None:
        attributes[semconv.ACTION_CLAIM] = report.claim
    if len(checks) <= MOST_DETAILED_CHECKS:
        for check, pre_state, post_state, expected_delta, actual_delta, _ in checks:
            metric = check.metric
            if pre_state is not None:
                attributes[semconv.PRE_STATE_PREFIX + metric] = pre_state
            if post_state is not None:
                attributes[semconv.POST_STATE_PREFIX + metric] = post_state
            attributes[semconv.EXPECTED_DELTA_PREFIX + metric] = expected_delta
            if actual_delta is not None:
                attributes[semconv.ACTUAL_DELTA_PREFIX + metric] = actual_delta
    error_type = error_type_of(report, error)
    if error_type is not None:
        attributes[semconv.ERROR_TYPE] = error_type
    span.set_attributes(attributes)
    if error_type is not None and _status_is_unset(span):
        span.set_status(Status(StatusCode.ERROR, renderer.status(report, error)))


def _status_is_unset(span: Span) -> bool:
    # A status that the action set itself takes precedence.
    status = getattr(span, "status", None)
    return status is None or status.status_code is StatusCode.UNSET
