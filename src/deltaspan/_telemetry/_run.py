"""The telemetry of one run: a context with tag and span, entered step by step, and one finish."""

from __future__ import annotations

from contextvars import Token

from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace import INVALID_SPAN, Span, set_span_in_context

from deltaspan._config import settings
from deltaspan._guard import guarded
from deltaspan._reports import ActionReport
from deltaspan._telemetry._events import URGENT, add_span_events, emit_log_events
from deltaspan._telemetry._instruments import Instruments, instruments
from deltaspan._telemetry._metrics import record_metrics
from deltaspan._telemetry._names import ActionNames
from deltaspan._telemetry._spans import enrichable, record_verdict, start_span, tag_attributes
from deltaspan._telemetry._state import StateOnWire
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
        names, self._instruments = self._names, instruments()
        framework_span = enrichable(names.action, outer) if names.is_tool else None
        if framework_span is not None:
            framework_span.set_attributes({**names.identity, **tag_attributes(self.tag)})
            self._span = framework_span
        else:
            self._span = start_span(
                self._instruments.tracer, names.span_name, names.identity, self.tag, self.context
            )
            self._owns_span = True
            self.context = set_span_in_context(self._span, self.context)
        names.start_at_zero(self._instruments)

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
        config = settings()
        recording = self._span.is_recording()
        # A verdict against the action must not be lost because its trace was not sampled.
        urgent = not recording and report.outcome in URGENT
        try:
            record_metrics(recorders, self._names, report, self.context)
        finally:
            try:
                if recording:
                    states = StateOnWire(config)
                    record_verdict(self._span, report, states, error)
                    if config.span_events:
                        add_span_events(self._span, report, states)
            finally:
                try:
                    if config.log_events or urgent:
                        wanted = None if config.log_events else URGENT
                        emit_log_events(recorders.logger, report, StateOnWire(config), self.context, wanted)
                finally:
                    if self._owns_span:
                        self._span.end()
