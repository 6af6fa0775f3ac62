"""The three metrics of a run.

A causal tag, a state or an argument is never an attribute, because each value would create a series.
"""

from __future__ import annotations

from opentelemetry.context import Context

from deltaspan._reports import ActionReport
from deltaspan._telemetry._attributes import ActionNames
from deltaspan._telemetry._instruments import Instruments

__all__ = ["record_metrics"]


def record_metrics(
    instruments: Instruments, names: ActionNames, report: ActionReport, context: Context
) -> None:
    """Record a finished run in the context of its span, for exemplars."""
    add = instruments.checks.add
    claim = report.claim
    for check in report.checks:
        outcome, reason, _, _ = check.verdict
        add(1, names.check_series(check.metric, outcome, reason, check.origin, claim), context)
    instruments.action_duration.record(report.action_seconds, names.outcome_series(report.outcome), context)
    instruments.verification_duration.record(report.verification_seconds, names.name_in_metrics, context)
