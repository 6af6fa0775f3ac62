"""`window`: the same verification around a block, or by hand across call sites."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Any

from deltaspan._background import later, prepare
from deltaspan._config import enabled
from deltaspan._engine import Run
from deltaspan._plan import Options, make_plan
from deltaspan._records import UNREAD, Verdict
from deltaspan._reports import ActionReport, CheckReport
from deltaspan.checks import Check
from deltaspan.exceptions import DefinitionTypeError, WindowStateError
from deltaspan.typing import Policy, ReportHook

__all__ = ["Window", "window"]

_SKIPPED = Verdict("skipped", note="not verified, because DELTASPAN_ENABLED is false")


class Window:
    """One verification window; made by `window(...)`, used once.

    Around a block, `with window(...) as w:` or `async with`; or by hand, `capture_baseline()` and then
    `verify()`, which may be called elsewhere and in another thread. Inside a block the causal tag is
    current; by hand nothing stays current between the two calls. A window that was opened by hand and
    is never verified is reported as `abandoned` when it is collected.

    Attributes:
        result: what the action returned, for expected values that name `result`; set it inside the block, or
            give it to `verify`.
    """

    def __init__(
        self,
        name: str,
        *checks: Check[Any],
        args: Mapping[str, Any] | None = None,
        on_failure: Policy | None = None,
        on_inconclusive: Policy | None = None,
        on_report: ReportHook | None = None,
    ) -> None:
        self._args = dict(args or {})
        parameters = [
            inspect.Parameter(arg, inspect.Parameter.KEYWORD_ONLY) for arg in self._args if arg.isidentifier()
        ]
        self._plan = make_plan(
            name, None, parameters, checks, Options(on_failure, on_inconclusive, on_report)
        )
        self.result: Any = UNREAD
        self._run: Run | None = None
        self._report: ActionReport | None = None
        self._opened = False
        self._in_block = False
        self._unverified: weakref.finalize[Any, Any] | None = None

    @property
    def report(self) -> ActionReport:
        """The report, once the window has closed.

        Raises:
            WindowStateError: the window is still open, or was never opened.
        """
        if self._report is None:
            raise WindowStateError(
                f"window {self._plan.action!r} has not been verified yet, so it has no report"
            )
        return self._report

    @property
    def causal_tag(self) -> str | None:
        """The tag of this window, canonical UUID text; None before it opens and when disabled."""
        return None if self._run is None else self._run.tag.id

    def capture_baseline(self) -> Mapping[str, Any]:
        """Read every baseline, by hand; the action comes next, then `verify()`.

        Returns:
            The frozen baselines by metric; a probe that failed is left out, its check is inconclusive.

        Raises:
            WindowStateError: the window was opened before.
            DefinitionTypeError: a probe is async; use `async with`.
        """
        self._refuse_async("capture_baseline()")
        run = self._begin()
        if run is None:
            return {}
        run.capture()
        # The run does not know its window, so a window that nobody holds is noticed.
        prepare()
        self._unverified = weakref.finalize(self, later, run.abandon)
        return MappingProxyType(
            {metric: read.value for metric, read in run.baselines.items() if read.error is None}
        )

    def verify(self, result: Any = UNREAD) -> ActionReport:
        """Read every post-state and judge.

        Args:
            result: what the action returned, for expected values that name `result`.

        Raises:
            WindowStateError: no baseline was captured, or the window was verified before.
            DeltaCheckFailed: a check failed and the policy is `raise`; DeltaInconclusive likewise.
        """
        if not self._opened:
            raise WindowStateError("baseline never captured; cannot verify a delta")
        if self._in_block:
            raise WindowStateError(
                f"window {self._plan.action!r} is verified when its block ends; "
                f"set w.result inside the block if a check names 'result'"
            )
        if self._report is not None and self._run is not None:
            raise WindowStateError(
                f"window {self._plan.action!r} was verified already; make a new one for each run"
            )
        run = self._run
        if run is not None:
            run.result = self.result if result is UNREAD else result
            if self._unverified is not None:
                self._unverified.detach()
            try:
                run.conclude()
            finally:
                self._report = run.report
        return self.report

    def __enter__(self) -> Window:
        self._refuse_async("with")
        run = self._begin()
        if run is not None:
            self._in_block = True
            run.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None:
            self._in_block, self._run.result = False, self.result
            try:
                self._run.__exit__(kind, error, trace)
            finally:
                self._report = self._run.report

    async def __aenter__(self) -> Window:
        run = self._begin()
        if run is not None:
            self._in_block = True
            await run.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None:
            self._in_block, self._run.result = False, self.result
            try:
                await self._run.__aexit__(kind, error, trace)
            finally:
                self._report = self._run.report

    def _begin(self) -> Run | None:
        if self._opened:
            raise WindowStateError(
                f"window {self._plan.action!r} was opened already; make a new one for each run"
            )
        self._opened = True
        if not enabled():
            self._report = self._skipped()
            return None
        self._run = Run(self._plan, self._args)
        return self._run

    def _skipped(self) -> ActionReport:
        return ActionReport(
            self._plan.action,
            None,
            tuple(
                CheckReport(
                    plan.metric, _SKIPPED, plan.attribution, None, UNREAD, UNREAD, None, plan.expectation
                )
                for plan in self._plan.checks
            ),
        )

    def _refuse_async(self, how: str) -> None:
        metric = self._plan.first_async_metric
        if metric is not None:
            raise DefinitionTypeError(
                f"window {self._plan.action!r} was opened by {how}, but the probe of check {metric!r} "
                f"is async; use async with"
            )


def window(
    name: str,
    *checks: Check[Any],
    args: Mapping[str, Any] | None = None,
    on_failure: Policy | None = None,
    on_inconclusive: Policy | None = None,
    on_report: ReportHook | None = None,
) -> Window:
    """Verify what a block changes.

    Args:
        name: the window's name in telemetry and reports.
        checks: one or more of `change(...)`, `unchanged(...)`, `observe(...)`; each metric once.
        args: values that probes and expected values may name, as they would an action's parameters.
        on_failure: as for `expects`; `raise` raises when the block ends.
        on_inconclusive: as for `expects`.
        on_report: as for `expects`.

    Raises:
        DefinitionTypeError: something is not a check, or names a value that `args` does not hold.
        DefinitionValueError: a metric is named twice, or an option has an unknown value.

    Example:
        >>> from deltaspan import change, window
        >>> rows = [1, 2, 3]
        >>> with window("nightly_import", change("rows", lambda: len(rows)).by_between(1, 5)) as w:
        ...     rows.extend([4, 5])
        >>> print(w.report["rows"].explanation)
        rows changed by 2, as expected (3 → 5)
    """
    return Window(
        name,
        *checks,
        args=args,
        on_failure=on_failure,
        on_inconclusive=on_inconclusive,
        on_report=on_report,
    )
