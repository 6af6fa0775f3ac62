"""The steps of one run, the same for a sync and an async action: begin, judge, report, hand out.

Who takes them, and when, is the business of the engine. What belongs to a run lives here, in an object of
its own, so that one decorated function may run many times at once.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from time import perf_counter
from types import TracebackType
from typing import Any

from deltaspan._attribution import Locks
from deltaspan._batches import Moment
from deltaspan._engine._check_run import ABANDONED, CheckRun, Watched
from deltaspan._engine._claims import claim_of
from deltaspan._engine._deferred import defer, defer_async
from deltaspan._engine._plan import CAUSAL_TAG, YIELDED, Plan
from deltaspan._engine._polling import settle, settle_async, steps_of
from deltaspan._engine._reads import Read, perform_together
from deltaspan._guard import guarded, say
from deltaspan._reports import ActionReport, CheckReport, publish_report
from deltaspan._telemetry import Resumed, RunTelemetry
from deltaspan._verdicts import UNREAD, Unread
from deltaspan._workers import current_process, is_collected, later, on_asyncio, watch
from deltaspan.causal_tag import CausalTag
from deltaspan.exceptions import DeltaCheckFailed, DeltaInconclusive
from deltaspan.typing import Claim

__all__ = [
    "Run",
    "RunSteps",
    "apply_policy",
]


def apply_policy(
    plan: Plan, report: ActionReport, result: Any, error: BaseException | None, *, unheard: bool
) -> None:
    """Do what the policy for the outcome asks; the action's own exception always wins.

    Args:
        plan: the action.
        report: the report of its run.
        result: what the action returned, or UNREAD.
        error: what the action raised, or None.
        unheard: whether an exception would reach nobody; what should be raised is then logged.

    Raises:
        DeltaCheckFailed: a check failed, the policy is `raise`, and the action itself did not raise.
        DeltaInconclusive: likewise for a check without a verdict.
    """
    if report.outcome not in ("fail", "inconclusive"):
        return
    policy = plan.policy(report.outcome)
    if policy == "warn" or (policy == "raise" and unheard and error is None):
        say(logging.WARNING, "%s: %s: %s", report.action, report.outcome, report.explanation)
    elif policy == "raise" and error is None:
        raised = DeltaCheckFailed if report.outcome == "fail" else DeltaInconclusive
        raise raised(report, None if result is UNREAD else result)


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
        self._locks = (
            Locks(self._telemetry.tag, may_change_thread=plan.is_generator) if plan.has_locks else None
        )
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
        publish_report(report)
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


class Run(RunSteps):
    """One run of one action, from the first baseline read to the last verdict.

    A context manager, sync and async: entering reads the baselines, leaving judges. `result` is set by
    whoever calls the action.
    """

    __slots__ = ()

    @classmethod
    def of_call(cls, plan: Plan, receiver: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Run:
        """Make the run of one call, with the arguments as the action itself receives them."""
        if plan.arguments is None:
            return cls(plan, {})
        return cls(plan, plan.arguments.read(args if receiver is None else (receiver, *args), kwargs))

    def pause(self) -> None:
        """Keep the window open when this block ends: the action goes on elsewhere, and enters again there."""
        self._paused = True

    def suspend(self) -> None:
        """Leave a generator's body for its consumer, to whom nothing of this run is current."""
        if self._alive is None:
            self._alive = watch(self)
        self.yielded += 1
        self._telemetry.suspend()

    def resume(self, thrown: BaseException | None) -> None:
        """Enter a generator's body again, with what its consumer throws into it, or None."""
        self.left = self.yielded if isinstance(thrown, GeneratorExit) else None
        self._telemetry.enter()

    def settle(self, error: BaseException | None) -> None:
        """Close the window where an exception would reach nobody; what should be raised is logged instead."""
        self._unheard, self._paused, self._alive = True, False, None
        self._telemetry.enter()
        self.__exit__(None, error, None)

    def __enter__(self) -> Run:
        self._telemetry.enter()
        if self._paused:
            self._paused = False
            return self
        try:
            if self._locks is not None:
                for check in self._checks:
                    check.lock(self._locks)
            self._begin()
            for check in self._checks:
                if check.is_read and check.pre.error is None:
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
        if self._process is not current_process() or self._alive is not None:
            if self._ends_elsewhere(error):
                return
            error = self._fault_in(error)
        if self._is_deferred(error):
            self._defer(ended, error)
            return
        try:
            self._read(error)
            if self._plan.is_patient and not self._is_interrupted(error):
                settle(self._watched(error), ended)
            self._conclude(error, ended)
        finally:
            self._end_and_release(error, ended)
        self._act_on(error)

    async def __aenter__(self) -> Run:
        self._alive = watch(self)
        self._telemetry.enter()
        if self._paused:
            self._paused = False
            return self
        try:
            if self._locks is not None:
                for check in self._checks:
                    await check.lock_async(self._locks)
            self._begin()
            await perform_together(
                [check.pre for check in self._checks if check.is_read and check.pre.error is None]
            )
            self._opened()
        except BaseException as error:
            ended = self._ended_open()
            if ended is not None:
                await self._end_and_release_async(None, ended, error)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ended = perf_counter()
        if self._process is not current_process() or self._alive is not None:
            if self._ends_elsewhere(error):
                return
            error = self._fault_in(error)
        if self._is_deferred(error) and (self._plan.first_async_metric is None or on_asyncio()):
            await self._defer_async(ended, error)
            return
        try:
            if self._is_interrupted(error):
                self._read(error)
            else:
                await perform_together(self._readable(error))
                if self._plan.is_patient:
                    await settle_async(self._watched(error), ended)
            self._conclude(error, ended)
        finally:
            await self._end_and_release_async(error, ended, error)
        self._act_on(error)

    def capture(self, baseline: Mapping[str, Any] | None = None) -> None:
        """Open the window by hand; nothing stays current between `capture` and `conclude`.

        Args:
            baseline: frozen states by metric that were read earlier, instead of reading now.
        """
        if self._locks is not None:
            self._locks.may_change_thread = True
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
        self._process = current_process()  # whoever asks, parent or forked child, is answered
        self._telemetry.enter()
        self.__exit__(None, None, None)

    def abandon(self) -> None:
        """End a run that nobody will verify any more, or whose baselines were interrupted."""
        ended = self._ended_open()
        if ended is not None:
            self._end_and_release(None, ended)

    def give_up(self, why: str) -> None:
        """End a run that cannot be followed to its end, while its caller still listens.

        Args:
            why: the sentence that says so, with the cure.
        """
        self.why_abandoned = why
        self.abandon()
        self._act_on(None)

    def _ended_open(self) -> float | None:
        """Return when a run ended that nobody closed; None when it is to be ended elsewhere."""
        if self._ends_elsewhere(None):
            return None
        ended = perf_counter()
        self._began = self._began or ended
        self._entered = self._entered or ended  # it may have waited for a lock until now
        return ended

    def _is_deferred(self, error: BaseException | None) -> bool:
        return self._plan.options.deferred and not self._is_interrupted(error)

    def _defer(self, ended: float, error: BaseException | None) -> None:
        """Let the caller go on once the post-states are read; the verdict is reached in the background."""
        if self._plan.first_async_metric is None:
            with self._ended_if_interrupted(ended, error):
                self._read(error)
                self._retire()
            self._let_go()
            defer(steps_of(self._watched(error), ended), partial(self._settled, error, ended))
        else:
            self._let_go()
            defer_async(self._read_and_settle_async(error, ended))

    async def _defer_async(self, ended: float, error: BaseException | None) -> None:
        """Do the same in an async action, whose probes may have to be awaited."""
        with self._ended_if_interrupted(ended, error):
            await perform_together(self._readable(error))
            self._retire()
        self._let_go()
        if self._plan.first_async_metric is None:
            defer(steps_of(self._watched(error), ended), partial(self._settled, error, ended))
        else:
            defer_async(self._settle_async(error, ended))

    @contextmanager
    def _ended_if_interrupted(self, ended: float, error: BaseException | None) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._end_and_release(error, ended)
            raise

    def _let_go(self) -> None:
        self._telemetry.leave()
        self._telemetry.defer()
        self._unheard = True

    def _read(self, error: BaseException | None) -> None:
        for read in self._readable(error):
            read.perform()

    def _settled(self, error: BaseException | None, ended: float) -> None:
        if self.report is not None:
            return
        try:
            self._conclude(error, ended)
        finally:
            self._end_and_release(error, ended)
        self._act_on(error)

    async def _read_and_settle_async(self, error: BaseException | None, ended: float) -> None:
        try:
            await perform_together(self._readable(error))
            self._retire()
            await settle_async(self._watched(error), ended)
        finally:
            self._settled(error, ended)

    async def _settle_async(self, error: BaseException | None, ended: float) -> None:
        try:
            await settle_async(self._watched(error), ended)
        finally:
            self._settled(error, ended)

    async def _end_and_release_async(
        self, error: BaseException | None, ended: float, by: BaseException | None
    ) -> None:
        # Only a coroutine that is closed may not await any more. One that is cancelled may, and must: a lock
        # that is held over a network is released over it.
        if self._locks is None or not on_asyncio() or self._is_closed(by):
            self._end_and_release(error, ended)
            return
        try:
            await self._locks.release_async()
        finally:
            self._end(error, ended)

    def _is_closed(self, error: BaseException | None) -> bool:
        return issubclass(type(error), GeneratorExit) and not self._plan.is_generator

    def _ends_elsewhere(self, error: BaseException | None) -> bool:
        """Return whether this is not the place to close the window: another will, or has been told to."""
        if self._process is not current_process():
            self._telemetry.leave()
            return True
        if self._alive is None or not is_collected(self._alive):
            return False
        self._telemetry.leave()
        later(partial(copy_context().run, self.settle, self._fault_in(error)))
        return True

    def _end_and_release(self, error: BaseException | None, ended: float) -> None:
        # First the locks, while the run is still current: whatever a signal handler calls meanwhile on this
        # thread knows then that they are held, and does not wait for them.
        try:
            if self._locks is not None:
                self._locks.release()
        finally:
            self._end(error, ended)
