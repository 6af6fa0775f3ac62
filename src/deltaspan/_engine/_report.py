"""The report of one check that was judged, abandoned or not verified."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from deltaspan._attribution import ALONE, warn_of_unverified_writers
from deltaspan._attribution_kinds import ATTRIBUTION_KINDS
from deltaspan._engine._call import Ending
from deltaspan._engine._check_run import CheckRun
from deltaspan._engine._judge import judge, report_unjudged
from deltaspan._engine._plan import CheckPlan, Plan
from deltaspan._reports import ActionReport, CheckReport, hide_content, redact_report
from deltaspan._verdicts import UNREAD, Timing, Verdict, inconclusive

SKIPPED: Final = Verdict("skipped", note="not verified, because `enabled` is false (DELTASPAN_ENABLED)")

_UNDECIDED: Final = inconclusive(
    "abandoned", "its event loop ended before it was known whether the state comes, or stays, as expected"
)


def report_check(check: CheckRun, ending: Ending) -> CheckReport:
    """Judge a check at the end of its run, beside the windows that overlapped.

    Args:
        check: the check, whose reads are done.
        ending: the end of the action.
    """
    plan = check.plan
    overlap = check.close()
    if check.overlap_when_retired is not None and check.attempts == 1:
        overlap = check.overlap_when_retired  # a window that opened after the only read has no part in it
    # A lock that every writer takes leaves no rivals. If there is one, a writer did not take the lock.
    if overlap.run_count and plan.ignores_rivals:
        overlap = ALONE
    if check.is_polled and check.settle_seconds is None:
        return _complete(check, report_unjudged(check, _UNDECIDED))
    report = _complete(check, judge(check, ending, overlap))
    kind = ATTRIBUTION_KINDS[plan.attribution]
    if plan.claims_change and kind.includes_unverified_writers and report.verdict.outcome == "pass":
        warn_of_unverified_writers(plan.metric, plan.attribution)
    return report


def report_abandoned(check: CheckRun, reason: str) -> CheckReport:
    """Report a check whose window ended before its verdict.

    Args:
        check: the check.
        reason: the sentence that explains it.
    """
    check.close()
    return _complete(check, report_unjudged(check, inconclusive("abandoned", reason)))


def report_unverified(plan: Plan, verdict: Verdict) -> ActionReport:
    """Report an action or a window whose states were not read.

    Args:
        plan: the action or window.
        verdict: the verdict on each of its checks.
    """
    return ActionReport(plan.action, None, tuple(_report_unread(check, verdict) for check in plan.checks))


def _report_unread(plan: CheckPlan, verdict: Verdict) -> CheckReport:
    check = plan.check
    report = CheckReport(
        check.metric, verdict, plan.attribution, None, UNREAD, UNREAD, None, check.expectation
    )
    redaction = check.modifiers.redaction
    return report if redaction is None else redact_report(report, redaction, claims_change=plan.claims_change)


def _complete(check: CheckRun, report: CheckReport) -> CheckReport:
    """Add the timing of a check to its report, and remove hidden states."""
    if check.settle_seconds is not None or check.lock_seconds is not None:
        timing = Timing(check.attempts, check.settle_seconds, check.lock_seconds)
        seconds = report.probe_seconds + check.earlier_probe_seconds
        report = replace(report, probe_seconds=seconds, timing=timing)
    plan = check.plan
    redaction = plan.modifiers.redaction
    if redaction is not None:
        return redact_report(report, redaction, claims_change=plan.claims_change)
    if not (plan.reads_content and plan.hides_content):  # reading a field costs less than calling a property
        return report
    return hide_content(report, claims_change=plan.claims_change, has_computed_operands=bool(plan.computed))
