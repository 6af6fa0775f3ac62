"""Reports: what one run of one action came to, frozen, for people, programs and telemetry.

Sentences are made when they are asked for: most runs pass and nobody reads theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from deltaspan._deltas import Delta
from deltaspan._records import SEVERITY, UNREAD, Verdict
from deltaspan._render import plain, show
from deltaspan.expectations.base import Expectation
from deltaspan.typing import Attribution, Outcome, Reason

__all__ = ["ActionReport", "CheckReport"]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What one check came to.

    Attributes:
        metric: the name of what was measured.
        verdict: outcome, reason and their explanation.
        attribution: why the delta may be credited to the action.
        causal_tag: the tag of the run, canonical UUID text; None when it was skipped.
        baseline: the frozen state before the action; UNREAD when it was never read.
        outturn: the frozen state after the action; UNREAD when it was never read.
        delta: the computed difference; None when a state is missing.
        expectation: what the delta had to satisfy, computed operands filled in.
        probe_seconds: what the reads of the probe cost together, in seconds.
    """

    metric: str
    verdict: Verdict
    attribution: Attribution
    causal_tag: str | None
    baseline: Any
    outturn: Any
    delta: Delta | None
    expectation: Expectation = field(repr=False)
    probe_seconds: float = 0.0

    @property
    def check(self) -> str:
        """The check's name: `{metric}_delta`."""
        return f"{self.metric}_delta"

    @property
    def outcome(self) -> Outcome:
        """`pass`, `fail`, `inconclusive`, `observed` or `skipped`."""
        return self.verdict.outcome

    @property
    def reason(self) -> Reason | None:
        """Why the check is inconclusive, or None."""
        return self.verdict.reason

    @property
    def passed(self) -> bool:
        """True for `pass` alone: an honest verdict is never a pass by default."""
        return self.verdict.outcome == "pass"

    @property
    def pre_state(self) -> Any:
        """The baseline, read-only; None when it was never read."""
        return None if self.baseline is UNREAD else self.baseline

    @property
    def post_state(self) -> Any:
        """The state after the action, read-only; None when it was never read."""
        return None if self.outturn is UNREAD else self.outturn

    @property
    def expected_delta(self) -> Any:
        """The value that `by` demands, else the demand in words."""
        return self.expectation.expected

    @property
    def actual_delta(self) -> Any:
        """The computed difference; None when a state is missing."""
        return None if self.delta is None else self.delta.value

    @property
    def explanation(self) -> str:
        """One sentence: what was expected, what happened, both states."""
        verdict = self.verdict
        if verdict.note is not None or self.delta is None:
            return f"{self.metric}: {verdict.note or verdict.outcome}"
        return self.expectation.explain(
            self.metric, self.delta, self.pre_state, self.post_state, holds=verdict.outcome == "pass"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, beginning with the keys of the pattern's own report."""
        return {
            "check": self.check,
            "metric": self.metric,
            "passed": self.passed,
            "expected_delta": plain(self.expected_delta),
            "actual_delta": plain(self.actual_delta),
            "pre_state": plain(self.pre_state),
            "post_state": plain(self.post_state),
            "outcome": self.outcome,
            "reason": self.reason,
            "attribution": self.attribution,
            "causal_tag": self.causal_tag,
            "explanation": self.explanation,
        }

    def __str__(self) -> str:
        lines = [
            f"check: {self.check}",
            f"metric: {self.metric}",
            f"passed: {'true' if self.passed else 'false'}",
            f"pre_state: {show(self.baseline)}",
            f"post_state: {show(self.outturn)}",
            f"expected_delta: {_bare(self.expected_delta)}",
            f"actual_delta: {show(UNREAD) if self.delta is None else _bare(self.actual_delta)}",
            f"outcome: {self.outcome}{f' ({self.reason})' if self.reason else ''}",
            f"attribution: {self.attribution}",
            f"explanation: {self.explanation}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ActionReport:
    """What one run of one action came to: its checks, in the order declared.

    Attributes:
        action: the action's name.
        causal_tag: the tag of this run, canonical UUID text; None when it was skipped.
        checks: one CheckReport a check.
        parent_tag: the tag of the run that called this one, or None.
        root_tag: the tag of the outermost run.
        action_seconds: what the action alone took, in seconds.
        verification_seconds: what checking cost: probes, settling and evaluating, in seconds.
    """

    action: str
    causal_tag: str | None
    checks: tuple[CheckReport, ...]
    parent_tag: str | None = None
    root_tag: str | None = None
    action_seconds: float = 0.0
    verification_seconds: float = 0.0

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of its checks: fail > inconclusive > pass > observed > skipped."""
        if len(self.checks) == 1:
            return self.checks[0].verdict.outcome
        return max((check.outcome for check in self.checks), key=SEVERITY.__getitem__, default="skipped")

    @property
    def passed(self) -> bool:
        """True when the worst outcome is `pass`."""
        return self.outcome == "pass"

    @property
    def failed(self) -> tuple[CheckReport, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.outcome == "fail")

    @property
    def explanation(self) -> str:
        """The explanations of the checks that decide the outcome, joined."""
        worst = self.outcome
        return "; ".join(check.explanation for check in self.checks if check.outcome == worst)

    def feedback(self) -> str:
        """Return a compact text for the agent's next attempt.

        After an inconclusive check it says that the effect is unknown and that the action must not simply
        be repeated: repeating an action that did work acts twice.
        """
        lines = [f"{self.action}: {_HEADLINES[self.outcome]}"]
        shown = [check for check in self.checks if check.outcome in ("fail", "inconclusive")]
        lines += [f"- {check.outcome}: {check.explanation}" for check in shown]
        if any(check.outcome == "inconclusive" for check in shown):
            lines.append(
                "The effect of this action is unknown. Do not simply repeat it: read the state first, "
                "then decide what is left to do."
            )
        elif shown:
            lines.append(
                "Do not report success. Correct what differs; repeat only what is shown to be missing."
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values: the run, then its checks."""
        return {
            "action": self.action,
            "outcome": self.outcome,
            "causal_tag": self.causal_tag,
            "parent_tag": self.parent_tag,
            "root_tag": self.root_tag,
            "action_seconds": self.action_seconds,
            "verification_seconds": self.verification_seconds,
            "checks": [check.to_dict() for check in self.checks],
        }

    def __getitem__(self, metric: str) -> CheckReport:
        for check in self.checks:
            if check.metric == metric:
                return check
        raise KeyError(
            f"no check on {metric!r}; {self.action} checks {', '.join(c.metric for c in self.checks)}"
        )

    def __iter__(self) -> Iterator[CheckReport]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    def __str__(self) -> str:
        return "\n\n".join(str(check) for check in self.checks)


_HEADLINES: dict[Outcome, str] = {
    "pass": "the change was verified.",
    "observed": "no claim was made; the change was recorded.",
    "skipped": "not verified.",
    "fail": "the change does not match what was expected.",
    "inconclusive": "the change could not be verified.",
}


def _bare(value: object) -> str:
    # A demand in words stands in the signal as words, not as quoted text.
    return value if isinstance(value, str) else show(value)
