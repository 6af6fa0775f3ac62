"""The steps of one run, the same for a sync and an async action: begin, judge, report, hand out.

Who takes them, and when, is the business of the engine. What belongs to a run lives here, in an object of
its own, so that one decorated function may run many times at once.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from functools import partial
from time import perf_counter
from typing import Any

from deltaspan._engine._check_run import ABANDONED, CheckRun, Watched
from deltaspan._engine._claims import claim_of
from deltaspan._reports._collect import hand_out
from deltaspan._guard import guarded
from deltaspan._attribution._locks import Locks
from deltaspan._batches import Moment
from deltaspan._engine._plan import CAUSAL_TAG, YIELDED, Plan
from deltaspan._engine._run_part2 import apply_policy
from deltaspan._engine._reads import Read
from deltaspan._verdicts import UNREAD, Unread
from deltaspan._reports import ActionReport, CheckReport
from deltaspan._telemetry import Resumed, RunTelemetry
from deltaspan.causal_tag import CausalTag
from deltaspan.typing import Claim

__all__ = ["RunSteps"]


class RunSteps:
    """The state of one run, and what happens at each of its steps.

    Args:
        plan: the action and its checks.
        values: the arguments that checks name.
        resumed: the run that began in another process, when it is gone on with here.

    Attributes:
        result: what the action returned; UNREAD until it has.
        report: the report, once the run has ended.
        yielded: how many values a generator has yielded.
        left: as many, once its consumer has closed it; None for whatever else ends a run.
        why_abandoned: the sentence for a run that ends without a verdict.
    """

    __slots__ = (
        "__weakref__",
        "_alive",
        "_began",
        "_checks",
        "_claim",
        "_entered",
        "_locks",
        "_paused",
        "_plan",
        "_process",
        "_telemetry",
        "_unheard",
        "_values",
        "left",
        "report",
        "result",
        "why_abandoned",
        "yielded",
    )

    def __init__(self, plan: Plan, values: Mapping[str, Any], resumed: Resumed | None = None) -> None:
        self._plan = plan
        self._telemetry = RunTelemetry(plan.names, resumed)
        self._values = {**values, CAUSAL_TAG: self._telemetry.tag.id} if plan.names_values else values
        moment = Moment()
        self._checks = [CheckRun(check, self._values, self._telemetry.tag, moment) for check in plan.checks]
        self._locks = Locks(self._telemetry.tag, moves=plan.is_generator) if plan.has_locks else None
        self._entered = self._began = 0.0
        self._paused = self._unheard = False
        self._claim: Claim | Unread | None = UNREAD
        self._process = current_process()
        self._alive: weakref.ref[RunSteps] | None = None
        self.result: Any = UNREAD
        self.report: ActionReport | None = None
        self.why_abandoned = ABANDONED
        self.yielded = 0
        self.left: int | None = None

    @property
    def tag(self) -> CausalTag:
        return self._telemetry.tag

    @property
    def baselines(self) -> Mapping[str, Read]:
        """The reads before the action, by metric."""
        return {check.plan.metric: check.pre for check in self._checks}

    @property
    def shown_baselines(self) -> Mapping[str, Any]:
        """What may be shown of the states before the action, by metric; UNREAD where there is none."""
        return {check.plan.metric: check.shown_baseline for check in self._checks}

    def _begin(self) -> None:
        """Make the window known; its baselines are read next."""
        self._entered = perf_counter()
        action, tag = self._plan.action, self._telemetry.tag
        for check in self._checks:
            check.enter(action, tag)

    def _opened(self) -> None:
        """All baselines are read; the action begins right after."""
        self._began = perf_counter()

    def _readable(self, error: BaseException | None) -> list[Read]:
        """Return what is read after the action: not what failed before it, nor what would need its loop."""
        interrupted = self._is_interrupted(error)
        moment = Moment()
        return [check.read(moment) for check in self._checks if check.is_readable(interrupted=interrupted)]

    def _retire(self) -> None:
        """End the window for others, who may write from now on without contending with this run."""
        for check in self._checks:
            check.retire()

    def _watched(self, error: BaseException | None) -> list[Watched]:
        """Return the checks whose post-state is worth another look: those that a change could decide."""
        claim = self._claimed(error)
        has_failed = error is not None or claim == "failure"
        return [
            Watched(check, patience, partial(self._holds, check, error, claim))
            for check in self._checks
            if (patience := check.plan.patience_after(has_failed=has_failed)) is not None
            and check.is_readable(interrupted=False)
            and (error is None or check.plan.judged_on_error or check.plan.unchanged_on_error)
        ]

    def _holds(self, check: CheckRun, error: BaseException | None, claim: Claim | None) -> bool:
        tag = self._telemetry.tag.id
        return check.judge(self._known, self.result, error, tag, None, claim=claim).passed

    def _claimed(self, error: BaseException | None) -> Claim | None:
        """Return what the action says of itself; whoever tells is asked once a run."""
        claim = self._plan.claim
        if claim is None:
            return None
        if isinstance(self._claim, Unread):
            self._claim = claim_of(self._plan.action, claim, self._known, self.result, error, self.left)
        return self._claim

    def _conclude(self, error: BaseException | None, ended: float) -> None:
        """All post-states are read: judge and report."""
        values, result, tag = self._known, self.result, self._telemetry.tag.id
        left = self.left if error is None else None
        claim = None if self._plan.claim is None else self._claimed(error)
        self._report_on(
            [check.report(values, result, error, tag, left, claim) for check in self._checks],
            ended,
            claim,
        )

    def _end(self, error: BaseException | None, ended: float) -> None:
        """Record, whatever happened, and hand the report out; a run that has none was abandoned."""
        try:
            report = self.report
            if report is None:
                tag = self._telemetry.tag.id
                report = self._report_on(
                    [check.abandoned(tag, self.why_abandoned) for check in self._checks], ended
                )
            self._telemetry.finish(report, error)
        finally:
            # An export that is interrupted, likely by Ctrl-C, must not leave this run current for ever.
            self._telemetry.leave()
            if self.report is not None:
                self._hand_out(self.report)

    def _hand_out(self, report: ActionReport) -> None:
        hand_out(report)
        hook = self._plan.options.on_report
        if hook is not None:
            guarded(f"the on_report hook of {report.action}", hook, report)

    def _report_on(self, checks: list[CheckReport], ended: float, claim: Claim | None = None) -> ActionReport:
        tag = self._telemetry.tag
        action_seconds = ended - self._began
        verifying = perf_counter() - self._entered - action_seconds
        self.report = ActionReport(
            self._plan.action,
            tag.id,
            tuple(checks),
            tag.parent_id,
            tag.root_id,
            action_seconds,
            verifying,
            self._telemetry.attempt,
            claim,
        )
        return self.report

    def _act_on(self, error: BaseException | None) -> None:
        if self.report is not None:
            unheard = self._unheard or self.left is not None
            apply_policy(self._plan, self.report, self.result, error, unheard=unheard)

    @property
    def _known(self) -> Mapping[str, Any]:
        """What an expected value may name of the run, but its result."""
        return {**self._values, YIELDED: self.yielded} if self._plan.is_generator else self._values

    def _fault_in(self, error: BaseException | None) -> BaseException | None:
        """Return what the action failed with: a generator that does as it is told, and closes, did not."""
        return None if self.left is not None and issubclass(type(error), GeneratorExit) else error

    def _is_interrupted(self, error: BaseException | None) -> bool:
        """Return whether nothing may be awaited any more."""
        return self.left is not None or not (error is None or issubclass(type(error), Exception))
