"""One run of one action, from its first baseline to its verdict.

The life of a run is a state machine:

    NEW ──enter──▶ OPEN ──exit, hand_over───────────────────▶ ENDED
                   │  ▲                                         ▲
                   │  │ enter, close_silently                   │
        keep_open, │  │                                         │
        exit       ▼  │                                         │
                  PENDING ──abandon─────────────────────────────┤
                                                                │
                   OPEN ──exit of a deferred action──▶ DEFERRED ─┘

- NEW: nothing was read.
- OPEN: the baselines are read, the action acts, the post-states are read. The window of a generator stays
  open while its consumer has control: `suspend` and `resume` change only the current context.
- PENDING: the call has returned an awaitable, a generator or a future, and the action goes on in it.
- DEFERRED: the caller has its result. Post-states may be read again, and the verdict comes in the background.
- ENDED: there is a report. A run that ends without a verdict is abandoned. A run that was handed over has its
  report in another process, in which `reopen` takes it from NEW to OPEN with the baselines of this one.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from enum import Enum
from functools import partial
from time import perf_counter
from types import TracebackType
from typing import Any, Final

from deltaspan._attribution import Locks
from deltaspan._batches import ReadBatch
from deltaspan._config import settings
from deltaspan._engine._baselines import Baseline, BaselineAge
from deltaspan._engine._call import Call, Ending
from deltaspan._engine._check_run import CheckRun
from deltaspan._engine._claims import claim_of
from deltaspan._engine._deferred import defer, defer_async
from deltaspan._engine._judge import judge
from deltaspan._engine._plan import CAUSAL_TAG, Plan
from deltaspan._engine._polling import Poll, poll, poll_async, poll_steps
from deltaspan._engine._reads import perform_together
from deltaspan._engine._report import report_abandoned, report_check
from deltaspan._guard import EXHAUSTED, guarded, log
from deltaspan._process import current_process, on_reset
from deltaspan._reports import ActionReport, CheckReport, publish_report
from deltaspan._telemetry import ResumedRun, RunTelemetry
from deltaspan._verdicts import UNREAD, Unread
from deltaspan._workers import is_collected, is_loop_running, run_in_background, watch
from deltaspan.causal_tag import CausalTag
from deltaspan.exceptions import DeltaCheckFailed, DeltaInconclusive
from deltaspan.typing import Claim

NO_VERDICT: Final = "the window ended before its verdict was reached"
"""The explanation of a run that was abandoned, if there is no better one."""


class _State(Enum):
    NEW = "new"
    OPEN = "open"
    PENDING = "pending"
    DEFERRED = "deferred"
    ENDED = "ended"


# Looking up a member of an enum costs more than a global, and every run does it a few times.
_NEW, _OPEN, _PENDING, _DEFERRED, _ENDED = _State


_unclosed: Final[list[Run]] = []
"""Runs that had no stack or memory left to close their windows. The next run closes them."""
on_reset(_unclosed.clear)


def _close_unclosed() -> None:
    while _unclosed:
        try:
            run = _unclosed.pop()
        except IndexError:  # another thread was first
            return
        try:
            run.abandon()
        except EXHAUSTED:
            _unclosed.append(run)  # this run is begun at the same depth
            return


class Run:
    """One run of one action, from the first baseline read to the last verdict.

    A context manager, sync and async: entering it reads the baselines, leaving it judges. Whoever calls the
    action sets `result`. One decorated action may have many runs at once.

    Args:
        plan: the action and its checks.
        values: the arguments that checks name.
        resumed: the run that began in another process, if this one continues it.

    Attributes:
        result: what the action returned; UNREAD until it has.
        report: the report, once the run has ended.
        why_abandoned: the explanation if the run ends without a verdict.
    """

    __slots__ = (
        "__weakref__",
        "_action_started_at",
        "_baseline_age",
        "_call",
        "_cannot_raise",
        "_checks",
        "_claim",
        "_collection_probe",
        "_is_closing",
        "_locks",
        "_opened_at",
        "_plan",
        "_process",
        "_state",
        "_telemetry",
        "_yielded",
        "report",
        "result",
        "why_abandoned",
    )

    def __init__(self, plan: Plan, values: Mapping[str, Any], resumed: ResumedRun | None = None) -> None:
        if _unclosed:
            _close_unclosed()
        self._plan = plan
        self._telemetry = RunTelemetry(plan.names, resumed)
        tag = self._telemetry.tag
        self._call = call = Call(
            {**values, CAUSAL_TAG: tag.id} if plan.names_values else values,
            tag,
            self._telemetry.open_read_span,
        )
        batch: ReadBatch = {}
        self._checks = [CheckRun(check, call, batch) for check in plan.checks]
        self._locks = Locks(tag, may_change_thread=plan.is_generator) if plan.has_locks else None
        self._state = _NEW
        self._opened_at = self._action_started_at = 0.0
        self._baseline_age: BaselineAge | None = None  # of a run that another process handed over
        self._claim: Claim | Unread | None = UNREAD  # the claim is asked for once
        self._yielded = 0
        self._is_closing = False  # the consumer of a generator is closing it
        self._cannot_raise = False  # an exception would reach nobody, so it is logged instead
        self._process = current_process()
        self._collection_probe: weakref.ref[Run] | None = None
        self.result: Any = UNREAD
        self.report: ActionReport | None = None
        self.why_abandoned = NO_VERDICT

    @classmethod
    def of_call(cls, plan: Plan, receiver: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Run:
        """Make the run of one call.

        Args:
            plan: the action and its checks.
            receiver: the object that the action is bound to, or None.
            args: the positional arguments of the call.
            kwargs: its keyword arguments.
        """
        if plan.arguments is None:
            run = cls(plan, {})
        else:
            run = cls(plan, plan.arguments.read(args if receiver is None else (receiver, *args), kwargs))
        capture = plan.capture
        if capture is not None and (capture.is_requested or settings().capture_arguments):
            run._telemetry.content = guarded("copying arguments", capture.begin, receiver, args, kwargs)
        return run

    @property
    def tag(self) -> CausalTag:
        return self._telemetry.tag

    @property
    def attempt(self) -> int:
        """The number of this run of its action below its parent, from 1."""
        return self._telemetry.attempt

    @property
    def opening_seconds(self) -> float:
        """The duration of reading the baselines."""
        return self._action_started_at - self._opened_at

    @property
    def baselines(self) -> Mapping[str, Baseline]:
        """The baselines, by metric."""
        return {check.plan.metric: check.baseline for check in self._checks}

    @property
    def shown_baselines(self) -> Mapping[str, Any]:
        """The states before the action as they may be shown, by metric, or UNREAD."""
        return {check.plan.metric: check.shown_baseline for check in self._checks}

    # Around a call ---------------------------------------------------------------------------------------

    def __enter__(self) -> Run:
        if self._state is _PENDING:
            self._telemetry.enter()
            self._state = _OPEN
            return self
        self._telemetry.enter_reading()
        try:
            if self._locks is not None:
                for check in self._checks:
                    check.lock(self._locks)
            self._open()
            for check in self._checks:
                if check.early_verdict is None:
                    check.pre.perform()
            self._begin_action()
        except BaseException:
            try:
                self.abandon()
            except EXHAUSTED:
                _unclosed.append(self)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state is _PENDING and error is None:
            self._telemetry.leave()
            return
        try:
            ended_at = perf_counter()
            if self._process is not current_process() or self._collection_probe is not None:
                if self._must_close_elsewhere(error):
                    return
                error = self._failure_of(error)
            self._telemetry.end_action()
            if self._plan.options.deferred and not self._is_interrupted(error):
                self._defer(ended_at, error)
                return
            try:
                self._read_post_states(error)
                if self._plan.is_polled and not self._is_interrupted(error):
                    poll(self._polls(error, ended_at))
                self._conclude(error, ended_at)
            finally:
                self._release_and_end(error, ended_at)
        except EXHAUSTED:
            if self._state is not _ENDED:
                _unclosed.append(self)
            raise
        self._apply_policy(error)

    async def __aenter__(self) -> Run:
        self._collection_probe = watch(self)
        if self._state is _PENDING:
            self._telemetry.enter()
            self._state = _OPEN
            return self
        self._telemetry.enter_reading()
        try:
            if self._locks is not None:
                for check in self._checks:
                    await check.lock_async(self._locks)
            self._open()
            await perform_together([check.pre for check in self._checks if check.early_verdict is None])
            self._begin_action()
        except BaseException as error:
            try:
                ended_at = self._end_of_unclosed()
                if ended_at is not None:
                    await self._release_and_end_async(None, ended_at, error)
            except EXHAUSTED:
                _unclosed.append(self)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            ended_at = perf_counter()
            if self._process is not current_process() or self._collection_probe is not None:
                if self._must_close_elsewhere(error):
                    return
                error = self._failure_of(error)
            self._telemetry.end_action()
            can_defer = self._plan.options.deferred and not self._is_interrupted(error)
            if can_defer and (self._plan.first_async_metric is None or is_loop_running()):
                await self._defer_async(ended_at, error)
                return
            try:
                if self._is_interrupted(error):
                    self._read_post_states(error)
                else:
                    await self._read_post_states_async()
                    if self._plan.is_polled:
                        await poll_async(self._polls(error, ended_at))
                self._conclude(error, ended_at)
            finally:
                await self._release_and_end_async(error, ended_at, error)
        except EXHAUSTED:
            if self._state is not _ENDED:
                _unclosed.append(self)
            raise
        self._apply_policy(error)

    def keep_open(self) -> None:
        """Keep the window open when this block ends.

        The action goes on elsewhere, and enters the run again there.
        """
        self._state = _PENDING

    def close_silently(self, error: BaseException | None) -> None:
        """Close the window in a place where an exception would reach nobody.

        An exception that should be raised is logged instead.

        Args:
            error: what the action raised, or None.
        """
        self._cannot_raise, self._collection_probe = True, None
        self._state = _OPEN
        self._telemetry.enter()
        self.__exit__(None, error, None)

    # Around the steps of a generator ---------------------------------------------------------------------

    def suspend(self) -> None:
        """Detach the context of the run before a generator yields to its consumer."""
        if self._collection_probe is None:
            self._collection_probe = watch(self)
        self._yielded += 1
        self._telemetry.suspend()

    def resume(self, thrown: BaseException | None) -> None:
        """Attach the context of the run again, before the generator goes on.

        Args:
            thrown: what its consumer throws into it, or None.
        """
        self._is_closing = isinstance(thrown, GeneratorExit)
        self._telemetry.enter()

    # By hand ---------------------------------------------------------------------------------------------

    def capture(self) -> None:
        """Open the window by hand. Nothing stays current between `capture` and `verify`."""
        if self._locks is not None:
            self._locks.may_change_thread = True
        self.__enter__()
        self._telemetry.leave()

    def reopen(
        self, baselines: Mapping[str, Baseline], age: BaselineAge | None = None, opening_seconds: float = 0.0
    ) -> None:
        """Open the window by hand with baselines that were captured earlier.

        Args:
            baselines: a baseline for each metric.
            age: their age and its limit, if another process captured them.
            opening_seconds: the duration of reading them.
        """
        self._baseline_age = age
        self._telemetry.enter_reading()
        try:
            for check in self._checks:
                check.restore(baselines[check.plan.metric])
            self._open()
            self._telemetry.begin_action()
            if age is not None:
                self._opened_at -= max(age.seconds(), opening_seconds)
            self._action_started_at = self._opened_at + opening_seconds
        finally:
            self._telemetry.leave()

    def headers(self) -> dict[str, str]:
        """Return the W3C headers that make the acts of others part of this run."""
        return self._telemetry.headers()

    def hand_over(self) -> Mapping[str, Baseline]:
        """End the run without a verdict, which another process reaches. Nothing here raises.

        Returns:
            The baselines by metric, with the runs that overlapped and those that descend from this one.
        """
        for check in self._checks:
            check.close()
        self._telemetry.hand_over()
        self._state = _ENDED
        return self.baselines

    def verify(self) -> None:
        """Close a window that was opened by hand, and judge.

        Raises:
            DeltaCheckFailed: a check failed and the policy is `raise`.
            DeltaInconclusive: a check has no verdict and the policy is `raise`.
        """
        self._process = current_process()  # a parent or a forked child may verify, whoever asks
        self._telemetry.enter()
        self.__exit__(None, None, None)

    def abandon(self) -> None:
        """End a run that nobody will verify any more, or whose baselines were interrupted."""
        ended_at = self._end_of_unclosed()
        if ended_at is not None:
            self._release_and_end(None, ended_at)

    def abandon_because(self, reason: str) -> None:
        """End a run whose action cannot be observed, and apply the policy.

        Args:
            reason: the sentence that explains it, and what to write instead.
        """
        self.why_abandoned = reason
        self.abandon()
        self._apply_policy(None)

    # Steps -----------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Open the windows of all checks. Their baselines are read next."""
        self._state = _OPEN
        self._opened_at = perf_counter()
        action = self._plan.action
        for check in self._checks:
            check.open(action)

    def _begin_action(self) -> None:
        """Begin the action. Its baselines are read."""
        self._telemetry.begin_action()
        self._action_started_at = perf_counter()

    def _read_post_states(self, error: BaseException | None) -> None:
        can_await = not self._is_interrupted(error)
        batch: ReadBatch = {}
        for check in self._checks:
            if check.is_readable(can_await=can_await):
                check.new_post_read(batch).perform()

    async def _read_post_states_async(self) -> None:
        batch: ReadBatch = {}
        await perform_together(
            [check.new_post_read(batch) for check in self._checks if check.is_readable(can_await=True)]
        )

    def _retire(self) -> None:
        """Let other windows open without contending with this run, whose verdict comes later."""
        for check in self._checks:
            check.retire()

    def _polls(self, error: BaseException | None, ended_at: float) -> list[Poll]:
        """Return the polls of the checks that a further read could decide."""
        ending = self._ending(error)
        return [
            Poll(check, polling, partial(_passes, check, ending), ended_at)
            for check in self._checks
            if (polling := check.plan.polling(has_failed=ending.has_failed)) is not None
            and check.is_readable(can_await=True)
            and (error is None or check.plan.is_judged_on_error)
        ]

    def _ending(self, error: BaseException | None) -> Ending:
        """Return the end of the action. Its claim is asked for once a run."""
        plan = self._plan
        yielded = self._yielded if plan.is_generator else None
        ending = Ending(self.result, error, yielded, self._is_closing and error is None)
        if plan.claim is not None:
            if isinstance(self._claim, Unread):
                self._claim = claim_of(plan.action, plan.claim, self._call, ending)
            ending.claim = self._claim
        return ending

    def _conclude(self, error: BaseException | None, ended_at: float) -> None:
        """Judge and report. All post-states are read."""
        ending = self._ending(error)
        self._report_on([report_check(check, ending) for check in self._checks], ended_at, ending.claim)

    def _report_on(
        self, checks: list[CheckReport], ended_at: float, claim: Claim | None = None
    ) -> ActionReport:
        tag = self._call.tag
        action_seconds = ended_at - self._action_started_at
        verification_seconds = perf_counter() - self._opened_at - action_seconds
        if self._baseline_age is not None:
            checks = self._baseline_age.apply(self._plan.checks, checks, ended_at)
        trace_id, span_id = self._telemetry.span_ids()
        self.report = ActionReport(
            self._plan.action,
            tag.id,
            tuple(checks),
            tag.parent_id,
            tag.root_id,
            action_seconds,
            verification_seconds,
            self._telemetry.attempt,
            claim,
            trace_id,
            span_id,
        )
        return self.report

    def _release_and_end(self, error: BaseException | None, ended_at: float) -> None:
        # The locks come first, while the run is still current: an action that a signal handler calls
        # meanwhile on this thread can see that they are held, and does not wait for them.
        try:
            if self._locks is not None:
                self._locks.release()
        finally:
            self._end(error, ended_at)

    async def _release_and_end_async(
        self, error: BaseException | None, ended_at: float, by: BaseException | None
    ) -> None:
        # Only a coroutine that is closed must not await any more. One that is cancelled may, and must: a lock
        # that is held over a network is released over it.
        is_closed = issubclass(type(by), GeneratorExit) and not self._plan.is_generator
        if self._locks is None or not is_loop_running() or is_closed:
            self._release_and_end(error, ended_at)
            return
        try:
            await self._locks.release_async()
        finally:
            self._end(error, ended_at)

    def _end(self, error: BaseException | None, ended_at: float) -> None:
        """Record the run and publish its report. A run without a report was abandoned."""
        try:
            report = self.report
            if report is None:
                reason = self.why_abandoned
                report = self._report_on(
                    [report_abandoned(check, reason) for check in self._checks], ended_at
                )
            self._add_result_to_telemetry(error)
            self._telemetry.record(report, error)
        finally:
            # If an export is interrupted, by Ctrl-C for example, this run must not stay current for ever.
            self._telemetry.leave()
            self._state = _ENDED
            try:
                if self.report is not None:
                    self._publish(self.report)
            finally:
                self._telemetry.end(ended_at)

    def _add_result_to_telemetry(self, error: BaseException | None) -> None:
        content = self._telemetry.content
        if content is not None and error is None and self.result is not UNREAD:
            guarded("copying a result", content.add_result, self.result)

    def _publish(self, report: ActionReport) -> None:
        publish_report(report)
        hook = self._plan.options.on_report
        if hook is not None:
            with self._telemetry.reporting():
                guarded(f"the on_report hook of {report.action}", hook, report)

    def _apply_policy(self, error: BaseException | None) -> None:
        """Log or raise, as the policy for the outcome says.

        The exception of the action itself always takes precedence.

        Args:
            error: what the action raised, or None.

        Raises:
            DeltaCheckFailed: a check failed, the policy is `raise`, and the action itself did not raise.
            DeltaInconclusive: a check has no verdict, the policy is `raise`, and the action did not raise.
        """
        report = self.report
        if report is None or report.outcome not in ("fail", "inconclusive"):
            return
        policy = self._plan.policy(report.outcome)
        cannot_raise = self._cannot_raise or self._is_closing
        if policy == "warn" or (policy == "raise" and cannot_raise and error is None):
            log(logging.WARNING, "%s: %s: %s", report.action, report.outcome, report.explanation)
        elif policy == "raise" and error is None:
            raised = DeltaCheckFailed if report.outcome == "fail" else DeltaInconclusive
            raise raised(report, None if self.result is UNREAD else self.result)

    # How an action ended ---------------------------------------------------------------------------------

    def _failure_of(self, error: BaseException | None) -> BaseException | None:
        """Return the error of the action, or None for a generator that was closed."""
        return None if self._is_closing and issubclass(type(error), GeneratorExit) else error

    def _is_interrupted(self, error: BaseException | None) -> bool:
        """Return whether awaiting is no longer possible."""
        return self._is_closing or not (error is None or issubclass(type(error), Exception))

    def _end_of_unclosed(self) -> float | None:
        """Return the end of an unclosed run, or None to close it elsewhere."""
        if self._must_close_elsewhere(None):
            return None
        ended_at = perf_counter()
        self._action_started_at = self._action_started_at or ended_at
        self._opened_at = self._opened_at or ended_at  # it may have waited for a lock until now
        return ended_at

    def _must_close_elsewhere(self, error: BaseException | None) -> bool:
        """Return whether the window must be closed elsewhere, and see to it.

        A forked child leaves the window to its parent. The garbage collector leaves it to the background
        thread, because probes must not be read in the middle of a collection.
        """
        if self._process is not current_process():
            self._telemetry.leave()
            return True
        if self._collection_probe is None or not is_collected(self._collection_probe):
            return False
        self._telemetry.leave()
        run_in_background(partial(copy_context().run, self.close_silently, self._failure_of(error)))
        return True

    # Deferred --------------------------------------------------------------------------------------------

    def _defer(self, ended_at: float, error: BaseException | None) -> None:
        """Let the caller go on once the post-states are read."""
        if self._plan.first_async_metric is None:
            with self._ended_if_interrupted(ended_at, error):
                self._read_post_states(error)
                self._retire()
            self._let_caller_go_on(ended_at, error)
            with self._telemetry.reading():
                defer(poll_steps(self._polls(error, ended_at)), partial(self._end_deferred, error, ended_at))
        else:
            self._let_caller_go_on(ended_at, error)
            with self._telemetry.reading():
                defer_async(self._read_and_poll_async(error, ended_at))

    async def _defer_async(self, ended_at: float, error: BaseException | None) -> None:
        """Let the caller of an async action go on, as `_defer` does."""
        with self._ended_if_interrupted(ended_at, error):
            await self._read_post_states_async()
            self._retire()
        self._let_caller_go_on(ended_at, error)
        with self._telemetry.reading():
            if self._plan.first_async_metric is None:
                defer(poll_steps(self._polls(error, ended_at)), partial(self._end_deferred, error, ended_at))
            else:
                defer_async(self._poll_async(error, ended_at))

    @contextmanager
    def _ended_if_interrupted(self, ended_at: float, error: BaseException | None) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._release_and_end(error, ended_at)
            raise

    def _let_caller_go_on(self, ended_at: float, error: BaseException | None) -> None:
        self._telemetry.leave()
        self._add_result_to_telemetry(error)
        self._telemetry.defer(ended_at, error)
        self._cannot_raise = True
        self._state = _DEFERRED

    async def _read_and_poll_async(self, error: BaseException | None, ended_at: float) -> None:
        try:
            await self._read_post_states_async()
            self._retire()
            await poll_async(self._polls(error, ended_at))
        finally:
            self._end_deferred(error, ended_at)

    async def _poll_async(self, error: BaseException | None, ended_at: float) -> None:
        try:
            await poll_async(self._polls(error, ended_at))
        finally:
            self._end_deferred(error, ended_at)

    def _end_deferred(self, error: BaseException | None, ended_at: float) -> None:
        # A coroutine is closed in a forked child too, and the verdict is its parent's.
        if self._state is _ENDED or self._process is not current_process():
            return
        try:
            self._conclude(error, ended_at)
        finally:
            self._release_and_end(error, ended_at)
        self._apply_policy(error)


def _passes(check: CheckRun, ending: Ending) -> bool:
    return judge(check, ending).passed
