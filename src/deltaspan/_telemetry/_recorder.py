"""The telemetry of one run: a context with tag and span, entered step by step, and one finish."""

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
from deltaspan._reports import ActionReport
from deltaspan._telemetry._attributes import ActionNames
from deltaspan._telemetry._events import URGENT, add_span_events, emit_log_events, is_heard
from deltaspan._telemetry._instruments import Instruments, instruments
from deltaspan._telemetry._metrics import record_metrics
from deltaspan._telemetry._propagation import notice_lost_baggage
from deltaspan._telemetry._span import enrichable, identity_of, record_verdict
from deltaspan._telemetry._values import states_on_wire
from deltaspan._workers import later, prepare
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

__all__ = ["Resumed", "RunTelemetry"]


_recording: Final[set[int]] = set()
"""The threads that are recording a run."""


class Resumed(NamedTuple):
    """A run that began in another process.

    Attributes:
        tag: its causal tag.
        attempt: which run of its action below its parent it is.
        headers: what names the span that it had there; empty when there was none.
    """

    tag: CausalTag
    attempt: int
    headers: Mapping[str, str]


class RunTelemetry:
    """The telemetry of one run of one action.

    Args:
        names: what telemetry says of the action.
        resumed: the run that is gone on with here; None for a new one.

    Attributes:
        attempt: which run of the action below its parent it is, from 1.
        tag: the run's causal tag.
        context: the OpenTelemetry context that the action runs in.
    """

    __slots__ = (
        "_inside",
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

    def __init__(self, names: ActionNames, resumed: Resumed | None = None) -> None:
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
        self._inside: Context | None = (
            None  # where a suspended generator's body was, perhaps in a span of its own
        )
        guarded("starting telemetry", self._start, outer)

    def _start(self, outer: Context) -> None:
        names, recorders = self._names, instruments()
        self._instruments = recorders
        identity = identity_of(names.identity, self.tag, self.attempt)
        framework_span = enrichable(names.action, outer) if names.is_tool else None
        if framework_span is not None:
            framework_span.set_attributes(identity)
            self._span = framework_span
        else:
            # The context has the tag's baggage already, so that processors stamp this span with it.
            self._span = recorders.tracer.start_span(
                names.span_name, self.context, SpanKind.INTERNAL, identity, self._links
            )
            self._owns_span = True
            self.context = set_span_in_context(self._span, self.context)
        if names.zeroed is not recorders:
            names.start_at_zero(recorders)
            notice_lost_baggage(self._span)

    def enter(self) -> None:
        """Make tag and span current, for one step of the run."""
        self._token = attach(self._inside or self.context)

    def suspend(self) -> None:
        """Undo `enter` between two steps, and let the next one find what is current now."""
        self._inside = get_current()
        self.leave()

    def leave(self) -> None:
        """Undo `enter`; nothing is current, and nothing to undo, in a context that did not enter.

        A generator or coroutine may be closed elsewhere than where it was suspended: by an event loop that
        shuts down, by the garbage collector.
        """
        token, self._token = self._token, None
        if token is None:
            return
        found, entered = get_current(), self._inside or self.context
        try:
            token.var.reset(token)  # OpenTelemetry's own detach would log the error of another context
        except ValueError:
            return
        if found is not entered:
            self._keep(found)

    def _keep(self, found: Context) -> None:
        """Leave to the caller what the action attached and meant to stay: it would without us."""
        outer = get_current()
        left = context_without(self.tag, found, outer)
        if get_current_span(left) is self._span:
            left = set_span_in_context(get_current_span(outer), left)
        if left != outer:
            attach(left)

    def headers(self) -> dict[str, str]:
        """Return what makes the acts of others part of this run: W3C headers in lower case."""
        return headers_of(self.context)

    def hand_over(self) -> None:
        """End the span without a verdict: another process will reach it, in a child span of the same tag."""
        guarded("recording telemetry", self._hand_over)

    def _hand_over(self) -> None:
        self._span.set_attribute(semconv.WINDOW_HANDED_OVER, True)
        if self._owns_span:
            self._span.end()

    def defer(self) -> None:
        """End the action's span; the verdict goes to a span of its own, linked, in the same trace."""
        guarded("deferring telemetry", self._defer)

    def _defer(self) -> None:
        if self._instruments is None:
            return
        verifying = self._instruments.tracer.start_span(
            f"{semconv.SPAN_VERIFY} {self._names.action}",
            self.context,
            SpanKind.INTERNAL,
            identity_of(self._names.of_action, self.tag, self.attempt),
            [Link(self._span.get_span_context())],
        )
        if self._owns_span:
            self._span.end()
        self._span, self._owns_span = verifying, True
        self.context = set_span_in_context(verifying, self.context)

    def finish(self, report: ActionReport, error: BaseException | None) -> None:
        """Record the report and end the span; whatever goes wrong stays here."""
        thread = get_ident()
        if thread in _recording:
            # A signal handler or a finalizer interrupted this very method. The SDK's locks are not ours, and
            # this thread may hold one of them.
            prepare()
            later(partial(self.finish, report, error))
            return
        _recording.add(thread)
        try:
            guarded("recording telemetry", self._finish, report, error)
        finally:
            _recording.discard(thread)

    def _finish(self, report: ActionReport, error: BaseException | None) -> None:
        # Each step is taken even if the one before it raises; the log then shows all that did.
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
        recording = self._span.is_recording()
        # A verdict against the action must not be lost because its trace was not sampled.
        urgent = not recording and report.outcome in URGENT
        to_log = (config.log_events or urgent) and is_heard(recorders.logger, self.context)
        if not recording and not to_log:
            return
        states = states_on_wire(config)
        checks = [states.of(check) for check in report.checks]
        try:
            if recording:
                record_verdict(self._span, report, checks, states, error)
                if config.span_events:
                    add_span_events(self._span, checks, states, report.claim)
        finally:
            if to_log:
                told = checks if config.log_events else [c for c in checks if c.check.outcome in URGENT]
                emit_log_events(recorders.logger, report, told, states, self.context)
