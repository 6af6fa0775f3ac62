"""The `gen_ai.evaluation.result` event of a verdict, by OpenTelemetry's conventions."""

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
from deltaspan._telemetry._events import ALWAYS_LOGGED, is_event_enabled, is_exported
from deltaspan._telemetry._values import ValueRenderer, type_name
from deltaspan.typing import Outcome

_SCORES: Final[dict[Outcome, float | None]] = {"pass": 1.0, "fail": 0.0, "inconclusive": None}
"""The outcomes that are evaluations. A check that was only observed or skipped evaluates nothing."""


def evaluations_to_log(
    logger: Logger, span: Span, report: ActionReport, config: Settings, context: Context
) -> Sequence[CheckReport]:
    """Return the checks that leave as evaluations, which may be none.

    Args:
        logger: the logger to emit with.
        span: the span of the run.
        report: the finished run.
        config: the settings in effect.
        context: the context of the run's span.
    """
    if not config.has_evaluations:
        return ()
    outcomes = tuple(_SCORES) if config.log_events or is_exported(span) else ALWAYS_LOGGED
    name = semconv.EVENT_GEN_AI_EVALUATION_RESULT
    return [
        check
        for check in report.checks
        if check.outcome in outcomes and is_event_enabled(logger, context, _severity(check.outcome), name)
    ]


def emit_evaluations(
    logger: Logger,
    report: ActionReport,
    checks: Sequence[CheckReport],
    renderer: ValueRenderer,
    context: Context,
) -> None:
    """Emit checks as evaluations of the run's span.

    Args:
        logger: the logger to emit with.
        report: the finished run.
        checks: the checks to emit.
        renderer: renders explanations, which quote states.
        context: the context of the run's span, for the trace and span id.
    """
    emitted_at = time_ns()
    for check in checks:
        logger.emit(
            timestamp=emitted_at,
            context=context,
            severity_number=_severity(check.outcome),
            attributes=_attributes(report, check, renderer),
            event_name=semconv.EVENT_GEN_AI_EVALUATION_RESULT,
        )


def _severity(outcome: Outcome) -> SeverityNumber:
    return SeverityNumber.WARN if outcome == "fail" else SeverityNumber.INFO


def _attributes(report: ActionReport, check: CheckReport, renderer: ValueRenderer) -> dict[str, Any]:
    outcome, reason, _, fault = check.verdict
    attributes: dict[str, Any] = {
        semconv.GEN_AI_EVALUATION_NAME: f"{check.metric}_delta",
        semconv.GEN_AI_EVALUATION_SCORE_LABEL: outcome,
        semconv.GEN_AI_EVALUATION_EXPLANATION: renderer.render(check).explanation,
        semconv.CHECK_METRIC: check.metric,
        semconv.CHECK_ATTRIBUTION: check.attribution,
    }
    score = _SCORES[outcome]
    if score is not None:
        attributes[semconv.GEN_AI_EVALUATION_SCORE_VALUE] = score
    if report.causal_tag is not None:
        attributes[semconv.CAUSAL_TAG_ID] = report.causal_tag
    # A refuted claim is not an error of the evaluation, which worked.
    if outcome == "inconclusive":
        attributes[semconv.ERROR_TYPE] = str(reason) if fault is None else type_name(fault.qualified_name)
    return attributes
