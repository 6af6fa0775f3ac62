"""The three metrics of a run.

No causal tag, state or argument is ever an attribute: each value would make a series of its own.
"""

from __future__ import annotations

from opentelemetry.context import Context

from deltaspan import semconv
from deltaspan._reports import ActionReport
from deltaspan._telemetry._instruments import Instruments
from deltaspan.typing import Outcome

__all__ = ["record_metrics", "record_zeros"]

_ZEROS: tuple[Outcome, ...] = ("pass", "fail")


def record_zeros(instruments: Instruments, action: str, metrics: tuple[str, ...]) -> None:
    """Start the series of pass and fail at zero.

    Without a first zero `increase()` misses a first failure, and a ratio of failures is empty, not nothing.
    """
    for metric in metrics:
        for outcome in _ZEROS:
            instruments.checks.add(
                0,
                {
                    semconv.ACTION_NAME: action,
                    semconv.CHECK_METRIC: metric,
                    semconv.CHECK_OUTCOME: outcome,
                },
            )


def record_metrics(instruments: Instruments, report: ActionReport, context: Context) -> None:
    """Record one finished run, in the context of its span so that exemplars lead to the trace."""
    for check in report.checks:
        attributes = {
            semconv.ACTION_NAME: report.action,
            semconv.CHECK_METRIC: check.metric,
            semconv.CHECK_OUTCOME: check.verdict.outcome,
        }
        if check.verdict.reason is not None:
            attributes[semconv.CHECK_REASON] = check.verdict.reason
        instruments.checks.add(1, attributes, context)
    action = {semconv.ACTION_NAME: report.action}
    instruments.action_duration.record(
        report.action_seconds, {**action, semconv.ACTION_OUTCOME: report.outcome}, context
    )
    instruments.verification_duration.record(report.verification_seconds, action, context)
