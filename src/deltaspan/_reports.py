"""Reports: what one run of one action came to, read-only, for people, programs and telemetry.

Sentences are made when they are asked for: most runs pass and nobody reads theirs. For the same reason
reports are cheap to build: a frozen dataclass would cost more than judging the delta.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from deltaspan._deltas import Delta
from deltaspan._freeze import freeze
from deltaspan._records import SEVERITY, UNREAD, Timing, Verdict
from deltaspan._render import plain, show
from deltaspan._written import Written, thawed
from deltaspan.expectations.base import Explained
from deltaspan.typing import Attribution, Outcome, Reason

__all__ = ["ActionReport", "CheckReport"]


class _CheckFields(NamedTuple):
    metric: str
    verdict: Verdict
    attribution: Attribution
    causal_tag: str | None
    pre: Any
    post: Any
    delta: Delta | None
    expectation: Explained
    probe_seconds: float = 0.0
    timing: Timing | None = None


class CheckReport(_CheckFields):
    """What one check came to; read-only.

    Attributes:
        metric: the name of what was measured.
        verdict: outcome, reason and note as the judge gave them; see `outcome`, `reason`, `explanation`.
        attribution: why the delta may be credited to the action: `causal_tag`, `exclusive`, `scoped` or
            `window`.
        causal_tag: the tag of the run, canonical UUID text; None when it was skipped.
        pre: the frozen baseline, or UNREAD; see `pre_state`.
        post: the frozen state after the action, or UNREAD; see `post_state`.
        delta: the computed difference; None when a state is missing. Of a collection it has `added`,
            `removed` and, for mappings, `modified`.
        expectation: what the delta had to satisfy, computed operands filled in.
        probe_seconds: what the reads of the probe cost together, in seconds.
        timing: what it took beyond two reads; None when it took no more.
    """

    __slots__ = ()

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
    def error(self) -> BaseException | None:
        """The exception that left the check without a verdict, or None."""
        error: BaseException | None = self.verdict.error
        return error

    @property
    def passed(self) -> bool:
        """True for `pass` alone: an honest verdict is never a pass by default."""
        return self.verdict.outcome == "pass"

    @property
    def has_pre_state(self) -> bool:
        """Whether the baseline was read; a state may itself be None."""
        return self.pre is not UNREAD

    @property
    def has_post_state(self) -> bool:
        """Whether the state after the action was read."""
        return self.post is not UNREAD

    @property
    def has_delta(self) -> bool:
        """Whether both states were read and compared."""
        return self.delta is not None

    @property
    def pre_state(self) -> Any:
        """The baseline, frozen; None when it was never read."""
        return None if self.pre is UNREAD else self.pre

    @property
    def post_state(self) -> Any:
        """The state after the action, frozen; None when it was never read."""
        return None if self.post is UNREAD else self.post

    @property
    def expected_delta(self) -> Any:
        """The value that `by` demands, else the demand in words."""
        return self.expectation.expected

    @property
    def actual_delta(self) -> Any:
        """The computed difference; None when a state is missing."""
        return None if self.delta is None else self.delta.value

    @property
    def baseline_age_ms(self) -> float | None:
        """How old a baseline was that another process captured, in milliseconds; else None."""
        seconds = None if self.timing is None else self.timing.baseline_age_seconds
        return None if seconds is None else seconds * 1000

    @property
    def explanation(self) -> str:
        """One sentence: what was expected, what happened, both states."""
        verdict = self.verdict
        if verdict.note is not None or self.delta is None:
            return f"{self.metric}: {verdict.note or verdict.outcome}"
        return self.expectation.explain(
            self.metric, self.delta, self.pre, self.post, holds=verdict.outcome == "pass"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, beginning with the keys of the pattern's own report."""
        age = {} if self.baseline_age_ms is None else {"baseline_age_ms": self.baseline_age_ms}
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
            **age,
        }

    def __str__(self) -> str:
        lines = [
            f"check: {self.check}",
            f"metric: {self.metric}",
            f"passed: {'true' if self.passed else 'false'}",
            f"pre_state: {show(self.pre)}",
            f"post_state: {show(self.post)}",
            f"expected_delta: {_bare(self.expected_delta)}",
            f"actual_delta: {show(UNREAD) if self.delta is None else _bare(self.actual_delta)}",
            f"outcome: {self.outcome}{f' ({self.reason})' if self.reason else ''}",
            f"attribution: {self.attribution}",
            f"explanation: {self.explanation}",
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<CheckReport {self.check}: {self.outcome}>"

    def __reduce__(self) -> tuple[Any, ...]:
        verdict = Verdict(self.outcome, self.reason, self.verdict.note)
        changed = self.delta is not None and self.delta.changed
        written = Written(thawed(self.expected_delta), thawed(self.actual_delta), self.explanation, changed)
        identity = (self.metric, verdict, self.attribution, self.causal_tag)
        states = (thawed(self.pre), thawed(self.post))
        delta = None if self.delta is None else written
        return _restored, (*identity, *states, delta, written, self.probe_seconds, self.timing)


def _restored(
    metric: str, verdict: Verdict, attribution: Attribution, tag: str | None, pre: Any, post: Any, *rest: Any
) -> CheckReport:
    pre_state, post_state = (state if state is UNREAD else freeze(state) for state in (pre, post))
    return CheckReport(metric, verdict, attribution, tag, pre_state, post_state, *rest)


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
    """

    __slots__ = (
        "_action",
        "_action_seconds",
        "_attempt",
        "_causal_tag",
        "_checks",
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
    ) -> None:
        self._action = action
        self._causal_tag = causal_tag
        self._checks = checks
        self._parent_tag = parent_tag
        self._root_tag = root_tag
        self._action_seconds = action_seconds
        self._verification_seconds = verification_seconds
        self._attempt = attempt
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
        return f"<ActionReport {self._action}: {self._outcome}, {len(self._checks)} checks>"

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
            ),
        )


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
