"""The `delta.check` event, one a check: on the span, as a log record, or both."""

from __future__ import annotations

from typing import Any

from opentelemetry._logs import Logger, SeverityNumber
from opentelemetry.context import Context

from deltaspan import semconv
from deltaspan._records import UNREAD
from deltaspan._reports import CheckReport
from deltaspan._telemetry._state import StateOnWire
from deltaspan.causal_tag import CausalTag
from deltaspan.typing import Outcome

__all__ = ["check_attributes", "emit_log_event"]

_SEVERITY: dict[Outcome, SeverityNumber] = {
    "fail": SeverityNumber.ERROR,
    "inconclusive": SeverityNumber.WARN,
}


def check_attributes(check: CheckReport, states: StateOnWire) -> dict[str, Any]:
    """Return the attributes of one check's event."""
    verdict = check.verdict
    attributes: dict[str, Any] = {
        semconv.CHECK_NAME: check.check,
        semconv.CHECK_METRIC: check.metric,
        semconv.CHECK_OUTCOME: verdict.outcome,
        semconv.CHECK_PASSED: verdict.outcome == "pass",
        semconv.CHECK_EXPECTED_DELTA: states.of(check.expected_delta),
        semconv.CHECK_ATTRIBUTION: check.attribution,
        semconv.CHECK_EXPLANATION: check.explanation,
        semconv.CHECK_PROBE_MS: check.probe_seconds * 1000,
    }
    if verdict.reason is not None:
        attributes[semconv.CHECK_REASON] = verdict.reason
    if check.baseline is not UNREAD:
        attributes[semconv.CHECK_PRE_STATE] = states.of(check.baseline)
    if check.outturn is not UNREAD:
        attributes[semconv.CHECK_POST_STATE] = states.of(check.outturn)
    if check.delta is not None:
        attributes[semconv.CHECK_ACTUAL_DELTA] = states.of(check.actual_delta)
    if verdict.error is not None:
        attributes[semconv.EXCEPTION_TYPE] = type(verdict.error).__qualname__
        attributes[semconv.EXCEPTION_MESSAGE] = states.of(str(verdict.error))
    return attributes


def emit_log_event(
    logger: Logger,
    check: CheckReport,
    attributes: dict[str, Any],
    action: str,
    tag: CausalTag,
    context: Context,
) -> None:
    """Emit one check as a log-based event, which stands alone and so names its action and tag."""
    own = {
        **attributes,
        semconv.ACTION_NAME: action,
        semconv.CAUSAL_TAG_ID: tag.id,
        semconv.CAUSAL_TAG_ROOT_ID: tag.root_id,
    }
    logger.emit(
        context=context,
        severity_number=_SEVERITY.get(check.outcome, SeverityNumber.INFO),
        body=check.explanation,
        attributes=own,
        event_name=semconv.EVENT_CHECK,
    )
