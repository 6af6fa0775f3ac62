"""The report of one run of one action."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Final

from deltaspan._reports._check import CheckReport
from deltaspan._verdicts import SEVERITY
from deltaspan.typing import Claim, Outcome


class _Fields:
    """The fields of a report that is not frozen yet."""

    __slots__ = (
        "action",
        "action_seconds",
        "attempt",
        "causal_tag",
        "checks",
        "claim",
        "outcome",
        "parent_tag",
        "root_tag",
        "span_id",
        "trace_id",
        "verification_seconds",
    )


@dataclass(frozen=True, init=False, repr=False)
class ActionReport(_Fields):
    """The result of one run of one action, with one CheckReport a check.

    It is read-only and can be hashed, copied and pickled. Two reports are equal if all their fields are.

    Attributes:
        action: the name of the action.
        causal_tag: the tag of this run, canonical UUID text; None if it was skipped.
        checks: the reports of its checks, in the order declared.
        parent_tag: the tag of the run that called this one, or None.
        root_tag: the tag of the outermost run; None if this run was skipped.
        action_seconds: the time that the action alone took, in seconds.
        verification_seconds: the time that probes, polling and judging took, in seconds.
        attempt: the number of this run among the runs of this action below the same parent, from 1. A run
            without a parent has number 1.
        claim: `success` or `failure`, as `claim=` derived it from the result; None if there is no claim. An
            action that raised claims failure.
        trace_id: the trace of the span that carries the verdict, 32 hexadecimal digits; None without a span.
        span_id: that span, 16 hexadecimal digits; None without a span.
        outcome: the worst outcome of its checks: fail > inconclusive > pass > observed > skipped.
    """

    __slots__ = ()

    action: str
    causal_tag: str | None
    checks: tuple[CheckReport, ...]
    parent_tag: str | None
    root_tag: str | None
    action_seconds: float
    verification_seconds: float
    attempt: int
    claim: Claim | None
    trace_id: str | None
    span_id: str | None
    outcome: Outcome

    def __new__(
        cls,
        action: str,
        causal_tag: str | None,
        checks: tuple[CheckReport, ...],
        parent_tag: str | None = None,
        root_tag: str | None = None,
        action_seconds: float = 0.0,
        verification_seconds: float = 0.0,
        attempt: int = 1,
        claim: Claim | None = None,
        trace_id: str | None = None,
        span_id: str | None = None,
    ) -> ActionReport:
        # A frozen class sets each field slowly, and every run makes one. So the fields are set first.
        report: Any = _Fields()
        report.action = action
        report.causal_tag = causal_tag
        report.checks = checks
        report.parent_tag = parent_tag
        report.root_tag = root_tag
        report.action_seconds = action_seconds
        report.verification_seconds = verification_seconds
        report.attempt = attempt
        report.claim = claim
        report.trace_id = trace_id
        report.span_id = span_id
        outcome: Outcome = checks[0].outcome
        for check in checks[1:]:
            if SEVERITY[check.outcome] > SEVERITY[outcome]:
                outcome = check.outcome
        report.outcome = outcome
        report.__class__ = cls
        return report  # type: ignore[no-any-return]  # of this class by now

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
        return "; ".join(check.explanation for check in self.checks if check.outcome == self.outcome)

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
            "claim": self.claim,
            "causal_tag": self.causal_tag,
            "parent_tag": self.parent_tag,
            "root_tag": self.root_tag,
            "attempt": self.attempt,
            "action_seconds": self.action_seconds,
            "verification_seconds": self.verification_seconds,
            "trace_id": self.trace_id,
            "span_id": self.span_id,
            "checks": [check.to_dict() for check in self.checks],
        }

    def __getitem__(self, metric: str) -> CheckReport:
        for check in self.checks:
            if check.metric == metric:
                return check
        known = ", ".join(check.metric for check in self.checks)
        raise KeyError(f"no check on {metric!r}; {self.action} checks {known}")

    def __iter__(self) -> Iterator[CheckReport]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    def __str__(self) -> str:
        return "\n\n".join(str(check) for check in self.checks)

    def __repr__(self) -> str:
        checks = "1 check" if len(self.checks) == 1 else f"{len(self.checks)} checks"
        unmet = [repr(check) for check in self.checks if check.outcome in ("fail", "inconclusive")]
        claim = "" if self.claim is None else f" (claims {self.claim})"
        return f"<ActionReport {self.action}: {self.outcome}{claim}, {', '.join([checks, *unmet])}>"

    def __copy__(self) -> ActionReport:
        return self

    def __deepcopy__(self, memo: object) -> ActionReport:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return ActionReport, tuple(
            getattr(self, field.name) for field in fields(self) if field.name != "outcome"
        )


_HEADLINES: Final[dict[Outcome, str]] = {
    "pass": "the change was verified.",
    "observed": "no claim was made; the change was recorded.",
    "skipped": "not verified.",
    "fail": "the change does not match what was expected.",
    "inconclusive": "the change could not be verified.",
}
