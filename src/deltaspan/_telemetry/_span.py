"""The span of a run: identity at its start, verdict at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode

from deltaspan import semconv
from deltaspan._guard import qualified_name
from deltaspan._reports import ActionReport
from deltaspan._telemetry._values import CheckOnWire, StateOnWire, type_name
from deltaspan.causal_tag import CausalTag

__all__ = ["MOST_DETAILED_CHECKS", "enrichable", "identity_of", "record_verdict"]

MOST_DETAILED_CHECKS: Final = 16
"""Beyond this many checks the details stay in the events: a span holds 128 attributes and drops the oldest,
which are its identity."""


def identity_of(action: Mapping[str, str], tag: CausalTag, attempt: int) -> dict[str, str | int]:
    """Return the attributes by which a run is found: its action's, its tag's, and which attempt it is."""
    found: dict[str, str | int] = {
        **action,
        semconv.CAUSAL_TAG_ID: tag.id,
        semconv.CAUSAL_TAG_ROOT_ID: tag.root_id,
    }
    if tag.parent_id is not None:
        found[semconv.CAUSAL_TAG_PARENT_ID] = tag.parent_id
    if attempt > 1:
        found[semconv.ACTION_ATTEMPT] = attempt
    return found


def enrichable(action: str, context: Context) -> Span | None:
    """Return the current span when it is an agent framework's own span for this tool, not yet enriched.

    A framework's span says `execute_tool` and the tool's name: in its attributes, or, where the framework
    sets these only at the end, in its own name. Ours says so too, but names its action already, and so does a
    framework's span that an earlier run enriched.
    """
    span = trace.get_current_span(context)
    if not span.is_recording():
        return None
    told: Any = span  # an SDK's span tells its name and attributes; the API's does not
    attributes = getattr(told, "attributes", None) or {}
    if semconv.ACTION_NAME in attributes:
        return None
    if getattr(told, "name", None) == f"{semconv.SPAN_EXECUTE_TOOL} {action}":
        return span
    of_a_tool = attributes.get(semconv.GEN_AI_OPERATION_NAME) == semconv.SPAN_EXECUTE_TOOL
    return span if of_a_tool and attributes.get(semconv.GEN_AI_TOOL_NAME) == action else None


def record_verdict(
    span: Span,
    report: ActionReport,
    checks: Sequence[CheckOnWire],
    states: StateOnWire,
    error: BaseException | None,
) -> None:
    """Put the verdict on a recording span: outcome, failed metrics, states and deltas, status.

    Args:
        span: the run's span.
        report: the finished run.
        checks: its checks, rendered.
        states: renders the status.
        error: what the action raised, or None.
    """
    attributes: dict[str, Any] = {
        semconv.ACTION_OUTCOME: report.outcome,
        semconv.CHECKS_TOTAL: len(checks),
        semconv.CHECKS_FAILED: [one.check.metric for one in checks if one.check.verdict.outcome == "fail"],
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
    refuted = report.outcome == "fail"
    if error is not None:
        attributes[semconv.ERROR_TYPE] = type_name(qualified_name(type(error)))
    elif refuted:
        attributes[semconv.ERROR_TYPE] = semconv.ERROR_TYPE_CHECK_FAILED
    span.set_attributes(attributes)
    if (refuted or error is not None) and _status_is_unset(span):
        span.set_status(Status(StatusCode.ERROR, states.status(report, error)))


def _status_is_unset(span: Span) -> bool:
    # A status that the action set itself says more about the action than we can.
    status = getattr(span, "status", None)
    return status is None or status.status_code is StatusCode.UNSET
