"""The report of one run of one action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deltaspan._reports._check import CheckReport
from deltaspan._verdicts import SEVERITY
from deltaspan.typing import Claim, Outcome

__all__ = ["ActionReport"]


class ActionReport:
    """What one run of one action came to: its checks, in the order declared; read-only.

    Args:
        action: the action's name.
        causal_tag: the tag of this run, canonical UUID text; None when it was skipped.
        checks: one CheckReport a check.
        parent_tag: the tag of the run that called this one, or None.
        root_tag: the tag of the outermost run.
        action_seconds: what the action alone took, in seconds.
        verification_seconds: what checking cost: probes, settling and evaluating, in seconds.
        attempt: which run of this action below its parent run it is, from 1.
        claim: what the action says of itself, `success` or `failure`; None when it says nothing.
    """

    __slots__ = (
        "_action",
        "_action_seconds",
        "_attempt",
        "_causal_tag",
        "_checks",
        "_claim",
        "_outcome",
        "_parent_tag",
        "_root_tag",
        "_verification_seconds",
    )

    def __init__(
        self,
        action: str,
        causal_tag: str | None,
        checks: tuple[CheckReport, ...],
        parent_tag: str | None = None,
        root_tag: str | None = None,
        action_seconds: float = 0.0,
        verification_seconds: float = 0.0,
        attempt: int = 1,
        claim: Claim | None = None,
    ) -> None:
        self._action = action
        self._causal_tag = causal_tag
        self._checks = checks
        self._parent_tag = parent_tag
        self._root_tag = root_tag
        self._action_seconds = action_seconds
        self._verification_seconds = verification_seconds
        self._attempt = attempt
        self._claim = claim
        outcome: Outcome = checks[0].outcome
        for check in checks[1:]:
            if SEVERITY[check.outcome] > SEVERITY[outcome]:
                outcome = check.outcome
        self._outcome = outcome

    @property
    def action(self) -> str:
        """The action's name."""
        return self._action

    @property
    def causal_tag(self) -> str | None:
        """The tag of this run, canonical UUID text; None when it was skipped."""
        return self._causal_tag

    @property
    def parent_tag(self) -> str | None:
        """The tag of the run that called this one, or None."""
        return self._parent_tag

    @property
    def root_tag(self) -> str | None:
        """The tag of the outermost run; None when it was skipped."""
        return self._root_tag

    @property
    def attempt(self) -> int:
        """Which run of this action below its parent run it is, from 1; a root is always 1."""
        return self._attempt

    @property
    def claim(self) -> Claim | None:
        """What the action says of itself: `success` or `failure`; None when it says nothing.

        It is what `claim=` made of the result. An action that raised claims failure.
        """
        return self._claim

    @property
    def checks(self) -> tuple[CheckReport, ...]:
        """One CheckReport a check, in the order declared."""
        return self._checks

    @property
    def action_seconds(self) -> float:
        """What the action alone took, in seconds."""
        return self._action_seconds

    @property
    def verification_seconds(self) -> float:
        """What checking cost: probes, settling and evaluating, in seconds."""
        return self._verification_seconds

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of its checks: fail > inconclusive > pass > observed > skipped."""
        return self._outcome

    @property
    def passed(self) -> bool:
        """True when the worst outcome is `pass`."""
        return self._outcome == "pass"

    @property
    def failed(self) -> tuple[CheckReport, ...]:
        """The checks that failed."""
        return tuple(check for check in self._checks if check.outcome == "fail")

    @property
    def explanation(self) -> str:
        """The explanations of the checks that decide the outcome, joined."""
        return "; ".join(check.explanation for check in self._checks if check.outcome == self._outcome)

    def feedback(self) -> str:
        """Return a compact text for the agent's next attempt.

        After an inconclusive check it says that the effect is unknown and that the action must not simply
        be repeated: repeating an action that did work acts twice.
        """
        lines = [f"{self._action}: {_HEADLINES[self._outcome]}"]
        shown = [check for check in self._checks if check.outcome in ("fail", "inconclusive")]
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
            "action": self._action,
            "outcome": self._outcome,
            "claim": self._claim,
            "causal_tag": self._causal_tag,
            "parent_tag": self._parent_tag,
            "root_tag": self._root_tag,
            "attempt": self._attempt,
            "action_seconds": self._action_seconds,
            "verification_seconds": self._verification_seconds,
            "checks": [check.to_dict() for check in self._checks],
        }

    def __getitem__(self, metric: str) -> CheckReport:
        for check in self._checks:
            if check.metric == metric:
                return check
        known = ", ".join(check.metric for check in self._checks)
        raise KeyError(f"no check on {metric!r}; {self._action} checks {known}")

    def __iter__(self) -> Iterator[CheckReport]:
        return iter(self._checks)

    def __len__(self) -> int:
        return len(self._checks)

    def __str__(self) -> str:
        return "\n\n".join(str(check) for check in self._checks)

    def __repr__(self) -> str:
        checks = "1 check" if len(self._checks) == 1 else f"{len(self._checks)} checks"
        unmet = [repr(check) for check in self._checks if check.outcome in ("fail", "inconclusive")]
        claim = "" if self._claim is None else f" (claims {self._claim})"
        return f"<ActionReport {self._action}: {self._outcome}{claim}, {', '.join([checks, *unmet])}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            ActionReport,
            (
                self._action,
                self._causal_tag,
                self._checks,
                self._parent_tag,
                self._root_tag,
                self._action_seconds,
                self._verification_seconds,
                self._attempt,
                self._claim,
            ),
        )


_HEADLINES: dict[Outcome, str] = {
    "pass": "the change was verified.",
    "observed": "no claim was made; the change was recorded.",
    "skipped": "not verified.",
    "fail": "the change does not match what was expected.",
    "inconclusive": "the change could not be verified.",
}
