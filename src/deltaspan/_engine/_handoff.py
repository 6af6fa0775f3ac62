"""Handing a window to another process, which verifies it under the same causal tag.

The process that captured ends its span, so that the trace has it for a parent. The process that verifies
makes the span with the verdict, a child of it. Between them travel the frozen baselines, the tag, the trace,
the values of `args`, the age of the baselines, and the windows that overlapped in the first process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

from deltaspan._engine._check_run import SAMPLED_OUT
from deltaspan._engine._handoff_format import (
    MICROSECONDS,
    Handoff,
    args_document,
    check_document,
    descendants_document,
    overlap_document,
    sign,
)
from deltaspan._engine._plan import CheckPlan, Plan
from deltaspan._engine._run import Run
from deltaspan._reports import ActionReport, CheckReport
from deltaspan._state.render import show, transition
from deltaspan._verdicts import UNREAD, Timing, inconclusive
from deltaspan.causal_tag import BAGGAGE
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.typing import Claim

__all__ = ["WindowRun", "check_resumable", "check_same_metrics", "validate_max_age"]


class WindowRun(Run):
    """The run of a window, which may begin and end in different processes.

    Args:
        plan: the window and its checks.
        values: the arguments that checks name.
        handoff: the window that another process handed over. None for a run that begins here.
        max_age: how old its baselines may be when they are compared, in seconds. None for any age.
    """

    __slots__ = ("_captured_at", "_handoff", "_max_age")

    def __init__(
        self,
        plan: Plan,
        values: Mapping[str, Any],
        handoff: Handoff | None = None,
        max_age: float | None = None,
    ) -> None:
        super().__init__(plan, values, None if handoff is None else handoff.resumed)
        self._handoff = handoff
        self._max_age = max_age
        self._captured_at = time.time()

    def headers(self) -> dict[str, str]:
        """Return the W3C headers that make the acts of others part of this run."""
        return self._telemetry.headers()

    def to_document(self, args: Mapping[str, Any], key: bytes | None) -> str:
        """Close the run without a verdict, and return the document for another process.

        Args:
            args: the values that checks may name.
            key: signs the document. None for a digest.

        Raises:
            DefinitionValueError: something cannot be handed over. The run stays open.
        """
        action, tag = self._plan.action, self.tag
        checks = [check_document(action, check.plan, check.pre) for check in self._checks]
        content = {
            "name": action,
            "args": args_document(action, args),
            "captured_us": round(self._captured_at * MICROSECONDS),
            "opening_us": round((self._action_started_at - self._opened_at) * MICROSECONDS),
            "attempt": self._telemetry.attempt,
            "tag": {"id": tag.id, "root_id": tag.root_id, "parent_id": tag.parent_id},
            "trace": {name: value for name, value in self.headers().items() if name != BAGGAGE},
        }
        # From here on nothing raises, so the window may close.
        for document, check in zip(checks, self._checks, strict=True):
            overlap = check.close()  # it also completes the descendants
            document.update(overlap_document(overlap), **descendants_document(check.descendants))
        self._telemetry.hand_over()
        return sign({**content, "checks": checks}, key)

    def reopen(self) -> None:
        """Open the run again, with the baselines that were handed over. Nothing stays current."""
        handoff = self._handoff
        assert handoff is not None  # noqa: S101  # only a window that was handed over is reopened
        self._captured_at = handoff.captured_at
        self._telemetry.enter_reading()
        try:
            for check in self._checks:
                baseline = handoff.checks[check.plan.check.metric]
                read = check.pre
                read.value, read.error, read.seconds = baseline.state, baseline.error, baseline.seconds
                check.overlap, check.descendants = baseline.overlap, baseline.descendants
                # The process that captured the baselines has decided which checks are sampled.
                was_read = baseline.state is not UNREAD or baseline.error is not None
                check.early_verdict = None if was_read else SAMPLED_OUT
            self._open()
            self._telemetry.begin_action()
            self._action_started_at = perf_counter() - self._age_seconds()
            self._opened_at = self._action_started_at - handoff.opening_seconds
        finally:
            self._telemetry.leave()

    def _age_seconds(self) -> float:
        """Return the age of the baselines, or 0 if the clock was set back."""
        return max(time.time() - self._captured_at, 0.0)

    def _report_on(
        self, checks: list[CheckReport], ended_at: float, claim: Claim | None = None
    ) -> ActionReport:
        if self._handoff is not None:
            age = max(self._age_seconds() - (perf_counter() - ended_at), 0.0)
            checks = [
                self._with_age(check.plan, report, age)
                for check, report in zip(self._checks, checks, strict=True)
            ]
        return super()._report_on(checks, ended_at, claim)

    def _with_age(self, plan: CheckPlan, report: CheckReport, age: float) -> CheckReport:
        if not report.has_pre_state:
            return report
        report = replace(report, timing=(report.timing or Timing())._replace(baseline_age_seconds=age))
        is_stale = self._max_age is not None and age > self._max_age
        if not is_stale or report.outcome == "skipped" or report.reason == "abandoned":
            return report
        note = f"the baseline was {age:.1f} s old, and max_age is {self._max_age:g} s"
        if plan.check.modifiers.redaction is None and not plan.hides_content and report.delta is not None:
            happened = report.delta.words() if report.delta.changed else "did not change"
            moved = transition(report.pre_state, report.post_state)
            note += f"; the state {happened} since{moved}, by whomever"
        return replace(report, verdict=inconclusive("stale_baseline", note))


def check_same_metrics(handoff: Handoff, metrics: Collection[str]) -> None:
    """Check that a window is given one check for each of its metrics.

    Args:
        handoff: the window that was handed over.
        metrics: the metrics of the checks that it is given.

    Raises:
        DefinitionValueError: a metric is missing on either side.
    """
    for metric in metrics:
        if metric not in handoff.metrics:
            raise DefinitionValueError(
                f"window {handoff.name!r} was handed over without a check on {metric!r}; it checks "
                f"{', '.join(sorted(handoff.metrics))}"
            )
    for metric in sorted(handoff.metrics):
        if metric not in metrics:
            raise DefinitionValueError(
                f"window {handoff.name!r} was handed over with a check on {metric!r}, which from_json() was "
                f"not given; give it a check for each metric"
            )


def validate_max_age(max_age: Any) -> float | None:
    """Validate `max_age`, and return it in seconds, or None.

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


def check_resumable(plan: Plan) -> None:
    """Check that the checks of a plan can be verified in another process.

    Raises:
        DefinitionTypeError: a probe is async.
        DefinitionValueError: a check holds a lock.
    """
    for check in plan.checks:
        metric = check.check.metric
        if check.probe.is_async:
            raise DefinitionTypeError(
                f"the probe of check {metric!r} is async, and window {plan.action!r} was handed over: "
                f"verify() cannot await; give it a probe that answers at once"
            )
        if check.lock is not None:
            raise DefinitionValueError(
                f"check {metric!r} holds a lock, and the baseline of window {plan.action!r} was "
                f"captured before it could be taken; leave exclusively() out"
            )
