"""`window`: verification around a block, or by hand across call sites."""

from __future__ import annotations

import inspect
import keyword
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType, TracebackType
from typing import Any, Final, TypeVar

from deltaspan._batches import enabled
from deltaspan._engine import (
    SKIPPED,
    Handoff,
    Options,
    Run,
    check_resumable,
    check_same_metrics,
    load,
    make_plan,
    report_unverified,
    resume,
    to_document,
    unopened_document,
    validate_key,
    validate_max_age,
)
from deltaspan._reports import ActionReport, publish_report
from deltaspan._verdicts import UNREAD, Verdict
from deltaspan._workers import run_in_background, start_background_thread
from deltaspan.causal_tag import causal_headers
from deltaspan.checks import Check
from deltaspan.exceptions import DefinitionTypeError, WindowStateError
from deltaspan.typing import Contention, Policy, ReportHook

__all__ = ["Window", "window"]

W = TypeVar("W", bound="Window")

_SKIPPED_BEFORE: Final = Verdict(
    "skipped", note="not verified, because DELTASPAN_ENABLED was false where the baseline is captured"
)


class _State(Enum):
    """The state of a window.

    NEW ──with, async with──▶ IN_BLOCK ──end of the block──▶ CLOSED
     ├──capture_baseline, from_json──▶ BY_HAND ──verify────▶ CLOSED
     │                                   └──────to_json──┬─▶ HANDED_OVER
     └──any of these, if disabled──▶ DISABLED ──to_json──┘
    """

    NEW = "new"
    IN_BLOCK = "in block"
    BY_HAND = "by hand"
    DISABLED = "disabled"
    CLOSED = "closed"
    HANDED_OVER = "handed over"


