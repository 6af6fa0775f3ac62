"""One run of one action: open the window, close the window, hand out the report.

The steps are written once and shared by sync and async actions; what differs is only who carries them out.
State that belongs to a run lives in its Run, so that one decorated function may run many times at once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final

from deltaspan import _contention
from deltaspan._collecting import hand_out
from deltaspan._guard import guarded
from deltaspan._judging import judge
from deltaspan._plan import CAUSAL_TAG, CheckPlan, Plan
from deltaspan._reading import Read, Steps, carry_out, carry_out_async
from deltaspan._records import UNREAD, Verdict, inconclusive
from deltaspan._reports import ActionReport, CheckReport
from deltaspan._telemetry import RunTelemetry
from deltaspan.causal_tag import CausalTag
from deltaspan.exceptions import DeltaCheckFailed, DeltaInconclusive

__all__ = ["Run"]

_log = logging.getLogger("deltaspan")
_NEVER_READ: Final = "the window was abandoned before its post-state was read"


class _CheckRun:
    """One check in one run."""

    __slots__ = ("entry", "plan", "post", "pre")

    def __init__(self, plan: CheckPlan, values: Mapping[str, Any]) -> None:
        self.plan = plan
        self.pre = Read(plan.probe, values)
        self.post = Read(plan.probe, values)
        self.entry: _contention.Entry | None = None


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
        "_plan",
        "_telemetry",
        "_values",
        "report",
        "result",
    )

    def __init__(self, plan: Plan, values: Mapping[str, Any]) -> None:
        self._plan = plan
        self._telemetry = RunTelemetry(plan.names)
        self._values = {**values, CAUSAL_TAG: self._telemetry.tag.id}
        self._checks = [_CheckRun(check, self._values) for check in plan.checks]
        self._began = self._opening_seconds = 0.0
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

    def __enter__(self) -> Run:
        self._telemetry.enter()
        try:
            carry_out(self.open())
        except BaseException:
            self._abandon()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            carry_out(self.close(error))
        finally:
            self._telemetry.leave()
        self.hand_out(error)

    async def __aenter__(self) -> Run:
        self._telemetry.enter()
        try:
            await carry_out_async(self.open())
        except BaseException:
            self._abandon()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await carry_out_async(self.close(error))
        finally:
            self._telemetry.leave()
        self.hand_out(error)

    def capture(self, baseline: Mapping[str, Any] | None = None) -> None:
        """Open the window by hand; nothing stays current between `capture` and `conclude`.

        Args:
            baseline: frozen states by metric that were read earlier, instead of reading now.
        """
        self._telemetry.enter()
        try:
            carry_out(self.open(baseline))
        except BaseException:
            self._abandon()
            raise
        self._telemetry.leave()

    def conclude(self) -> None:
        """Close a window that was opened by hand; what it raises is as for a decorated action."""
        self._telemetry.enter()
        self.__exit__(None, None, None)

    def open(self, baseline: Mapping[str, Any] | None = None) -> Steps[None]:
        """Read every baseline, or take those given; the action begins right after."""
        began = time.perf_counter()
        tag = self._telemetry.tag
        for check in self._checks:
            if not check.plan.claims_nothing:
                scope = check.plan.scope(self._values)
                check.entry = _contention.enter(
                    scope, self._plan.action, tag, writes=check.plan.claims_change
                )
        if baseline is None:
            yield [check.pre for check in self._checks]
        else:
            for check in self._checks:
                check.pre.value = baseline[check.plan.metric]
        self._began = time.perf_counter()
        self._opening_seconds = self._began - began

    def close(self, error: BaseException | None) -> Steps[None]:
        """Read every post-state, judge, and record; a failed action is read too."""
        ended = time.perf_counter()
        try:
            # An async probe would need the event loop that is just being left.
            interrupted = error is not None and not isinstance(error, Exception)
            yield [
                check.post
                for check in self._checks
                if check.pre.error is None and not (interrupted and check.post.is_async)
            ]
            checks = tuple(self._judge(check, error) for check in self._checks)
        except BaseException:
            self._finish(self._abandoned(), error, ended)
            raise
        self._finish(checks, error, ended)

    def hand_out(self, error: BaseException | None) -> None:
        """Give the report to whoever asked, then apply the policy for its outcome.

        Raises:
            DeltaCheckFailed: a check failed, the policy is `raise`, and the action itself did not raise.
            DeltaInconclusive: likewise for a check without a verdict.
        """
        report = self.report
        if report is None:
            return
        hand_out(report)
        options = self._plan.options
        if options.on_report is not None:
            guarded(f"the on_report hook of {report.action}", options.on_report, report)
        outcome = report.outcome
        if outcome not in ("fail", "inconclusive"):
            return
        policy = self._plan.policy(outcome)
        if policy == "warn":
            _log.warning("%s: %s: %s", report.action, outcome, report.explanation)
        elif policy == "raise" and error is None:
            result = None if self.result is UNREAD else self.result
            raise (DeltaCheckFailed if outcome == "fail" else DeltaInconclusive)(report, result)

    def _judge(self, check: _CheckRun, error: BaseException | None) -> CheckReport:
        entry, check.entry = check.entry, None
        rival = None if entry is None else _contention.leave(entry)
        judged = judge(check.plan, check.pre, check.post, self._values, self.result, error, rival)
        return self._report(check, judged.verdict, judged.delta, judged.expectation)

    def _report(
        self, check: _CheckRun, verdict: Verdict, delta: Any = None, expectation: Any = None
    ) -> CheckReport:
        plan = check.plan
        return CheckReport(
            plan.metric,
            verdict,
            plan.attribution,
            self._telemetry.tag.id,
            check.pre.value,
            check.post.value,
            delta,
            expectation or plan.expectation,
            check.pre.seconds + check.post.seconds,
        )

    def _abandon(self) -> None:
        """End a run whose baselines were interrupted: its action never ran."""
        self._telemetry.leave()
        self._began = time.perf_counter()
        self._finish(self._abandoned(), None, self._began)

    def _abandoned(self) -> tuple[CheckReport, ...]:
        for check in self._checks:
            if check.entry is not None:
                _contention.leave(check.entry)
                check.entry = None
        return tuple(self._report(check, inconclusive("abandoned", _NEVER_READ)) for check in self._checks)

    def _finish(self, checks: tuple[CheckReport, ...], error: BaseException | None, ended: float) -> None:
        tag = self._telemetry.tag
        self.report = ActionReport(
            self._plan.action,
            tag.id,
            checks,
            tag.parent_id,
            tag.root_id,
            ended - self._began,
            self._opening_seconds + time.perf_counter() - ended,
        )
        self._telemetry.finish(self.report, error)
