"""One run of one action: open the window, close the window, hand out the report.

A sync and an async action take the same steps; they differ only in how probes are read between them.
State that belongs to a run lives in its Run, so that one decorated function may run many times at once.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from time import perf_counter
from types import TracebackType
from typing import Any, Final

from deltaspan import _contention
from deltaspan._collecting import hand_out
from deltaspan._guard import guarded
from deltaspan._judging import judge
from deltaspan._plan import CAUSAL_TAG, CheckPlan, Plan
from deltaspan._reading import Read, perform_together
from deltaspan._records import UNREAD, inconclusive
from deltaspan._reports import ActionReport, CheckReport
from deltaspan._telemetry import RunTelemetry
from deltaspan.causal_tag import CausalTag
from deltaspan.exceptions import DeltaCheckFailed, DeltaInconclusive

__all__ = ["Run"]

_log = logging.getLogger("deltaspan")
_ABANDONED: Final = inconclusive("abandoned", "the window ended before its verdict was reached")


class _CheckRun:
    """One check in one run."""

    __slots__ = ("entry", "plan", "post", "pre")

    def __init__(self, plan: CheckPlan, values: Mapping[str, Any]) -> None:
        self.plan = plan
        self.pre = Read(plan.probe, values)
        self.post = Read(plan.probe, values)
        self.entry: _contention.Entry | None = None

    def leave(self) -> _contention.Rival | None:
        entry, self.entry = self.entry, None
        return None if entry is None else _contention.leave(entry)

    def abandoned(self, tag: str) -> CheckReport:
        self.leave()
        plan, pre, post = self.plan, self.pre, self.post
        return CheckReport(
            plan.metric, _ABANDONED, plan.attribution, tag, pre.value, post.value, None, plan.expectation
        )


class Run:
    """One run of one action, from the first baseline read to the last verdict.

    A context manager, sync and async: entering reads the baselines, leaving judges. `result` is set by
    whoever calls the action.

    Args:
        plan: the action and its checks.
        values: the arguments that checks name.

    Attributes:
        result: what the action returned; UNREAD until it has.
        report: the report, once the run has ended.
    """

    __slots__ = (
        "_began",
        "_checks",
        "_entered",
        "_paused",
        "_plan",
        "_telemetry",
        "_values",
        "report",
        "result",
    )

    def __init__(self, plan: Plan, values: Mapping[str, Any]) -> None:
        self._plan = plan
        self._telemetry = RunTelemetry(plan.names)
        self._values = {**values, CAUSAL_TAG: self._telemetry.tag.id} if plan.names_values else values
        self._checks = [_CheckRun(check, self._values) for check in plan.checks]
        self._entered = self._began = 0.0
        self._paused = False
        self.result: Any = UNREAD
        self.report: ActionReport | None = None

    @classmethod
    def of_call(cls, plan: Plan, receiver: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Run:
        """Make the run of one call, with the arguments as the action itself receives them."""
        if plan.arguments is None:
            return cls(plan, {})
        return cls(plan, plan.arguments.read(args if receiver is None else (receiver, *args), kwargs))

    @property
    def tag(self) -> CausalTag:
        return self._telemetry.tag

    @property
    def baselines(self) -> Mapping[str, Read]:
        """The reads before the action, by metric."""
        return {check.plan.metric: check.pre for check in self._checks}

    def pause(self) -> None:
        """Keep the window open when this block ends: the action goes on elsewhere, and enters again there."""
        self._paused = True

    def __enter__(self) -> Run:
        self._telemetry.enter()
        if self._paused:
            self._paused = False
            return self
        try:
            self._begin()
            for check in self._checks:
                check.pre.perform()
            self._opened()
        except BaseException:
            self.abandon()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._paused and error is None:
            self._telemetry.leave()
            return
        ended = perf_counter()
        try:
            for read in self._readable(error):
                read.perform()
            self._conclude(error, ended)
        finally:
            self._end(error, ended)
        self._apply_policy(error)

    async def __aenter__(self) -> Run:
        self._telemetry.enter()
        if self._paused:
            self._paused = False
            return self
        try:
            self._begin()
            await perform_together([check.pre for check in self._checks])
            self._opened()
        except BaseException:
            self.abandon()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ended = perf_counter()
        try:
            await perform_together(self._readable(error))
            self._conclude(error, ended)
        finally:
            self._end(error, ended)
        self._apply_policy(error)

    def capture(self, baseline: Mapping[str, Any] | None = None) -> None:
        """Open the window by hand; nothing stays current between `capture` and `conclude`.

        Args:
            baseline: frozen states by metric that were read earlier, instead of reading now.
        """
        if baseline is None:
            self.__enter__()
        else:
            self._telemetry.enter()
            self._begin()
            for check in self._checks:
                check.pre.value = baseline[check.plan.metric]
            self._opened()
        self._telemetry.leave()

    def conclude(self) -> None:
        """Close a window that was opened by hand; what it raises is as for a decorated action."""
        self._telemetry.enter()
        self.__exit__(None, None, None)

    def abandon(self) -> None:
        """End a run that nobody will verify any more, or whose baselines were interrupted."""
        ended = perf_counter()
        self._began = self._began or ended
        self._end(None, ended)

    # The steps between, the same for a sync and an async action --------------------------------------------

    def _begin(self) -> None:
        """Make the window known; its baselines are read next."""
        self._entered = perf_counter()
        action, tag = self._plan.action, self._telemetry.tag
        for check in self._checks:
            plan = check.plan
            if not plan.claims_nothing:
                scope = plan.scope(self._values)
                check.entry = _contention.enter(scope, action, tag, writes=plan.claims_change)

    def _opened(self) -> None:
        """All baselines are read; the action begins right after."""
        self._began = perf_counter()

    def _readable(self, error: BaseException | None) -> list[Read]:
        """Return what is read after the action: not what failed before it, nor what would need its loop."""
        interrupted = error is not None and not isinstance(error, Exception)
        return [
            check.post
            for check in self._checks
            if check.pre.error is None and not (interrupted and check.post.is_async)
        ]

    def _conclude(self, error: BaseException | None, ended: float) -> None:
        """All post-states are read: judge and report."""
        values, result, tag = self._values, self.result, self._telemetry.tag.id
        self._report_on(
            [
                judge(check.plan, check.pre, check.post, values, result, error, check.leave(), tag)
                for check in self._checks
            ],
            ended,
        )

    def _end(self, error: BaseException | None, ended: float) -> None:
        """Record, whatever happened, and hand the report out; a run that has none was abandoned."""
        report = self.report
        if report is None:
            tag = self._telemetry.tag.id
            report = self._report_on([check.abandoned(tag) for check in self._checks], ended)
        self._telemetry.finish(report, error)
        self._telemetry.leave()
        hand_out(report)
        hook = self._plan.options.on_report
        if hook is not None:
            guarded(f"the on_report hook of {report.action}", hook, report)

    def _report_on(self, checks: list[CheckReport], ended: float) -> ActionReport:
        tag = self._telemetry.tag
        action_seconds = ended - self._began
        verifying = perf_counter() - self._entered - action_seconds
        self.report = ActionReport(
            self._plan.action, tag.id, tuple(checks), tag.parent_id, tag.root_id, action_seconds, verifying
        )
        return self.report

    def _apply_policy(self, error: BaseException | None) -> None:
        """Do what the policy for the outcome asks; the action's own exception always wins.

        Raises:
            DeltaCheckFailed: a check failed, the policy is `raise`, and the action itself did not raise.
            DeltaInconclusive: likewise for a check without a verdict.
        """
        report = self.report
        if report is None or report.outcome not in ("fail", "inconclusive"):
            return
        policy = self._plan.policy(report.outcome)
        if policy == "warn":
            _log.warning("%s: %s: %s", report.action, report.outcome, report.explanation)
        elif policy == "raise" and error is None:
            result = None if self.result is UNREAD else self.result
            raise (DeltaCheckFailed if report.outcome == "fail" else DeltaInconclusive)(report, result)