class Window:
    """One verification window, defined by `window(...)` and used once.

    Its arguments are those of `window`. Use it around a block, with `with window(...) as w:` or `async with`.
    Or use it by hand: `capture_baseline()`, and then `verify()`, which may be called elsewhere and in another
    thread. Inside a block the causal tag is current. By hand, nothing stays current between the two calls.

    If a window is opened by hand and never verified, it is reported as `abandoned` when it is collected,
    unless `to_json()` handed it over to another process.

    Attributes:
        result: what the action returned, for expected values that name `result`. Set it inside the block, or
            pass it to `verify`.
    """

    def __init__(
        self,
        name: str,
        *checks: Check[Any],
        args: Mapping[str, Any] | None = None,
        on_failure: Policy | None = None,
        on_inconclusive: Policy | None = None,
        on_report: ReportHook | None = None,
        on_contention: Contention = "inconclusive",
        claim: Callable[..., object] | None = None,
    ) -> None:
        options = Options(on_failure, on_inconclusive, on_report, on_contention=on_contention, claim=claim)
        self._define(name, checks, args, options)

    @classmethod
    def _with_options(
        cls, name: str, checks: Sequence[Check[Any]], args: Mapping[str, Any] | None, options: Options
    ) -> Window:
        defined: Window = cls.__new__(cls)
        defined._define(name, checks, args, options)
        return defined

    def _define(
        self, name: str, checks: Sequence[Check[Any]], args: Mapping[str, Any] | None, options: Options
    ) -> None:
        self._args = dict(args or {})
        parameters = [
            inspect.Parameter(arg, inspect.Parameter.KEYWORD_ONLY)
            for arg in self._args
            if isinstance(arg, str) and arg.isidentifier() and not keyword.iskeyword(arg)
        ]
        self._plan = make_plan(name, None, parameters, checks, options)
        self.result: Any = UNREAD
        self._state = _State.NEW
        self._run: Run | None = None
        self._skipped_report: ActionReport | None = None
        self._captured_at = 0.0
        self._finalizer: weakref.finalize[Any, Any] | None = None

    @property
    def report(self) -> ActionReport:
        """The report, once the window has closed.

        Raises:
            WindowStateError: the window is still open, or was never opened, or was handed over.
        """
        self._check_not_handed_over()
        report = self._skipped_report if self._run is None else self._run.report
        if report is None:
            raise WindowStateError(
                f"window {self._plan.action!r} has not been verified yet, so it has no report"
            )
        return report

    @property
    def causal_tag(self) -> str | None:
        """The tag of this window as UUID text, or None."""
        return None if self._run is None else self._run.tag.id

    def __enter__(self: W) -> W:
        self._check_can_block("with")
        run = self._begin(_State.IN_BLOCK)
        if run is not None:
            try:
                run.__enter__()
            except BaseException:
                self._state = _State.CLOSED
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None:
            self._state, self._run.result = _State.CLOSED, self.result
            self._run.__exit__(kind, error, trace)

    async def __aenter__(self: W) -> W:
        run = self._begin(_State.IN_BLOCK)
        if run is not None:
            try:
                await run.__aenter__()
            except BaseException:
                self._state = _State.CLOSED
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None:
            self._state, self._run.result = _State.CLOSED, self.result
            await self._run.__aexit__(kind, error, trace)

    def _begin(self, state: _State) -> Run | None:
        """Return the run of a new window, or None if deltaspan is disabled."""
        if self._state is not _State.NEW:
            raise WindowStateError(
                f"window {self._plan.action!r} was opened already; make a new one for each run"
            )
        if not enabled():
            self._skip(SKIPPED)
            return None
        self._state, self._run = state, Run(self._plan, self._args)
        return self._run

    def _check_not_handed_over(self) -> None:
        if self._state is _State.HANDED_OVER:
            raise WindowStateError(
                f"window {self._plan.action!r} was handed over by to_json(); its report is where "
                f"Window.from_json() loads that text and verify() is called"
            )

    def _skip(self, verdict: Verdict) -> None:
        self._state = _State.DISABLED
        self._skipped_report = report_unverified(self._plan, verdict)
        publish_report(self._skipped_report)

    def _check_can_block(self, how: str) -> None:
        lock = self._plan.first_async_lock
        if lock is not None:
            raise DefinitionTypeError(
                f"window {self._plan.action!r} was opened by {how}, but the lock of check {lock!r} "
                f"is async; use async with"
            )
        metric = self._plan.first_async_metric
        if metric is not None:
            raise DefinitionTypeError(
                f"window {self._plan.action!r} was opened by {how}, but the probe of check {metric!r} "
                f"is async; use async with"
            )

    def capture_baseline(self) -> Mapping[str, Any]:
        """Read every baseline, by hand.

        The action comes next, and then `verify()`.

        Returns:
            The frozen baselines by metric. Of a redacted check, only what may be shown. If a probe fails, its
            metric is missing, and its check is inconclusive.

        Raises:
            WindowStateError: the window was opened before.
            DefinitionTypeError: a probe is async. Use `async with`.
        """
        self._check_can_block("capture_baseline()")
        self._captured_at = time.time()
        run = self._begin(_State.BY_HAND)
        if run is None:
            return {}
        try:
            run.capture()
        except BaseException:
            self._state = _State.CLOSED
            raise
        self._abandon_when_collected(run)
        return MappingProxyType(
            {metric: state for metric, state in run.shown_baselines.items() if state is not UNREAD}
        )

    def verify(self, result: Any = UNREAD) -> ActionReport:
        """Read every post-state and judge.

        Args:
            result: what the action returned, for expected values that name `result`.

        Raises:
            WindowStateError: no baseline was captured, or the window was verified before or handed over.
            DeltaCheckFailed: a check failed and the policy is `raise`.
            DeltaInconclusive: a check has no verdict and the policy is `raise`.
        """
        self._check_not_handed_over()
        if self._state is _State.NEW:
            raise WindowStateError("baseline never captured; cannot verify a delta")
        if self._state is _State.IN_BLOCK:
            raise WindowStateError(
                f"window {self._plan.action!r} is verified when its block ends; "
                f"set w.result inside the block if a check names 'result'"
            )
        if self._state is _State.CLOSED:
            raise WindowStateError(
                f"window {self._plan.action!r} was verified already; make a new one for each run"
            )
        if self._run is not None:
            self._state, self._run.result = _State.CLOSED, self.result if result is UNREAD else result
            self._stop_watching()
            self._run.verify()
        return self.report

    def causal_headers(self) -> dict[str, str]:
        """Return the headers that make the acts of others part of this window.

        They are those of `deltaspan.causal_headers()`, and exist also for a window that was opened by hand,
        which is never current. The process that acts passes them to `adopt(headers)`, or a subprocess finds
        them in its environment, with the names in upper case.

        Raises:
            WindowStateError: the window was not opened yet, so it has no tag.
        """
        if self._state is _State.NEW:
            raise WindowStateError(
                f"window {self._plan.action!r} has no causal tag yet; call capture_baseline() first"
            )
        return causal_headers() if self._run is None else self._run.headers()

    def to_json(self, *, key: bytes | str | None = None) -> str:
        """Close the window, and return the text with which another process verifies it.

        The text holds the baselines, the values of `args`, the causal tag and the trace. In this process the
        window is neither verified nor abandoned, and its span ends without a verdict.

        Args:
            key: a secret that both sides have. It signs the text with HMAC-SHA256. Without a key, a digest
                detects corruption, but not forgery.

        Raises:
            WindowStateError: the window is not open, or is one around a block.
            DefinitionValueError: something cannot be serialized, or a check is redacted or holds a lock. The
                window stays open.
            DefinitionTypeError: the key is neither bytes nor a string.

        Example:
            >>> from deltaspan import Window, change, window
            >>> rows = [1, 2]
            >>> opened = window("load", change("rows", lambda: len(rows)).by(1))
            >>> opened.capture_baseline()
            mappingproxy({'rows': 2})
            >>> text = opened.to_json(key="secret")
            >>> rows.append(3)
            >>> there = Window.from_json(text, change("rows", lambda: len(rows)).by(1), key="secret")
            >>> there.verify().outcome
            'pass'
        """
        secret = validate_key(key)
        self._check_can_be_handed_over()
        if self._run is None:
            text = unopened_document(self._plan.action, [check.metric for check in self._plan.checks], secret)
        else:
            text = to_document(self._run, self._plan, self._args, self._captured_at, secret)
        self._stop_watching()
        self._state = _State.HANDED_OVER
        return text

    @classmethod
    def from_json(
        cls,
        text: str | bytes | bytearray,
        *checks: Check[Any],
        max_age: float | None = None,
        key: bytes | str | None = None,
        on_failure: Policy | None = None,
        on_inconclusive: Policy | None = None,
        on_report: ReportHook | None = None,
        on_contention: Contention = "inconclusive",
        claim: Callable[..., object] | None = None,
    ) -> Window:
        """Reopen a window that another process handed over.

        `verify()` comes next. It is the same window, with the same name, causal tag, trace and values of
        `args`. If a text is loaded twice, it is verified twice, and gives two reports with one tag.

        Args:
            text: what `to_json()` returned.
            checks: one for each metric that the window was opened with.
            max_age: how old the baselines may be when they are compared, in seconds by the clocks of both
                machines. If they are older, each check is `inconclusive: stale_baseline`.
            key: the secret that `to_json()` was given.
            on_failure: as for `expects`.
            on_inconclusive: as for `expects`.
            on_report: as for `expects`.
            on_contention: as for `expects`.
            claim: as for `window`. It does not travel with the text, so pass it again.

        Raises:
            DefinitionValueError: the text is malformed, corrupted, forged or of another version, just one
                side has a key, or the metrics are not those of the window.
            DefinitionTypeError: an argument has the wrong type, or a probe is async.
        """
        age = validate_max_age(max_age)
        handoff = load(text, validate_key(key))
        check_same_metrics(handoff, [check.metric for check in checks if isinstance(check, Check)])
        options = Options(on_failure, on_inconclusive, on_report, on_contention=on_contention, claim=claim)
        reopened: Window = cls._with_options(handoff.name, checks, handoff.args, options)
        check_resumable(reopened._plan)
        reopened._reopen(handoff, age)
        return reopened

    def _reopen(self, handoff: Handoff, max_age: float | None) -> None:
        if handoff.resumed is None or not enabled():
            self._skip(_SKIPPED_BEFORE if handoff.resumed is None else SKIPPED)
            return
        self._captured_at = handoff.captured_at
        self._state, self._run = _State.BY_HAND, resume(self._plan, handoff, max_age)
        self._abandon_when_collected(self._run)

    def _abandon_when_collected(self, run: Run) -> None:
        # The run holds no reference to its window, so the window can be collected while its run is open.
        start_background_thread()
        self._finalizer = weakref.finalize(self, run_in_background, run.abandon)

    def _stop_watching(self) -> None:
        if self._finalizer is not None:
            self._finalizer.detach()

    def _check_can_be_handed_over(self) -> None:
        self._check_not_handed_over()
        name = self._plan.action
        if self._state is _State.NEW:
            raise WindowStateError(
                f"window {name!r} has no baseline to hand over; call capture_baseline() first"
            )
        if self._state is _State.IN_BLOCK:
            raise WindowStateError(
                f"window {name!r} is verified when its block ends, so it cannot be handed over; "
                f"open it by capture_baseline() instead of with"
            )
        if self._state is _State.CLOSED:
            raise WindowStateError(
                f"window {name!r} was verified already; there is nothing left to hand over"
            )


