"""One check in one run: its two reads, and whatever its modifiers ask for between them and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from deltaspan._attribution import (
    ALONE,
    Entry,
    Locks,
    Overlap,
    close_window,
    open_window,
    retire_window,
    warn_of_unverified_writers,
)
from deltaspan._attribution_kinds import ATTRIBUTION_KINDS
from deltaspan._batches import Moment
from deltaspan._engine._judge import judge
from deltaspan._engine._plan import CheckPlan
from deltaspan._engine._reads import NO_READ, LimitedRead, Read
from deltaspan._guard import EXHAUSTED
from deltaspan._reports import CheckReport, hide_content, outline, redact_report, redact_state
from deltaspan._state.diff import without_contents
from deltaspan._verdicts import NotLocked, Raised, Timing, Verdict, inconclusive
from deltaspan.causal_tag import CausalTag, DescendantTracker, start_tracking, stop_tracking
from deltaspan.checks import Patience
from deltaspan.typing import Claim

__all__ = ["ABANDONED", "CheckRun", "Watched"]

ABANDONED: Final = "the window ended before its verdict was reached"
_EXHAUSTED_NOTE: Final = (
    "the stack or the memory had no room to compare the two states; let the probe return a flatter or a "
    "smaller structure, or call the action from fewer nested functions"
)
_UNSETTLED: Final = "its event loop ended before it was known whether the state comes, or stays, as expected"
_SAMPLED_OUT: Final = Verdict("skipped", note="not read, because this run was sampled out")
_SHARES: Final = 2**32


class CheckRun:
    """One check in one run.

    Args:
        plan: the check.
        values: the arguments that it names.
        tag: the run's tag; its root decides whether the check is sampled.
        moment: when the baseline is read.

    Attributes:
        is_read: False when the run was sampled out.
        pre: the read before the action.
        post: the read after it, the last one if there are several.
        overlap: the windows that were met: in another process, before this one was handed over, and here.
        attempts: how many reads there were after the action.
        descendants: the tags of runs below this one, where a check on tagged rows has to know them: before it
            begins those that are known from elsewhere, once it has ended all.
        settle_seconds: from the end of the action to the last read; None without `eventually`, `holding_for`.
        is_watched: whether it was to be looked at again until it is settled.
    """

    __slots__ = (
        "_entry",
        "_kin",
        "_lock_seconds",
        "_met_until_read",
        "_probe_seconds",
        "_values",
        "attempts",
        "descendants",
        "is_read",
        "is_watched",
        "overlap",
        "plan",
        "post",
        "pre",
        "settle_seconds",
    )

    def __init__(self, plan: CheckPlan, values: Mapping[str, Any], tag: CausalTag, moment: Moment) -> None:
        self.plan = plan
        self._values = values
        self.pre = self._new_read(moment)
        self.post = NO_READ
        self.is_read = plan.sample_rate >= 1 or int(tag.root_id[:8], 16) < plan.sample_rate * _SHARES
        self.is_watched = False
        self.attempts = 1
        self.overlap = ALONE
        self.descendants: Collection[str] = ()
        self.settle_seconds: float | None = None
        self._entry: Entry | None = None
        self._kin: DescendantTracker | None = None
        self._lock_seconds: float | None = None
        self._met_until_read: Overlap | None = None
        self._probe_seconds = 0.0

    def _new_read(self, moment: Moment) -> Read:
        plan = self.plan
        if plan.is_limited:
            return LimitedRead(plan.probe, self._values, moment, plan.timeout)
        return Read(plan.probe, self._values, moment)

    # Before the action -----------------------------------------------------------------------------------

    def lock(self, locks: Locks) -> None:
        """Take the check's lock; without it there can be no verdict, and the action runs all the same."""
        if self.plan.lock is not None and self.is_read:
            try:
                self._lock_seconds = locks.take(self.plan.lock, self._values)
            except NotLocked as fault:
                self.pre.fail(fault)

    async def lock_async(self, locks: Locks) -> None:
        """Do the same in an async action."""
        if self.plan.lock is not None and self.is_read:
            try:
                self._lock_seconds = await locks.take_async(self.plan.lock, self._values)
            except NotLocked as fault:
                self.pre.fail(fault)

    def enter(self, action: str, tag: CausalTag) -> None:
        """Make the check known to others of equal scope."""
        plan = self.plan
        # One that is sampled out is not read, but its action writes all the same.
        scope = plan.scope(self._values)
        self._entry = Entry(scope, action, tag, writes=plan.claims_change)
        open_window(self._entry)
        if plan.is_tagged and self.is_read:
            self._kin = DescendantTracker(tag.id, self.descendants, root=tag.root_id, above=tag.above)
            start_tracking(self._kin)

    # After it --------------------------------------------------------------------------------------------

    def is_readable(self, *, interrupted: bool) -> bool:
        """Return whether a post-state can be read that a verdict could use."""
        return self.is_read and self.pre.error is None and not (interrupted and self.plan.probe.is_async)

    def read(self, moment: Moment) -> Read:
        """Return the first read of the post-state, to be performed."""
        self.post = self._new_read(moment)
        return self.post

    @property
    def shown_baseline(self) -> Any:
        """What may be shown of the state before the action; UNREAD when there is none."""
        state, redaction = self.pre.value, self.plan.redaction
        if self.plan.is_tagged:
            state = without_contents(state)
        if redaction is not None:
            return redact_state(state, redaction)
        return outline(state) if self.plan.hides_content else state

    def read_again(self, moment: Moment) -> Read:
        """Return a fresh read of the post-state, which replaces the last one."""
        self._probe_seconds += self.post.seconds
        self.attempts += 1
        self.post = self._new_read(moment)
        return self.post

    def judge(
        self,
        values: Mapping[str, Any],
        result: Any,
        error: BaseException | None,
        tag: str,
        left: int | None,
        overlap: Overlap = ALONE,
        claim: Claim | None = None,
    ) -> CheckReport:
        """Judge the check on its reads; arguments as for `_judging.judge`."""
        if not self.is_read:
            return self._unjudged(_SAMPLED_OUT, tag)
        try:
            return judge(
                self.plan, self.pre, self.post, values, result, error, overlap, tag, left, self._kin, claim
            )
        except EXHAUSTED as fault:
            return self._unjudged(inconclusive("incomparable", _EXHAUSTED_NOTE, Raised.of(fault)), tag)

    def report(
        self,
        values: Mapping[str, Any],
        result: Any,
        error: BaseException | None,
        tag: str,
        left: int | None,
        claim: Claim | None = None,
    ) -> CheckReport:
        """Give the final report: judged against rivals, with what it took, without what must not be shown."""
        overlap = self.leave()
        plan = self.plan
        if self._met_until_read is not None and self.attempts == 1:
            overlap = self._met_until_read  # who came after the only read has no part in it
        # A lock that every writer takes leaves no rivals. Where there is one, somebody did not take it.
        if plan.ignores_rivals:
            overlap = ALONE
        if self.is_watched and self.settle_seconds is None:
            return self._finished(self._unjudged(inconclusive("abandoned", _UNSETTLED), tag))
        report = self._finished(self.judge(values, result, error, tag, left, overlap, claim))
        if (
            ATTRIBUTION_KINDS[plan.attribution].includes_unverified_writers
            and plan.claims_change
            and report.passed
        ):
            warn_of_unverified_writers(plan.metric, plan.attribution)
        return report

    def abandoned(self, tag: str, why: str) -> CheckReport:
        """Give the report of a check whose window ended before its verdict."""
        self.leave()
        return self._finished(self._unjudged(inconclusive("abandoned", why), tag))

    def retire(self) -> None:
        """End the window for others, though its verdict is reached later and may need further reads."""
        if self._entry is not None:
            self._met_until_read = self.overlap.joined(retire_window(self._entry))

    def leave(self) -> Overlap:
        """Take the check out of its scope, and return which windows overlapped."""
        if self._kin is not None:
            stop_tracking(self._kin)
            self.descendants = self._kin.tags - {self._kin.tag}
        if self._entry is not None:
            found = close_window(self._entry)
            self._entry = None  # not before: if an interrupt comes meanwhile, it is left again
            self.overlap = self.overlap.joined(found)
        return self.overlap

    def _unjudged(self, verdict: Verdict, tag: str) -> CheckReport:
        plan = self.plan
        states = (self.pre.value, self.post.value)
        return CheckReport(plan.metric, verdict, plan.attribution, tag, *states, None, plan.expectation)

    def _finished(self, report: CheckReport) -> CheckReport:
        if self.settle_seconds is not None or self._lock_seconds is not None:
            timing = Timing(self.attempts, self.settle_seconds, self._lock_seconds)
            seconds = report.probe_seconds + self._probe_seconds
            report = replace(report, probe_seconds=seconds, timing=timing)
        plan = self.plan
        if plan.redaction is not None:
            return redact_report(report, plan.redaction, claims_change=plan.claims_change)
        if not (plan.is_content and plan.hides_content):  # a field costs less than a property
            return report
        return hide_content(
            report, claims_change=plan.claims_change, has_computed_operands=bool(plan.computed)
        )


class Watched:
    """A check whose post-state is looked at again until it is settled.

    Args:
        check: the check.
        patience: how long.
        holds: whether it passes on what was read last.
    """

    __slots__ = ("_check", "holds", "patience")

    def __init__(self, check: CheckRun, patience: Patience, holds: Callable[[], bool]) -> None:
        self._check = check
        check.is_watched = True
        self.patience = patience
        self.holds = holds

    def read_again(self, moment: Moment) -> Read:
        """Return a fresh read of the post-state, at that moment."""
        return self._check.read_again(moment)

    def settled(self, seconds: float) -> None:
        """Note how long it took to know, from the end of the action."""
        self._check.settle_seconds = seconds
