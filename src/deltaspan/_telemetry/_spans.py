"""The span of a run: identity at its start, verdict at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from deltaspan import semconv
from deltaspan._reports import ActionReport
from deltaspan._telemetry._state import StateOnWire, class_name
from deltaspan.causal_tag import CausalTag

__all__ = ["MOST_DETAILED_CHECKS", "enrichable", "record_verdict", "start_span", "tag_attributes"]

MOST_DETAILED_CHECKS: Final = 16
"""Beyond this many checks the details stay in the events: a span holds 128 attributes and drops the oldest,
which are its identity."""


def tag_attributes(tag: CausalTag) -> dict[str, str]:
    """Return the attributes by which a run is found."""
    found = {semconv.CAUSAL_TAG_ID: tag.id, semconv.CAUSAL_TAG_ROOT_ID: tag.root_id}
    if tag.parent_id is not None:
        found[semconv.CAUSAL_TAG_PARENT_ID] = tag.parent_id
    return found


def start_span(
    tracer: Tracer, name: str, identity: Mapping[str, str], tag: CausalTag, context: Context
) -> Span:
    """Start a run's span in a context that already holds the tag's baggage, so that processors stamp it."""
    return tracer.start_span(name, context, SpanKind.INTERNAL, {**identity, **tag_attributes(tag)})


def enrichable(action: str, context: Context) -> Span | None:
    """Return the current span when it is an agent framework's own span for this tool, not yet enriched.

    A framework's span says `execute_tool` and the tool's name. Ours says so too, but names its action
    already, and so does a framework's span that an earlier run enriched.
    """
    span = trace.get_current_span(context)
    attributes: Any = getattr(span, "attributes", None)  # an SDK's span tells; the API's does not
    if not attributes or semconv.ACTION_NAME in attributes or not span.is_recording():
        return None
    of_a_tool = attributes.get(semconv.GEN_AI_OPERATION_NAME) == semconv.SPAN_EXECUTE_TOOL
    return span if of_a_tool and attributes.get(semconv.GEN_AI_TOOL_NAME) == action else None


def record_verdict(
    span: Span, report: ActionReport, states: StateOnWire, error: BaseException | None
) -> None:
    """Put the verdict on a recording span: outcome, failed metrics, states and deltas, status."""
    failed = report.failed
    attributes: dict[str, Any] = {
        semconv.ACTION_OUTCOME: report.outcome,
        semconv.CHECKS_TOTAL: len(report.checks),
        semconv.CHECKS_FAILED: [check.metric for check in failed],
    }
    if len(report.checks) <= MOST_DETAILED_CHECKS:
        for check in report.checks:
            if check.has_pre_state:
                attributes[semconv.PRE_STATE_PREFIX + check.metric] = states.of(check.pre_state)
            if check.has_post_state:
                attributes[semconv.POST_STATE_PREFIX + check.metric] = states.of(check.post_state)
            attributes[semconv.EXPECTED_DELTA_PREFIX + check.metric] = states.of(check.expected_delta)
            if check.has_delta:
                attributes[semconv.ACTUAL_DELTA_PREFIX + check.metric] = states.of(check.actual_delta)
    if error is not None:
        attributes[semconv.ERROR_TYPE] = class_name(error)
    elif failed:
        attributes[semconv.ERROR_TYPE] = semconv.ERROR_TYPE_CHECK_FAILED
    span.set_attributes(attributes)
    if (failed or error is not None) and _status_is_unset(span):
        span.set_status(Status(StatusCode.ERROR, states.status(report, error)))


def _status_is_unset(span: Span) -> bool:
    # A status that the action set itself says more about the action than we can.
    status = getattr(span, "status", None)
    return status is None or status.status_code is StatusCode.UNSET
