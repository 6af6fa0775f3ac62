"""Handing a window over: closed here without a verdict, opened again there, under the same causal tag.

The half that captured ends its span, so that the trace has it for a parent; the half that verifies makes the
span with the verdict, a child of it. Between them travel the frozen baselines, the tag, the trace, the values
of `args` and what could spoil a verdict: how old the baseline is, and who else wrote while it was open there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

from deltaspan._engine._handoff_format import (
    MICRO,
    Handed,
    seal,
    written_args,
    written_check,
    written_descendants,
    written_overlap,
)
from deltaspan._engine._plan import CheckPlan, Plan
from deltaspan._engine._run import Run
from deltaspan._reports import ActionReport, CheckReport
from deltaspan._state.render import show, transition
from deltaspan._verdicts import UNREAD, Timing, inconclusive
from deltaspan.causal_tag import BAGGAGE
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.typing import Claim

__all__ = ["WindowRun", "checked_age", "refuse_unfit", "refuse_unlike"]


class WindowRun(Run):
    """The run of a window, which another process may have begun, and another may end.

    Args:
        plan: the window and its checks.
        values: the arguments that checks name.
        handed: what another process handed over; None for a run that begins here.
        max_age: how old its baselines may be when they are compared, in seconds; None for any age.
    """

    __slots__ = ("_captured", "_handed", "_max_age", "_opening")

    def __init__(
        self,
        plan: Plan,
        values: Mapping[str, Any],
        handed: Handed | None = None,
        max_age: float | None = None,
    ) -> None:
        super().__init__(plan, values, None if handed is None else handed.resumed)
        self._handed = handed
        self._max_age = max_age
        self._captured = time.time()

    def headers(self) -> dict[str, str]:
        """Return what makes the acts of others part of this run: W3C headers in lower case."""
        return self._telemetry.headers()

    def hand_over(self, args: Mapping[str, Any], key: bytes | None) -> str:
        """Close the run here, without a verdict, and return what another process needs to reach it.

        Args:
            args: the values that checks may name.
            key: signs it; None for a digest.

        Raises:
            DefinitionValueError: something cannot be handed over; the run goes on here.
        """
        action, tag = self._plan.action, self.tag
        checks = [written_check(action, check.plan, check.pre) for check in self._checks]
        content = {
            "name": action,
            "args": written_args(action, args),
            "captured_us": round(self._captured * MICRO),
            "opening_us": round((self._began - self._entered) * MICRO),
            "attempt": self._telemetry.attempt,
            "tag": {"id": tag.id, "root_id": tag.root_id, "parent_id": tag.parent_id},
            "trace": {name: value for name, value in self.headers().items() if name != BAGGAGE},
        }
        # Nothing can be refused from here on, so the window may close.
        for written, check in zip(checks, self._checks, strict=True):
            written.update(written_overlap(check.leave()), **written_descendants(check.descendants))
        self._telemetry.hand_over()
        return seal({**content, "checks": checks}, key)

    def take_up(self) -> None:
        """Open the run again, with the baselines that were handed over; nothing stays current."""
        handed = self._handed
        assert handed is not None  # noqa: S101  # whoever resumes has given what is resumed
        self._captured = handed.captured
        self._telemetry.enter()
        try:
            for check in self._checks:
                found = handed.checks[check.plan.metric]
                check.pre.value, check.pre.error, check.pre.seconds = found.state, found.error, found.seconds
                check.overlap, check.descendants = found.overlap, found.descendants
                check.is_read = check.is_read and not (found.state is UNREAD and found.error is None)
            self._begin()
            self._began = perf_counter() - self._age()
            self._entered = self._began - handed.opening
        finally:
            self._telemetry.leave()

    def _age(self) -> float:
        """Return how old the baselines are now, in seconds; by a clock that was set back they are new."""
        return max(time.time() - self._captured, 0.0)

    def _report_on(self, checks: list[CheckReport], ended: float, claim: Claim | None = None) -> ActionReport:
        if self._handed is not None:
            age = max(self._age() - (perf_counter() - ended), 0.0)
            checks = [
                self._aged(run.plan, report, age) for run, report in zip(self._checks, checks, strict=True)
            ]
        return super()._report_on(checks, ended, claim)

    def _aged(self, plan: CheckPlan, report: CheckReport, age: float) -> CheckReport:
        if not report.has_pre_state:
            return report
        report = replace(report, timing=(report.timing or Timing())._replace(baseline_age_seconds=age))
        is_stale = self._max_age is not None and age > self._max_age
        if not is_stale or report.outcome == "skipped" or report.reason == "abandoned":
            return report
        note = f"the baseline was {age:.1f} s old, and max_age is {self._max_age:g} s"
        if plan.redaction is None and not plan.hides_content and report.delta is not None:
            happened = report.delta.words() if report.delta.changed else "did not change"
            note += (
                f"; the state {happened} since{transition(report.pre_state, report.post_state)}, by whomever"
            )
        return replace(report, verdict=inconclusive("stale_baseline", note))


def refuse_unlike(handed: Handed, metrics: Collection[str]) -> None:
    """Refuse checks that are not those of the window.

    Raises:
        DefinitionValueError: a metric is missing on either side.
    """
    for metric in metrics:
        if metric not in handed.metrics:
            raise DefinitionValueError(
                f"window {handed.name!r} was handed over without a check on {metric!r}; it checks "
                f"{', '.join(sorted(handed.metrics))}"
            )
    for metric in sorted(handed.metrics):
        if metric not in metrics:
            raise DefinitionValueError(
                f"window {handed.name!r} was handed over with a check on {metric!r}, which from_json() was "
                f"not given; give it a check for each metric"
            )


def checked_age(max_age: Any) -> float | None:
    """Return `max_age` in seconds, or None.

    Raises:
        DefinitionTypeError: it is not a number.
        DefinitionValueError: it is negative or not a number of seconds at all.
    """
    if max_age is None:
        return None
    if isinstance(max_age, bool) or not isinstance(max_age, int | float):
        raise DefinitionTypeError(f"max_age takes seconds, not {show(max_age)}")
    if math.isnan(max_age) or max_age < 0:
        raise DefinitionValueError(f"max_age={max_age!r} is not a number of seconds from 0")
    return float(max_age)


def refuse_unfit(plan: Plan) -> None:
    """Refuse checks that a window which was handed over cannot have.

    Raises:
        DefinitionTypeError: a probe is async.
        DefinitionValueError: a check holds a lock.
    """
    for check in plan.checks:
        if check.probe.is_async:
            raise DefinitionTypeError(
                f"the probe of check {check.metric!r} is async, and window {plan.action!r} was handed over: "
                f"verify() cannot await; give it a probe that answers at once"
            )
        if check.lock is not None:
            raise DefinitionValueError(
                f"check {check.metric!r} holds a lock, and the baseline of window {plan.action!r} was "
                f"captured before it could be taken; leave exclusively() out"
            )
