"""Reports of what was not verified: nothing was read, and each check says why."""

from __future__ import annotations

from typing import Final

from deltaspan._engine._plan import CheckPlan, Plan
from deltaspan._reports import ActionReport, CheckReport, redact_report
from deltaspan._verdicts import UNREAD, Verdict

__all__ = ["SKIPPED", "unverified"]

SKIPPED: Final = Verdict("skipped", note="not verified, because `enabled` is false (DELTASPAN_ENABLED)")


def unverified(plan: Plan, verdict: Verdict) -> ActionReport:
    """Return the report of an action or a window whose checks all have the same verdict, and no states."""
    return ActionReport(plan.action, None, tuple(_unread(check, verdict) for check in plan.checks))


def _unread(plan: CheckPlan, verdict: Verdict) -> CheckReport:
    report = CheckReport(plan.metric, verdict, plan.attribution, None, UNREAD, UNREAD, None, plan.expectation)
    if plan.redaction is None:
        return report
    return redact_report(report, plan.redaction, claims_change=plan.claims_change)