def window(
    name: str,
    *checks: Check[Any],
    args: Mapping[str, Any] | None = None,
    on_failure: Policy | None = None,
    on_inconclusive: Policy | None = None,
    on_report: ReportHook | None = None,
    on_contention: Contention = "inconclusive",
    claim: Callable[..., object] | None = None,
) -> Window:
    """Verify what a block changes.

    Args:
        name: the window's name in telemetry and reports. It stands for a kind of window and is not an id. If
            one call site uses more than 100 names, the further ones are `_OTHER` in metrics and span names.
        checks: one or more of `change(...)`, `unchanged(...)`, `observe(...)`; each metric once.
        args: values that probes and expected values may name, like the parameters of an action.
        on_failure: as for `expects`; `raise` raises when the block ends.
        on_inconclusive: as for `expects`.
        on_report: as for `expects`.
        on_contention: as for `expects`.
        claim: as for `expects`, with the values of `args` for parameters. `result` is what was set as
            `w.result` or given to `verify`.

    Raises:
        DefinitionTypeError: something is not a check, or names a value that `args` does not hold.
        DefinitionValueError: two metrics have one key in the names of attributes, as `a.b` and `a-b` have, or
            an option has an unknown value.

    Example:
        >>> from deltaspan import change, window
        >>> rows = [1, 2, 3]
        >>> with window("nightly_import", change("rows", lambda: len(rows)).by_between(1, 5)) as w:
        ...     rows.extend([4, 5])
        >>> print(w.report["rows"].explanation)
        rows changed by 2, as expected (3 → 5)
    """
    options = Options(on_failure, on_inconclusive, on_report, on_contention=on_contention, claim=claim)
    return Window._with_options(name, checks, args, options)  # noqa: SLF001  # of this module
