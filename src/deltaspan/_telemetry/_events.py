"""The `deltaspan.check.result` event of a check, on the span or as a log record."""

from __future__ import annotations

from collections.abc import Sequence
from time import time_ns
from typing import Any, Final

from opentelemetry._logs import Logger, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.trace import Span

from deltaspan import semconv
from deltaspan._config import Settings
from deltaspan._reports import ActionReport, CheckReport
from deltaspan._state.render import label
from deltaspan._telemetry._span import MAX_DETAILED_CHECKS
from deltaspan._telemetry._values import RenderedCheck, ValueRenderer, type_name
from deltaspan._verdicts import Timing
from deltaspan.typing import Claim, Outcome

ALWAYS_LOGGED: Final[tuple[Outcome, ...]] = ("fail", "inconclusive")
"""Outcomes that leave as log events even when the span is not sampled."""

_SEVERITY: Final[dict[Outcome, SeverityNumber]] = {
    "fail": SeverityNumber.ERROR,
    "inconclusive": SeverityNumber.WARN,
}


def add_span_events(
    span: Span, checks: Sequence[RenderedCheck], renderer: ValueRenderer, claim: Claim | None
) -> None:
    """Add one event per check to a recording span.

    Args:
        span: the span of the run.
        checks: the checks of a run, rendered.
        renderer: renders the message of an exception.
        claim: the success or failure that the action reports, or None.
    """
    # Attributes of the span have the states, unless there are too many checks. A state may be large.
    has_states = len(checks) > MAX_DETAILED_CHECKS
    for check in checks:
        attributes = _attributes(check, renderer, claim)
        if has_states:
            attributes |= _states(check)
        span.add_event(semconv.EVENT_CHECK_RESULT, attributes)


def checks_to_log(
    logger: Logger, span: Span, report: ActionReport, config: Settings, context: Context
) -> Sequence[CheckReport]:
    """Return the checks that leave as log events, which may be none.

    Args:
        logger: the logger to emit with.
        span: the span of the run.
        report: the finished run.
        config: the settings in effect.
        context: the context of the run's span.
    """
    if not config.has_check_events:
        return ()
    if config.log_events:
        checks: Sequence[CheckReport] = report.checks
    elif report.outcome in ALWAYS_LOGGED and not is_exported(span):
        checks = [check for check in report.checks if check.outcome in ALWAYS_LOGGED]
    else:
        return ()
    name = semconv.EVENT_CHECK_RESULT
    return [check for check in checks if is_event_enabled(logger, context, _severity(check.outcome), name)]


def is_exported(span: Span) -> bool:
    """Return whether a span is recorded and sampled."""
    # A sampler may record a span without sampling it. Without an SDK the span has the flags of its parent.
    return span.is_recording() and span.get_span_context().trace_flags.sampled


def emit_log_events(
    logger: Logger,
    report: ActionReport,
    checks: Sequence[CheckReport],
    renderer: ValueRenderer,
    context: Context,
) -> None:
    """Emit checks as log-based events, which name their action and tag.

    Args:
        logger: the logger to emit with.
        report: the finished run.
        checks: the checks to emit.
        renderer: renders states as maps and arrays.
        context: the context of the run's span, for the trace and span id.
    """
    emitted_at = time_ns()
    identity: dict[str, Any] = {semconv.ACTION_NAME: label(report.action)}
    if report.causal_tag is not None:
        identity |= {semconv.CAUSAL_TAG_ID: report.causal_tag, semconv.CAUSAL_TAG_ROOT_ID: report.root_tag}
    for check in checks:
        rendered = renderer.render(check)
        logger.emit(
            timestamp=emitted_at,
            context=context,
            severity_number=_severity(check.outcome),
            body=rendered.explanation,
            # The span may not be stored, so the record has the states, too.
            attributes={
                **_attributes(rendered, renderer, report.claim),
                **_states(rendered),
                **identity,
            },
            event_name=semconv.EVENT_CHECK_RESULT,
        )


def is_event_enabled(logger: Logger, context: Context, severity: SeverityNumber, name: str) -> bool:
    """Return whether a logger takes an event."""
    is_enabled = getattr(logger, "enabled", None)  # OpenTelemetry 1.45 and newer
    return is_enabled is None or bool(is_enabled(context=context, severity_number=severity, event_name=name))


def _severity(outcome: Outcome) -> SeverityNumber:
    return _SEVERITY.get(outcome, SeverityNumber.DEBUG)


def _attributes(rendered: RenderedCheck, renderer: ValueRenderer, claim: Claim | None) -> dict[str, Any]:
    check, _, _, expected_delta, actual_delta, explanation = rendered
    outcome, reason, _, fault = check.verdict
    attributes: dict[str, Any] = {
        semconv.CHECK_METRIC: check.metric,
        semconv.CHECK_OUTCOME: outcome,
        semconv.CHECK_EXPECTED_DELTA: expected_delta,
        semconv.CHECK_ATTRIBUTION: check.attribution,
        semconv.CHECK_EXPLANATION: explanation,
        semconv.CHECK_PROBE_DURATION: check.probe_seconds,
    }
    if (origin := check.origin) is not None:
        attributes[semconv.CHECK_ORIGIN] = origin
    if claim is not None:
        attributes[semconv.ACTION_CLAIM] = claim
    if reason is not None:
        attributes[semconv.CHECK_REASON] = reason
    if actual_delta is not None:
        attributes[semconv.CHECK_ACTUAL_DELTA] = actual_delta
    if check.delta is not None and (parts := check.delta.others_and_untagged) is not None:
        attributes |= renderer.others_and_untagged(*parts)
    if check.timing is not None:
        attributes |= _timing(check.timing)
    # The exception of the action is recorded once for the run.
    if fault is not None and reason != "action_failed":
        attributes[semconv.ERROR_TYPE] = type_name(fault.qualified_name)
    return attributes


def _states(rendered: RenderedCheck) -> dict[str, Any]:
    states = ((semconv.CHECK_PRE_STATE, rendered.pre_state), (semconv.CHECK_POST_STATE, rendered.post_state))
    return {name: state for name, state in states if state is not None}


def _timing(timing: Timing) -> dict[str, int | float]:
    attempts, *seconds = timing
    names = (semconv.CHECK_SETTLE_DURATION, semconv.CHECK_LOCK_WAIT_DURATION, semconv.CHECK_BASELINE_AGE)
    taken = {name: value for name, value in zip(names, seconds, strict=True) if value is not None}
    return {semconv.CHECK_ATTEMPT_COUNT: attempts, **taken}
