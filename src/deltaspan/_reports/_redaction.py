"""Redaction: a report without the states that it was reached on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from deltaspan._attribution_kinds import ATTRIBUTION_KINDS
from deltaspan._interrupts import let_through
from deltaspan._reports._check import CheckReport
from deltaspan._reports._serialized import SerializedCheck
from deltaspan._state.snapshot import freeze
from deltaspan._verdicts import REASONS, UNREAD, Verdict
from deltaspan.typing import Outcome

REDACTED: Final = "(redacted)"
HELD: Final = "it was so already before the action"
"""The clause for a pass without a change, which shows no state."""

_IF_CHANGE_CLAIMED: Final[dict[tuple[Outcome, bool], str]] = {
    ("pass", True): "changed as expected",
    ("pass", False): "did not change, as expected",
    ("fail", True): "changed, but not as expected",
    ("fail", False): "did not change as expected",
}
"""The words for a claim of a change, by outcome and by whether the state changed."""

_IF_NO_CHANGE_CLAIMED: Final[dict[Outcome, str]] = {
    "pass": "stayed unchanged, as expected",
    "fail": "did not stay unchanged",
}
"""The words for a claim of no change, by outcome."""

_UNTAGGED_CHANGES: Final = "it rests on changes that do not carry the tag of this action"
"""The reason for which a check on tagged rows is contended."""


def redact_report(report: CheckReport, by: Callable[[Any], Any], *, claims_change: bool) -> CheckReport:
    """Return the report without states, deltas and operands.

    Sentences and messages of exceptions quote states, so all of them are replaced.

    Args:
        report: the report on the true states.
        by: returns what may be shown of a frozen state.
        claims_change: whether the check claims that its state changes.
    """
    verdict = report.verdict
    changed = report.delta is not None and report.delta.changed
    is_of_rows = report.delta is not None and report.delta.others_and_untagged is not None
    if verdict.outcome == "skipped":
        sentence = verdict.note
    else:
        outcome = _describe_outcome(report, claims_change=claims_change, changed=changed)
        if verdict.outcome == "pass" and not changed and not is_of_rows:
            outcome = f"{outcome}; {HELD}"
        sentence = f"{outcome}; its states are redacted"
    parts = (REDACTED, REDACTED) if is_of_rows else None
    serialized = SerializedCheck(
        REDACTED, REDACTED, f"{report.metric} {sentence}", changed, parts, report.origin
    )
    return replace(
        report,
        verdict=Verdict(verdict.outcome, verdict.reason, None if verdict.note is None else sentence),
        pre_state=redact_state(report.pre_state, by) if report.has_pre_state else None,
        post_state=redact_state(report.post_state, by) if report.has_post_state else None,
        delta=None if report.delta is None else serialized,
        expectation=serialized,
    )


def redact_state(state: Any, by: Callable[[Any], Any]) -> Any:
    """Return what may be shown of a frozen state. UNREAD stays UNREAD."""
    if state is UNREAD:
        return state
    try:
        return freeze(by(state))
    except BaseException as error:
        let_through(error)
        return REDACTED


def _describe_outcome(report: CheckReport, *, claims_change: bool, changed: bool) -> str:
    verdict = report.verdict
    if verdict.reason is None:
        if verdict.outcome == "observed":
            return "was observed; no claim was made"
        return (
            _IF_CHANGE_CLAIMED[verdict.outcome, changed]
            if claims_change
            else _IF_NO_CHANGE_CLAIMED[verdict.outcome]
        )
    return f"has no verdict, because {describe_reason(report)}"


def describe_reason(report: CheckReport) -> str:
    """Return the reason for a missing verdict in words that quote no state."""
    verdict = report.verdict
    assert verdict.reason is not None  # noqa: S101  # it has no verdict
    # The name of the class of an exception quotes no state. Its message may.
    kind = "" if verdict.raised is None else f" ({verdict.raised.name})"
    # A kind that tolerates rivals is contended only by rows without a tag.
    is_untagged = verdict.reason == "contended" and ATTRIBUTION_KINDS[report.attribution].tolerates_rivals
    why = _UNTAGGED_CHANGES if is_untagged else REASONS[verdict.reason].sentence
    return f"{why}{kind}"
