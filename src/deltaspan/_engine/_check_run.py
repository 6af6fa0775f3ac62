"""One check in one run: its lock, its window and its reads."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from deltaspan._attribution import (
    ALONE,
    Entry,
    Locks,
    Overlap,
    close_window,
    open_window,
    retire_window,
)
from deltaspan._batches import ReadBatch
from deltaspan._engine._baselines import Baseline
from deltaspan._engine._call import Call
from deltaspan._engine._plan import CheckPlan
from deltaspan._engine._read_spans import probe_in_span
from deltaspan._engine._reads import NO_READ, Read
from deltaspan._engine._sampling import is_sampled
from deltaspan._reports import outline, redact_state
from deltaspan._state.diff import without_contents
from deltaspan._verdicts import UNREAD, NotLocked, Raised, Verdict, inconclusive
from deltaspan.causal_tag import DescendantTracker, start_tracking, stop_tracking

SAMPLED_OUT: Final = Verdict("skipped", note="not read, because this run was sampled out")


class CheckRun:
    """One check in one run.

    Args:
        plan: the check.
        call: the start of the run. Its tag decides whether the check is sampled.
        batch: the baselines that are read together.

    Attributes:
        plan: as given.
        call: as given.
        early_verdict: the verdict if it was reached before the action, so that nothing is read. Otherwise
            None.
        pre: the read before the action.
        post: the last read after it.
        attempts: how many reads there were after the action.
        earlier_probe_seconds: what the reads that `post` replaced cost, in seconds.
        lock_seconds: how long the lock had to be waited for. None without a lock.
        settle_seconds: from the end of the action to the last read. None without `eventually` or
            `holding_for`.
        is_polled: whether the post-state is read again until the verdict is settled.
        overlap: the windows that overlapped, in another process before this one was handed over and here.
        overlap_when_retired: the same until the first read after the action. None if the window was not
            retired.
        tracker: knows which runs descend from this one. None for a check that is not on tagged rows.
        descendants: the tags of runs below this one. Before the check opens, those that are known from
            another process. After it has closed, all of them.
    """

    __slots__ = (
        "_entry",
        "_probe",
        "attempts",
        "call",
        "descendants",
        "earlier_probe_seconds",
        "early_verdict",
        "is_polled",
        "lock_seconds",
        "overlap",
        "overlap_when_retired",
        "plan",
        "post",
        "pre",
        "settle_seconds",
        "tracker",
    )

    def __init__(self, plan: CheckPlan, call: Call, batch: ReadBatch) -> None:
        self.plan = plan
        self.call = call
        self._probe = plan.probe
        if call.open_read_span is not None:
            self._probe = probe_in_span(plan.probe, plan.metric, call.open_read_span)
        self.pre = Read(self._probe, call.values, batch, plan.limit)
        self.post = NO_READ
        rate = plan.modifiers.sample_rate
        is_read = rate >= 1 or is_sampled(call.tag, rate)
        self.early_verdict: Verdict | None = None if is_read else SAMPLED_OUT
        self.is_polled = False
        self.attempts = 1
        self.earlier_probe_seconds = 0.0
        self.overlap = ALONE
        self.overlap_when_retired: Overlap | None = None
        self.descendants: Collection[str] = ()
        self.tracker: DescendantTracker | None = None
        self.settle_seconds: float | None = None
        self.lock_seconds: float | None = None
        self._entry: Entry | None = None

    # Before the action -----------------------------------------------------------------------------------

    def lock(self, locks: Locks) -> None:
        """Take the lock of the check.

        If that fails, the check has its verdict already, and the action runs all the same.
        """
        if self.plan.lock is not None and self.early_verdict is None:
            try:
                self.lock_seconds = locks.take(self.plan.lock, self.call.values)
            except NotLocked as error:
                self.early_verdict = _not_locked(error)

    async def lock_async(self, locks: Locks) -> None:
        """Take the lock of the check in an async action, as `lock` does."""
        if self.plan.lock is not None and self.early_verdict is None:
            try:
                self.lock_seconds = await locks.take_async(self.plan.lock, self.call.values)
            except NotLocked as error:
                self.early_verdict = _not_locked(error)

    def restore(self, baseline: Baseline) -> None:
        """Take a baseline that was captured earlier. Call it before `open`."""
        self.pre.restore(baseline.state, baseline.error, baseline.seconds)
        self.overlap, self.descendants = baseline.overlap, baseline.descendants
        # Whoever captured the baseline has decided whether the check is sampled.
        was_read = baseline.state is not UNREAD or baseline.error is not None
        self.early_verdict = None if was_read else SAMPLED_OUT

    def open(self, action: str) -> None:
        """Open the window of the check, so that other windows see it.

        A check that is sampled out has a window too: its action writes all the same.
        """
        plan, tag = self.plan, self.call.tag
        self._entry = Entry(plan.scope(self.call.values), action, tag, plan.claims_change)
        open_window(self._entry)
        if plan.is_tagged and self.early_verdict is None:
            self.tracker = DescendantTracker(tag.id, self.descendants, root=tag.root_id, above=tag.above)
            start_tracking(self.tracker)

    # After the action ------------------------------------------------------------------------------------

    def is_readable(self, *, can_await: bool) -> bool:
        """Return whether a post-state can be read that a verdict could use."""
        return (
            self.early_verdict is None
            and self.pre.error is None
            and (can_await or not self.plan.probe.is_async)
        )

    def new_post_read(self, batch: ReadBatch) -> Read:
        """Return the first read of the post-state, to be performed."""
        self.post = Read(self._probe, self.call.values, batch, self.plan.limit)
        return self.post

    def read_again(self, batch: ReadBatch) -> Read:
        """Return a further read of the post-state, which replaces the last one."""
        self.earlier_probe_seconds += self.post.seconds
        self.attempts += 1
        return self.new_post_read(batch)

    def retire(self) -> None:
        """Let other windows open without contending with this one, whose verdict comes later."""
        if self._entry is not None:
            self.overlap_when_retired = self.overlap.joined(retire_window(self._entry))

    def close(self) -> Overlap:
        """Close the window of the check, and return the windows that overlapped it."""
        if self.tracker is not None:
            stop_tracking(self.tracker)
            self.descendants = self.tracker.tags - {self.tracker.tag}
        if self._entry is not None:
            overlap = close_window(self._entry)
            self._entry = None  # not earlier: after an interrupt between the two lines, it is closed again
            self.overlap = self.overlap.joined(overlap)
        return self.overlap

    @property
    def baseline(self) -> Baseline:
        """The baseline. After the check has closed, with every run that overlapped or descends."""
        pre = self.pre
        return Baseline(pre.value, pre.error, pre.seconds, self.overlap, tuple(self.descendants))

    @property
    def shown_baseline(self) -> Any:
        """The part of the baseline that may be shown, or UNREAD."""
        state, redaction = self.pre.value, self.plan.modifiers.redaction
        if self.plan.is_tagged:
            state = without_contents(state)
        if redaction is not None:
            return redact_state(state, redaction)
        return outline(state) if self.plan.hides_content else state


def _not_locked(error: NotLocked) -> Verdict:
    return inconclusive("baseline_failed", str(error), Raised.of(error))
