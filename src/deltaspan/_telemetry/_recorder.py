"""The telemetry of one run: its context with tag and span, and its end."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from functools import partial
from threading import get_ident
from typing import Final, NamedTuple

from opentelemetry.context import Context, attach, get_current
from opentelemetry.trace import INVALID_SPAN, Link, Span, SpanKind, get_current_span, set_span_in_context

from deltaspan import semconv
from deltaspan._config import settings
from deltaspan._guard import guarded
from deltaspan._process import on_fork
from deltaspan._reports import ActionReport
from deltaspan._telemetry._attributes import ActionNames
from deltaspan._telemetry._events import ALWAYS_LOGGED, add_span_events, emit_log_events, log_events_enabled
from deltaspan._telemetry._instruments import Instruments, instruments
from deltaspan._telemetry._metrics import record_metrics
from deltaspan._telemetry._propagation import notice_lost_baggage
from deltaspan._telemetry._span import framework_tool_span, identity_of, record_verdict
from deltaspan._telemetry._values import renderer_for
from deltaspan._workers import run_in_background, start_background_thread
from deltaspan.causal_tag import (
    CausalTag,
    attempt_of,
    context_with,
    context_without,
    continue_trace,
    effective_context,
    headers_of,
    mint,
)

__all__ = ["ResumedRun", "RunTelemetry"]


_recording: Final[set[int]] = set()
"""The ids of the threads that are recording a run."""


@on_fork
def _forget_other_threads() -> None:
    # They do not exist in a forked child, and a thread of the child may get the id of one of them.
    _recording.intersection_update({get_ident()})


class ResumedRun(NamedTuple):
    """A run that began in another process.

    Attributes:
        tag: its causal tag.
        attempt: which run of its action below its parent it is.
        headers: the headers that name its span there. Empty if it had none.
    """

    tag: CausalTag
    attempt: int
    headers: Mapping[str, str]


class RunTelemetry:
    """The telemetry of one run of one action.

    Args:
        names: the names and attribute sets of the action.
        resumed: the run to continue, or None for a new one.

    Attributes:
        attempt: which run of the action below its parent it is, from 1.
        tag: the run's causal tag.
        context: the OpenTelemetry context that the action runs in.
    """

    __slots__ = (
        "_inner_context",
        "_instruments",
        "_links",
        "_names",
        "_owns_span",
        "_span",
        "_token",
        "attempt",
        "context",
        "tag",
    )

    def __init__(self, names: ActionNames, resumed: ResumedRun | None = None) -> None:
        outer = effective_context()
        self._names = names
        self._token: Token[Context] | None = None
        self._links: list[Link] | None = None
        if resumed is None:
            self.tag: CausalTag = mint(outer)
            self.attempt = attempt_of(self.tag, names.action)
        else:
            self.tag, self.attempt, headers = resumed
            here = get_current_span(outer).get_span_context()
            outer = continue_trace(headers, outer)
            self._links = [Link(here)] if here.is_valid else None
        self.context = context_with(self.tag, outer)
        self._instruments: Instruments | None = None
        self._span: Span = INVALID_SPAN
        self._owns_span = False
        self._inner_context: Context | None = (
            None  # the context of a suspended generator's body, perhaps with a span of its own
        )
        guarded("starting telemetry", self._start, outer)

    def _start(self, outer: Context) -> None:
        names, recorders = self._names, instruments()
        self._instruments = recorders
        identity = identity_of(names.identity, self.tag, self.attempt)
        framework_span = framework_tool_span(names.action, outer) if names.is_tool else None
        if framework_span is not None:
            framework_span.set_attributes(identity)
            self._span = framework_span
        else:
            # The context has the tag's baggage, so that baggage processors stamp this span with it.
            self._span = recorders.tracer.start_span(
                names.span_name, self.context, SpanKind.INTERNAL, identity, self._links
            )
            self._owns_span = True
            self.context = set_span_in_context(self._span, self.context)
        if names.zeroed_instruments is not recorders:
            names.start_at_zero(recorders)
            notice_lost_baggage(self._span)

    def enter(self) -> None:
        """Make tag and span current, for one step of the run."""
        self._token = attach(self._inner_context or self.context)

    def suspend(self) -> None:
        """Undo `enter` between two steps, and keep the current context for the next."""
        self._inner_context = get_current()
        self.leave()

    def leave(self) -> None:
        """Undo `enter`. Do nothing in a context that did not enter.

        A generator or coroutine may be closed in another context than it was suspended in: by an event loop
        that shuts down, or by the garbage collector.
        """
        token, self._token = self._token, None
        if token is None:
            return
        current, entered = get_current(), self._inner_context or self.context
        try:
            token.var.reset(token)  # OpenTelemetry's `detach` would log an error in another context
        except ValueError:
            return
        if current is not entered:
            self._keep(current)

    def _keep(self, inner: Context) -> None:
        """Pass on to the caller's context the values that the action attached and left."""
        outer = get_current()
        kept = context_without(self.tag, inner, outer)
        if get_current_span(kept) is self._span:
            kept = set_span_in_context(get_current_span(outer), kept)
        if kept != outer:
            attach(kept)

    def headers(self) -> dict[str, str]:
        """Return the W3C headers, in lower case, that carry this run's tag."""
        return headers_of(self.context)

    def hand_over(self) -> None:
        """End the span without a verdict, because another process reaches it.

        The verdict is on a child span with the same tag.
        """
        guarded("recording telemetry", self._hand_over)

    def _hand_over(self) -> None:
        self._span.set_attribute(semconv.WINDOW_HANDED_OVER, True)
        if self._owns_span:
            self._span.end()

    def defer(self) -> None:
        """End the action's span, and start a linked one for the verdict."""
        guarded("deferring telemetry", self._defer)

    def _defer(self) -> None:
        if self._instruments is None:
            return
        verifying = self._instruments.tracer.start_span(
            f"{semconv.SPAN_VERIFY} {self._names.action}",
            self.context,
            SpanKind.INTERNAL,
            identity_of(self._names.action_attributes, self.tag, self.attempt),
            [Link(self._span.get_span_context())],
        )
        if self._owns_span:
            self._span.end()
        self._span, self._owns_span = verifying, True
        self.context = set_span_in_context(verifying, self.context)

    def finish(self, report: ActionReport, error: BaseException | None) -> None:
        """Record the report, end the span, and contain every fault."""
        thread = get_ident()
        if thread in _recording:
            # A signal handler or a finalizer interrupted this method. This thread may hold a lock of the SDK.
            start_background_thread()
            run_in_background(partial(self.finish, report, error))
            return
        _recording.add(thread)
        try:
            guarded("recording telemetry", self._finish, report, error)
        finally:
            _recording.discard(thread)

    def _finish(self, report: ActionReport, error: BaseException | None) -> None:
        # Each step runs even if the one before raises. The log then shows all exceptions.
        recorders = self._instruments
        if recorders is None:
            return
        try:
            record_metrics(recorders, self._names, report, self.context)
        finally:
            try:
                self._record_checks(recorders, report, error)
            finally:
                if self._owns_span:
                    self._span.end()

    def _record_checks(
        self, recorders: Instruments, report: ActionReport, error: BaseException | None
    ) -> None:
        config = settings()
        is_recording = self._span.is_recording()
        # A verdict against the action must not be lost because its trace was not sampled.
        is_urgent = not is_recording and report.outcome in ALWAYS_LOGGED
        to_log = (config.log_events or is_urgent) and log_events_enabled(recorders.logger, self.context)
        if not is_recording and not to_log:
            return
        renderer = renderer_for(config)
        checks = [renderer.render(check) for check in report.checks]
        try:
            if is_recording:
                record_verdict(self._span, report, checks, renderer, error)
                if config.span_events:
                    add_span_events(self._span, checks, renderer, report.claim)
        finally:
            if to_log:
                logged = (
                    checks if config.log_events else [c for c in checks if c.check.outcome in ALWAYS_LOGGED]
                )
                emit_log_events(recorders.logger, report, logged, renderer, self.context)
