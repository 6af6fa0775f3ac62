"""A window around a block, and what it shares with one that is opened by hand."""

from __future__ import annotations

import inspect
import keyword
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar

from deltaspan._reports._collect import hand_out
from deltaspan._engine._handoff import WindowRun
from deltaspan._batches import enabled
from deltaspan._engine._plan import Options
from deltaspan._engine._plan_part1 import make_plan
from deltaspan._verdicts import UNREAD, Verdict
from deltaspan._reports import ActionReport
from deltaspan._engine._skipped import SKIPPED, unverified
from deltaspan.checks import Check
from deltaspan.exceptions import DefinitionTypeError, WindowStateError
from deltaspan.typing import Contention, Policy, ReportHook

__all__ = ["BlockWindow"]

B = TypeVar("B", bound="BlockWindow")


class BlockWindow:
    """One verification window, used once, around a block; arguments as for `window`."""

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
        self._args = dict(args or {})
        parameters = [
            inspect.Parameter(arg, inspect.Parameter.KEYWORD_ONLY)
            for arg in self._args
            if isinstance(arg, str) and arg.isidentifier() and not keyword.iskeyword(arg)
        ]
        options = Options(on_failure, on_inconclusive, on_report, on_contention=on_contention, claim=claim)
        self._plan = make_plan(name, None, parameters, checks, options)
        self.result: Any = UNREAD
        self._run: WindowRun | None = None
        self._report: ActionReport | None = None
        self._opened = False
        self._in_block = False
        self._handed_over = False
        self._unverified: weakref.finalize[Any, Any] | None = None

    @property
    def report(self) -> ActionReport:
        """The report, once the window has closed.

        Raises:
            WindowStateError: the window is still open, or was never opened, or was handed over.
        """
        self._refuse_handed_over()
        if self._report is None:
            raise WindowStateError(
                f"window {self._plan.action!r} has not been verified yet, so it has no report"
            )
        return self._report

    @property
    def causal_tag(self) -> str | None:
        """The tag of this window, canonical UUID text; None before it opens and when disabled."""
        return None if self._run is None else self._run.tag.id

    def __enter__(self: B) -> B:
        self._refuse_async("with")
        run = self._begin()
        if run is not None:
            self._in_block = True
            try:
                run.__enter__()
            except BaseException:
                self._report = run.report
                raise
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

    async def __aenter__(self: B) -> B:
        run = self._begin()
        if run is not None:
            self._in_block = True
            try:
                await run.__aenter__()
            except BaseException:
                self._report = run.report
                raise
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

    def _begin(self) -> WindowRun | None:
        if self._opened:
            raise WindowStateError(
                f"window {self._plan.action!r} was opened already; make a new one for each run"
            )
        self._opened = True
        if not enabled():
            self._report = self._skipped(SKIPPED)
            return None
        self._run = WindowRun(self._plan, self._args)
        return self._run

    def _refuse_handed_over(self) -> None:
        if self._handed_over:
            raise WindowStateError(
                f"window {self._plan.action!r} was handed over by to_json(); its report is where "
                f"Window.from_json() loads that text and verify() is called"
            )

    def _skipped(self, verdict: Verdict) -> ActionReport:
        report = unverified(self._plan, verdict)
        hand_out(report)
        return report

    def _refuse_async(self, how: str) -> None:
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
