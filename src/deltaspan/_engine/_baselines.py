"""Baselines that were captured earlier, perhaps in another process, and their age."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

from deltaspan._attribution import ALONE, Overlap
from deltaspan._engine._plan import CheckPlan
from deltaspan._reports import CheckReport
from deltaspan._state.render import transition
from deltaspan._verdicts import Timing, inconclusive


class Baseline(NamedTuple):
    """The baseline of one check, and the other runs known until then.

    Attributes:
        state: the frozen state, or UNREAD.
        error: why there is no state. None also if the run was sampled out.
        seconds: what the read cost.
        overlap: the windows that overlapped until the baseline was handed over.
        descendants: the tags of the runs below this one until then, for a check on tagged rows.
    """

    state: Any
    error: BaseException | None = None
    seconds: float = 0.0
    overlap: Overlap = ALONE
    descendants: tuple[str, ...] = ()


class BaselineAge(NamedTuple):
    """The age of baselines that another process captured, and its limit.

    Attributes:
        captured_at: when the first of them was read, in seconds since the epoch.
        max_seconds: how old they may be when they are compared. None for any age.
    """

    captured_at: float
    max_seconds: float | None

    def seconds(self) -> float:
        """Return the age now, or 0 if the clock was set back."""
        return max(time.time() - self.captured_at, 0.0)

    def apply(
        self, plans: Sequence[CheckPlan], reports: Sequence[CheckReport], ended_at: float
    ) -> list[CheckReport]:
        """Return reports that tell the age. If it is too high, they are inconclusive.

        Args:
            plans: the checks.
            reports: their reports, in the same order.
            ended_at: when the action ended, by `time.perf_counter`.
        """
        age = max(self.seconds() - (perf_counter() - ended_at), 0.0)
        return [
            self._apply_to(plan, report, age) if report.has_pre_state else report
            for plan, report in zip(plans, reports, strict=True)
        ]

    def _apply_to(self, plan: CheckPlan, report: CheckReport, age: float) -> CheckReport:
        report = replace(report, timing=(report.timing or Timing())._replace(baseline_age_seconds=age))
        is_stale = self.max_seconds is not None and age > self.max_seconds
        if not is_stale or report.outcome == "skipped" or report.reason == "abandoned":
            return report
        note = f"the baseline was {age:.1f} s old, and max_age is {self.max_seconds:g} s"
        if plan.modifiers.redaction is None and not plan.hides_content and report.delta is not None:
            happened = report.delta.words() if report.delta.changed else "did not change"
            moved = transition(report.pre_state, report.post_state)
            note += f"; the state {happened} since{moved}, by whomever"
        return replace(report, verdict=inconclusive("stale_baseline", note))
