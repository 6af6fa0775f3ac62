"""The metrics of a run.

A causal tag, a state or an argument is never an attribute, because each value would create a series.
"""

from __future__ import annotations

from opentelemetry.context import Context

from deltaspan._reports import ActionReport
from deltaspan._telemetry._attributes import ActionNames
from deltaspan._telemetry._instruments import Instruments


def record_metrics(
    instruments: Instruments,
    names: ActionNames,
    report: ActionReport,
    error_type: str | None,
    context: Context,
    *,
    is_own_tool: bool,
    has_action_duration: bool,
) -> None:
    """Record a finished run in the context of its span, for exemplars.

    Args:
        instruments: the instruments to record with.
        names: the names and attribute sets of the action.
        report: the finished run.
        error_type: the error of the run, as on its span, or None.
        context: the context of the run's span.
        is_own_tool: whether the run is that of a tool, and its span is not a framework's. A framework
            records the duration of its own spans.
        has_action_duration: whether the duration of the action is recorded in any case.
    """
    add = instruments.checks.add
    claim = report.claim
    for check in report.checks:
        outcome, reason, _, _ = check.verdict
        add(1, names.check_series(check.metric, outcome, reason, check.origin, claim), context)
    seconds = report.action_seconds
    if is_own_tool:
        instruments.execute_tool_duration.record(seconds, names.tool_series(error_type), context)
    if has_action_duration:
        series = names.outcome_series(report.outcome, error_type)
        instruments.action_duration.record(seconds, series, context)
    instruments.verification_duration.record(report.verification_seconds, names.name_in_metrics, context)
