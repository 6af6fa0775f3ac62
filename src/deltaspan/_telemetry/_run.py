"""The telemetry of one run: a context with tag and span, entered step by step, and one finish."""

from __future__ import annotations

from contextvars import Token

from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, set_span_in_context

from deltaspan._config import settings
from deltaspan._guard import guarded
from deltaspan._reports import ActionReport
from deltaspan._telemetry._events import URGENT, add_span_events, emit_log_events, is_heard
from deltaspan._telemetry._instruments import Instruments, instruments
from deltaspan._telemetry._metrics import record_metrics
from deltaspan._telemetry._names import ActionNames
from deltaspan._telemetry._spans import enrichable, identity_of, record_verdict
from deltaspan._telemetry._state import states_on_wire
from deltaspan.causal_tag import CausalTag, context_with, mint

__all__ = ["RunTelemetry"]


class RunTelemetry:
    """The telemetry of one run of one action.

    Attributes:
        tag: the run's causal tag.
        context: the OpenTelemetry context that the action runs in.
    """

    __slots__ = ("_instruments", "_names", "_owns_span", "_span", "_token", "context", "tag")

    def __init__(self, names: ActionNames) -> None:
        outer = get_current()
        self._names = names
        self._token: Token[Context] | None = None
        self.tag: CausalTag = mint(outer)
        self.context = context_with(self.tag, outer)
        self._instruments: Instruments | None = None
        self._span: Span = INVALID_SPAN
        self._owns_span = False
        guarded("starting telemetry", self._start, outer)

    def _start(self, outer: Context) -> None:
        names, recorders = self._names, instruments()
        self._instruments = recorders
        identity = identity_of(names.identity, self.tag)
        framework_span = enrichable(names.action, outer) if names.is_tool else None
        if framework_span is not None:
            framework_span.set_attributes(identity)
            self._span = framework_span
        else:
            # The context has the tag's baggage already, so that processors stamp this span with it.
            self._span = recorders.tracer.start_span(
                names.span_name, self.context, SpanKind.INTERNAL, identity
            )
            self._owns_span = True
            self.context = set_span_in_context(self._span, self.context)
        if names.zeroed is not recorders.meter_provider():
            names.start_at_zero(recorders)

    def enter(self) -> None:
        """Make tag and span current, for one step of the run."""
        self._token = attach(self.context)

    def leave(self) -> None:
        """Undo `enter`, in the execution context that entered."""
        token, self._token = self._token, None
        if token is not None:
            detach(token)

    def finish(self, report: ActionReport, error: BaseException | None) -> None:
        """Record the report and end the span; whatever goes wrong stays here."""
        guarded("recording telemetry", self._finish, report, error)

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
                    add_span_events(self._span, checks, states)
        finally:
            if to_log:
                told = checks if config.log_events else [c for c in checks if c.check.outcome in URGENT]
                emit_log_events(recorders.logger, report, told, states, self.context)
