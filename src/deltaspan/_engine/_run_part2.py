"""What a verdict does beyond being recorded: nothing, a warning in the log, or an exception."""

from __future__ import annotations

import logging
from typing import Any

from deltaspan._guard import say
from deltaspan._engine._plan import Plan
from deltaspan._verdicts import UNREAD
from deltaspan._reports import ActionReport
from deltaspan.exceptions import DeltaCheckFailed, DeltaInconclusive

__all__ = ["apply_policy"]


def apply_policy(
    plan: Plan, report: ActionReport, result: Any, error: BaseException | None, *, unheard: bool
) -> None:
    """Do what the policy for the outcome asks; the action's own exception always wins.

    Args:
        plan: the action.
        report: the report of its run.
        result: what the action returned, or UNREAD.
        error: what the action raised, or None.
        unheard: whether an exception would reach nobody; what should be raised is then logged.

    Raises:
        DeltaCheckFailed: a check failed, the policy is `raise`, and the action itself did not raise.
        DeltaInconclusive: likewise for a check without a verdict.
    """
    if report.outcome not in ("fail", "inconclusive"):
        return
    policy = plan.policy(report.outcome)
    if policy == "warn" or (policy == "raise" and unheard and error is None):
        say(logging.WARNING, "%s: %s: %s", report.action, report.outcome, report.explanation)
    elif policy == "raise" and error is None:
        raised = DeltaCheckFailed if report.outcome == "fail" else DeltaInconclusive
        raise raised(report, None if result is UNREAD else result)
