"""The telemetry of one run: a context with tag and span, entered step by step, and one finish."""

from __future__ import annotations

from contextvars import Token
from typing import Any

from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace import INVALID_SPAN, Span, set_span_in_context

from deltaspan import semconv
from deltaspan._config import settings
from deltaspan._guard import guarded
from deltaspan._reports import ActionReport
from deltaspan._telemetry._events import check_attributes, emit_log_event
from deltaspan._telemetry._instruments import Instruments, instruments
from deltaspan._telemetry._metrics import record_metrics, record_zeros
from deltaspan._telemetry._spans import enrichable, record_verdict, start_span, tag_attributes
from deltaspan._telemetry._state import StateOnWire
from deltaspan.causal_tag import CausalTag, context_with, mint

__all__ = ["ActionNames", "RunTelemetry"]


class ActionNames:
    """What telemetry says of an action in each of its runs; made at decoration.

    Args:
        action: the action's or window's name.
        function: module and qualified name of its function; None for a window.
        metrics: the metrics of its checks, in order.
    """

    __slots__ = ("action", "identity", "metrics", "span_name", "zeroed")

    def __init__(self, action: str, function: str | None, metrics: tuple[str, ...]) -> None:
        self.action = action
        self.metrics = metrics
        self.zeroed: Any = None  # the meter provider that has this action's zeros
        self.identity: dict[str, str] = {semconv.ACTION_NAME: action}
        if function is None:
            self.span_name = f"{semconv.SPAN_WINDOW} {action}"
            return
        self.span_name = f"{semconv.SPAN_EXECUTE_TOOL} {action}"
        self.identity |= {
            semconv.GEN_AI_OPERATION_NAME: semconv.SPAN_EXECUTE_TOOL,
            semconv.GEN_AI_TOOL_NAME: action,
            semconv.CODE_FUNCTION_NAME: function,
        }


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
        self._instruments: Instruments = instruments()
        self._span: Span = INVALID_SPAN
        self._owns_span = False
        guarded("starting telemetry", self._start, outer)

    def _start(self, outer: Context) -> None:
        names = self._names
        framework_span = (
            enrichable(names.action, outer) if semconv.GEN_AI_TOOL_NAME in names.identity else None
        )
        if framework_span is not None:
            framework_span.set_attributes({**names.identity, **tag_attributes(self.tag)})
            self._span = framework_span
        else:
            self._span = start_span(
                self._instruments.tracer, names.span_name, names.identity, self.tag, self.context
            )
            self._owns_span = True
            self.context = set_span_in_context(self._span, self.context)
        provider = self._instruments.meter_provider()
        if names.zeroed is not provider:
            record_zeros(self._instruments, names.action, names.metrics)
            names.zeroed = provider

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
        guarded("recording metrics", record_metrics, self._instruments, report, self.context)
        guarded("recording the verdict", self._record, report, error)
        if self._owns_span:
            guarded("ending the span", self._span.end)

    def _record(self, report: ActionReport, error: BaseException | None) -> None:
        config = settings()
        recording = self._span.is_recording()
        logger = self._instruments.logger
        # A verdict against the action must not be lost because its trace was not sampled.
        urgent = not recording and report.outcome in ("fail", "inconclusive")
        to_log = (config.log_events or urgent) and logger_enabled(logger, self.context)
        if not recording and not to_log:
            return
        states = StateOnWire(config)
        for check in report.checks:
            attributes = check_attributes(check, states)
            if recording and config.span_events:
                self._span.add_event(semconv.EVENT_CHECK, attributes)
            if to_log and (config.log_events or check.outcome in ("fail", "inconclusive")):
                emit_log_event(logger, check, attributes, self._names.action, self.tag, self.context)
        if recording:
            record_verdict(self._span, report, states, error)


def logger_enabled(logger: Any, context: Context) -> bool:
    return bool(logger.enabled(context=context, event_name=semconv.EVENT_CHECK))
