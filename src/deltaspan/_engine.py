"""One run of one action: open the window, close the window, hand out the report.

The steps are written once and shared by sync and async actions; what differs is only who carries them out.
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
from deltaspan._reading import Read, Steps, carry_out, carry_out_async
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
        "_opening_seconds",
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
        self._began = self._opening_seconds = 0.0
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
            carry_out(self.open())
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
        try:
            carry_out(self.close(error))
        finally:
            self._telemetry.leave()
            self._publish()
        self._apply_policy(error)

    async def __aenter__(self) -> Run:
        self._telemetry.enter()
        if self._paused:
            self._paused = False
            return self
        try:
            await carry_out_async(self.open())
        except BaseException:
            self.abandon()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None or isinstance(error, Exception):
                await carry_out_async(self.close(error))
            else:
                carry_out(self.close(error))  # the event loop is being left: nothing can be awaited
        finally:
            self._telemetry.leave()
            self._publish()
        self._apply_policy(error)

    def capture(self, baseline: Mapping[str, Any] | None = None) -> None:
        """Open the window by hand; nothing stays current between `capture` and `conclude`.

        Args:
            baseline: frozen states by metric that were read earlier, instead of reading now.
        """
        self._telemetry.enter()
        try:
            carry_out(self.open(baseline))
        except BaseException:
            self.abandon()
            raise
        self._telemetry.leave()

    def conclude(self) -> None:
        """Close a window that was opened by hand; what it raises is as for a decorated action."""
        self._telemetry.enter()
        self.__exit__(None, None, None)

    def open(self, baseline: Mapping[str, Any] | None = None) -> Steps:
        """Read every baseline, or take those given; the action begins right after."""
        began = perf_counter()
        action, tag = self._plan.action, self._telemetry.tag
        for check in self._checks:
            plan = check.plan
            if not plan.claims_nothing:
                scope = plan.scope(self._values)
                check.entry = _contention.enter(scope, action, tag, writes=plan.claims_change)
        if baseline is None:
            yield [check.pre for check in self._checks]
        else:
            for check in self._checks:
                check.pre.value = baseline[check.plan.metric]
        self._began = perf_counter()
        self._opening_seconds = self._began - began

    def close(self, error: BaseException | None) -> Steps:
        """Read every post-state, judge, and record; after a failed action too."""
        ended = perf_counter()
        try:
            yield self._readable(error)
            tag = self._telemetry.tag.id
            reports = [
                judge(check.plan, check.pre, check.post, self._values, self.result, error, check.leave(), tag)
                for check in self._checks
            ]
        except BaseException:
            self._finish(self._abandoned(), error, ended)
            raise
        self._finish(reports, error, ended)

    def _readable(self, error: BaseException | None) -> list[Read]:
        """Return what is read after the action: not what failed before it, nor what would need its loop."""
        interrupted = error is not None and not isinstance(error, Exception)
        return [
            check.post
            for check in self._checks
            if check.pre.error is None and not (interrupted and check.post.is_async)
        ]

    def _finish(self, reports: Sequence[CheckReport], error: BaseException | None, ended: float) -> None:
        tag = self._telemetry.tag
        verifying = self._opening_seconds + perf_counter() - ended
        self.report = ActionReport(
            self._plan.action,
            tag.id,
            tuple(reports),
            tag.parent_id,
            tag.root_id,
            ended - self._began,
            verifying,
        )
        self._telemetry.finish(self.report, error)

    def abandon(self) -> None:
        """End a run that nobody will verify any more, or whose baselines were interrupted."""
        ended = perf_counter()
        self._began = self._began or ended
        self._finish(self._abandoned(), None, ended)
        self._telemetry.leave()
        self._publish()

    def _abandoned(self) -> list[CheckReport]:
        tag = self._telemetry.tag.id
        reports = []
        for check in self._checks:
            check.leave()
            plan, pre, post = check.plan, check.pre, check.post
            reports.append(
                CheckReport(
                    plan.metric,
                    _ABANDONED,
                    plan.attribution,
                    tag,
                    pre.value,
                    post.value,
                    None,
                    plan.expectation,
                )
            )
        return reports

    def _publish(self) -> None:
        """Give the report to whoever asked for it; never raises."""
        report = self.report
        if report is None:
            return
        hand_out(report)
        hook = self._plan.options.on_report
        if hook is not None:
            guarded(f"the on_report hook of {report.action}", hook, report)

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
