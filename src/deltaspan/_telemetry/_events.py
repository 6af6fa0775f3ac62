"""The `delta.check` event, one a check: on the span, as a log record, or both."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from opentelemetry._logs import Logger, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.trace import Span

from deltaspan import semconv
from deltaspan._reports import ActionReport, CheckReport
from deltaspan._telemetry._state import StateOnWire, class_name
from deltaspan.typing import Outcome

__all__ = ["URGENT", "add_span_events", "emit_log_events"]

URGENT: Final[tuple[Outcome, ...]] = ("fail", "inconclusive")
"""Outcomes that leave as log events even when the span is not sampled."""

_SEVERITY: Final[dict[Outcome, SeverityNumber]] = {
    "fail": SeverityNumber.ERROR,
    "inconclusive": SeverityNumber.WARN,
}


def add_span_events(span: Span, report: ActionReport, states: StateOnWire) -> None:
    """Add one event a check to a recording span."""
    for check in report.checks:
        span.add_event(semconv.EVENT_CHECK, _attributes(check, states))


def emit_log_events(
    logger: Logger,
    report: ActionReport,
    states: StateOnWire,
    context: Context,
    wanted: Collection[Outcome] | None,
) -> None:
    """Emit checks as log-based events, each of which stands alone and so names its action and tag.

    Args:
        logger: asked first whether anybody listens.
        report: the finished run.
        states: renders its states.
        context: the context of its span, for the trace and span id.
        wanted: the outcomes to emit; None for all.
    """
    if not logger.enabled(context=context, event_name=semconv.EVENT_CHECK):
        return
    whose: dict[str, Any] = {semconv.ACTION_NAME: report.action}
    if report.causal_tag is not None:
        whose |= {semconv.CAUSAL_TAG_ID: report.causal_tag, semconv.CAUSAL_TAG_ROOT_ID: report.root_tag}
    for check in report.checks:
        if wanted is None or check.outcome in wanted:
            logger.emit(
                context=context,
                severity_number=_SEVERITY.get(check.outcome, SeverityNumber.INFO),
                body=states.explanation(check),
                attributes={**_attributes(check, states), **whose},
                event_name=semconv.EVENT_CHECK,
            )


def _attributes(check: CheckReport, states: StateOnWire) -> dict[str, Any]:
    outcome = check.outcome
    attributes: dict[str, Any] = {
        semconv.CHECK_NAME: check.check,
        semconv.CHECK_METRIC: check.metric,
        semconv.CHECK_OUTCOME: outcome,
        semconv.CHECK_PASSED: outcome == "pass",
        semconv.CHECK_EXPECTED_DELTA: states.of(check.expected_delta),
        semconv.CHECK_ATTRIBUTION: check.attribution,
        semconv.CHECK_EXPLANATION: states.explanation(check),
        semconv.CHECK_PROBE_MS: check.probe_seconds * 1000,
    }
    if check.reason is not None:
        attributes[semconv.CHECK_REASON] = check.reason
    if check.has_pre_state:
        attributes[semconv.CHECK_PRE_STATE] = states.of(check.pre_state)
    if check.has_post_state:
        attributes[semconv.CHECK_POST_STATE] = states.of(check.post_state)
    if check.has_delta:
        attributes[semconv.CHECK_ACTUAL_DELTA] = states.of(check.actual_delta)
    if check.error is not None:
        attributes[semconv.EXCEPTION_TYPE] = class_name(check.error)
        if states.in_full:
            attributes[semconv.EXCEPTION_MESSAGE] = states.text(check.error)
    return attributes
