"""The `delta.check` event, one a check: on the span, as a log record, or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from opentelemetry._logs import Logger, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.trace import Span

from deltaspan import semconv
from deltaspan._reports import ActionReport
from deltaspan._state.render import label
from deltaspan._telemetry._values import CheckOnWire, StateOnWire, type_name
from deltaspan._verdicts import Raised, Timing
from deltaspan.typing import Claim, Outcome

__all__ = ["URGENT", "add_span_events", "emit_log_events", "is_heard"]

URGENT: Final[tuple[Outcome, ...]] = ("fail", "inconclusive")
"""Outcomes that leave as log events even when the span is not sampled."""

_SEVERITY: Final[dict[Outcome, SeverityNumber]] = {
    "fail": SeverityNumber.ERROR,
    "inconclusive": SeverityNumber.WARN,
}


def add_span_events(
    span: Span, checks: Sequence[CheckOnWire], states: StateOnWire, claim: Claim | None
) -> None:
    """Add one event a check to a recording span.

    Args:
        span: takes them.
        checks: the checks of a run, rendered.
        states: renders the message of an exception.
        claim: what the action says of itself, or None.
    """
    for check in checks:
        span.add_event(semconv.EVENT_CHECK, _attributes(check, states, claim))


def emit_log_events(
    logger: Logger, report: ActionReport, checks: Sequence[CheckOnWire], states: StateOnWire, context: Context
) -> None:
    """Emit checks as log-based events, each of which stands alone and so names its action and tag.

    Args:
        logger: takes them.
        report: the finished run.
        checks: the checks to emit, rendered.
        states: renders the message of an exception.
        context: the context of the run's span, for the trace and span id.
    """
    whose: dict[str, Any] = {semconv.ACTION_NAME: label(report.action)}
    if report.causal_tag is not None:
        whose |= {semconv.CAUSAL_TAG_ID: report.causal_tag, semconv.CAUSAL_TAG_ROOT_ID: report.root_tag}
    for one in checks:
        logger.emit(
            context=context,
            severity_number=_SEVERITY.get(one.check.outcome, SeverityNumber.INFO),
            body=one.explanation,
            attributes={**_attributes(one, states, report.claim), **whose},
            event_name=semconv.EVENT_CHECK,
        )


def is_heard(logger: Logger, context: Context) -> bool:
    """Return whether anybody takes log-based events."""
    enabled = getattr(logger, "enabled", None)  # before OpenTelemetry 1.45 nobody could ask
    return enabled is None or bool(enabled(context=context, event_name=semconv.EVENT_CHECK))


def _attributes(rendered: CheckOnWire, states: StateOnWire, claim: Claim | None) -> dict[str, Any]:
    check, pre_state, post_state, expected_delta, actual_delta, explanation = rendered
    outcome, reason, _, fault = check.verdict
    metric = check.metric
    attributes: dict[str, Any] = {
        semconv.CHECK_NAME: f"{metric}_delta",
        semconv.CHECK_METRIC: metric,
        semconv.CHECK_OUTCOME: outcome,
        semconv.CHECK_PASSED: outcome == "pass",
        semconv.CHECK_EXPECTED_DELTA: expected_delta,
        semconv.CHECK_ATTRIBUTION: check.attribution,
        semconv.CHECK_EXPLANATION: explanation,
        semconv.CHECK_PROBE_MS: check.probe_seconds * 1000,
    }
    if (origin := check.origin) is not None:
        attributes[semconv.CHECK_ORIGIN] = origin
    if claim is not None:
        attributes[semconv.ACTION_CLAIM] = claim
    if reason is not None:
        attributes[semconv.CHECK_REASON] = reason
    if pre_state is not None:
        attributes[semconv.CHECK_PRE_STATE] = pre_state
    if post_state is not None:
        attributes[semconv.CHECK_POST_STATE] = post_state
    if actual_delta is not None:
        attributes[semconv.CHECK_ACTUAL_DELTA] = actual_delta
    if check.delta is not None and (parts := check.delta.others_and_untagged) is not None:
        attributes |= states.others_and_untagged(*parts)
    if check.timing is not None:
        attributes |= _timing(check.timing)
    if fault is not None:
        attributes |= _exception(fault, states)
    return attributes


def _exception(fault: Raised, states: StateOnWire) -> dict[str, str]:
    attributes = {semconv.EXCEPTION_TYPE: type_name(fault.qualified_name)}
    if states.in_full:
        attributes[semconv.EXCEPTION_MESSAGE] = states.text(fault.message)
    return attributes


def _timing(timing: Timing) -> dict[str, int | float]:
    attempts, *seconds = timing
    names = (semconv.CHECK_SETTLE_MS, semconv.CHECK_LOCK_WAIT_MS, semconv.CHECK_BASELINE_AGE_MS)
    taken = {name: value * 1000 for name, value in zip(names, seconds, strict=True) if value is not None}
    return {semconv.CHECK_ATTEMPTS: attempts, **taken}
