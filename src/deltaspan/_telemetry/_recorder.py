"""The telemetry of one run: its context with tag and span, and its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import Token
from functools import partial
from threading import get_ident
from typing import Any, Final, NamedTuple

from opentelemetry.context import Context, attach, create_key, get_current
from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    Span,
    SpanKind,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)

from deltaspan import semconv
from deltaspan._config import Settings, settings
from deltaspan._guard import describe, guarded
from deltaspan._process import on_fork
from deltaspan._reports import ActionReport
from deltaspan._telemetry._attributes import ActionNames
from deltaspan._telemetry._evaluations import emit_evaluations, evaluations_to_log
from deltaspan._telemetry._events import (
    ALWAYS_LOGGED,
    add_span_events,
    checks_to_log,
    emit_log_events,
    is_exported,
)
from deltaspan._telemetry._exception import record_exception
from deltaspan._telemetry._instruments import Instruments, instruments
from deltaspan._telemetry._metrics import record_metrics
from deltaspan._telemetry._propagation import notice_cut_tags, notice_lost_baggage
from deltaspan._telemetry._span import (
    enclosing_call,
    framework_tool_span,
    identity_of,
    ids_of,
    record_error,
    record_verdict,
    wall_time_of,
)
from deltaspan._telemetry._suppression import SUPPRESSED, is_suppressed
from deltaspan._telemetry._tool_content import ToolContent
from deltaspan._telemetry._values import RenderedCheck, ValueRenderer, error_type_of, is_error, renderer_for
from deltaspan._verdicts import SEVERITY
from deltaspan._workers import run_in_background, start_background_thread
from deltaspan.causal_tag import (
    NO_VALUES,
    CausalTag,
    attempt_of,
    context_of_verifier,
    context_with,
    context_without,
    continue_trace,
    detach_here,
    effective_context,
    headers_of,
    mint,
    untagged,
)

_IN_TOOL: Final = create_key("deltaspan-in-tool")
_INSIDE: Final = {_IN_TOOL: True}
"""Marks the context of a tool, so that an action that it calls is not counted as another tool."""

_INTERNAL: Final = SpanKind.INTERNAL
"""Looking up a member of an enum costs more than a global, and every run does it."""

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
        content: the arguments and the result that leave. None unless they are asked for.
        open_read_span: opens a span for a read of a metric. None unless the settings ask for such spans.
    """

    __slots__ = (
        "_ends_now",
        "_entered",
        "_framework_span",
        "_has_begun",
        "_identity",
        "_inner_context",
        "_instruments",
        "_is_deferred",
        "_is_silent",
        "_is_tool",
        "_links",
        "_names",
        "_owns_span",
        "_reading",
        "_span",
        "_token",
        "attempt",
        "content",
        "context",
        "open_read_span",
        "tag",
    )

    def __init__(self, names: ActionNames, resumed: ResumedRun | None = None) -> None:
        config = settings()
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
            is_parent = here.span_id == get_current_span(outer).get_span_context().span_id
            self._links = [Link(here)] if here.is_valid and not is_parent else None
        self._instruments: Instruments | None = None
        self._span: Span = INVALID_SPAN
        self._owns_span = False
        self._has_begun = self._ends_now = self._is_deferred = False
        self._framework_span: Span | None = None
        self._identity: Mapping[str, str | int] = {}
        self._inner_context: Context | None = (
            None  # the context of a suspended generator's body, perhaps with a span of its own
        )
        # An action that a tool calls is a part of that tool, unless its definition says otherwise.
        self._is_tool = (_IN_TOOL not in outer) if names.is_tool is None else names.is_tool
        self.context = context_with(self.tag, outer, config, _INSIDE if self._is_tool else NO_VALUES)
        self._is_silent = is_suppressed(outer)
        self.content: ToolContent | None = None
        # Probes and locks are the verifier's. In this context their requests get no span and carry no tag.
        self._reading = self._entered = context_of_verifier(self.tag, outer, SUPPRESSED)
        self.open_read_span: Callable[[str], AbstractContextManager[Any]] | None = None
        if config.probe_spans:
            self._read_in_spans()

    def _read_in_spans(self) -> None:
        """Start the span before the baselines, so that it encloses every read."""
        self._begin_late()
        if self._instruments is not None:
            self._reading = self._entered = context_of_verifier(self.tag, self.context, SUPPRESSED)
            of_reads = context_of_verifier(self.tag, self.context, {})
            self.open_read_span = partial(_open_read_span, self._instruments.tracer, of_reads)

    # The current context ---------------------------------------------------------------------------------

    def enter_reading(self) -> None:
        """Make the context current in which probes are read and locks are taken."""
        self._entered = self._reading
        self._token = attach(self._reading)

    def begin_action(self) -> None:
        """Start the span, and make tag and span current. The baselines are read."""
        self._begin()
        attach(self.context)  # `leave` restores what was current before `enter_reading`
        self._entered = self.context

    def enter(self) -> None:
        """Make tag and span current, for one step of the action."""
        self._entered = self._inner_context or self.context
        self._token = attach(self._entered)

    def end_action(self) -> None:
        """Make the context of the probes current, in place of that of the action."""
        if self._token is None or get_current() is not self._entered:
            self.leave()
            self.enter_reading()
        else:
            self._entered = self._reading
            attach(self._reading)  # `leave` restores what was current before `enter`

    def suspend(self) -> None:
        """Undo `enter` between two steps, and keep the current context for the next."""
        self._inner_context = self._entered = get_current()  # so that `leave` passes nothing on
        self.leave()

    def leave(self) -> None:
        """Undo `enter` or `enter_reading`. Do nothing in a context that did not enter.

        A generator or coroutine may be closed in another context than it was suspended in: by an event loop
        that shuts down, or by the garbage collector.
        """
        token = self._token
        if token is None:
            return
        current, entered = get_current(), self._entered
        is_undone = detach_here(token)
        self._token = None  # last, so that a run that had no stack left for it can leave later
        if not is_undone:
            return
        if current is not entered and current is not self.context and entered is not self._reading:
            self._keep(current)

    def _keep(self, inner: Context) -> None:
        """Pass on to the caller's context the values that the action attached and left."""
        outer = get_current()
        kept = context_without(self.tag, inner, outer)
        if _IN_TOOL not in outer:
            kept = Context({key: value for key, value in kept.items() if key != _IN_TOOL})
        if get_current_span(kept) is self._span:
            kept = set_span_in_context(get_current_span(outer), kept)
        if kept != outer:
            attach(kept)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Make the context of the probes current within a block."""
        with _attached(self._reading):
            yield

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Make the run current within a block, without its tag in baggage."""
        with _attached(untagged(self.context)):
            yield

    # The span --------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            if not self._is_silent:
                guarded("starting telemetry", self._start)

    def _begin_late(self) -> None:
        """Start a span that neither begins nor ends with the action."""
        if not self._has_begun:
            self._ends_now = True
            self._begin()

    def _start(self) -> None:
        names, recorders = self._names, instruments()
        self._instruments = recorders
        if names.is_tool is not False:
            self._framework_span = framework_tool_span(names.action, self.context)
        if self._framework_span is not None:
            self._identity = identity_of(names.action_attributes, self.tag, self.attempt)
            self._framework_span.set_attributes(self._identity)
            self._span = self._framework_span
        else:
            own = names.tool_identity if self._is_tool else names.verify_identity
            self._identity = identity_of(own, self.tag, self.attempt)
            if self._is_tool:
                self._identity = {**self._identity, **enclosing_call(self.context)}
            # The context has the tag's baggage, so that baggage processors stamp this span with it.
            self._span = recorders.tracer.start_span(
                names.tool_span_name if self._is_tool else names.verify_span_name,
                self.context,
                _INTERNAL,
                self._identity,
                self._links,
            )
            if self._span is not INVALID_SPAN:  # as it is without an SDK
                self.context = set_span_in_context(self._span, self.context)
            self._owns_span = self._span.is_recording()  # if it does not record, `end` does nothing
        if names.zeroed_instruments is not recorders:
            names.start_at_zero(recorders)
            if self._span is not INVALID_SPAN:
                notice_lost_baggage(self._span)
                notice_cut_tags(self._span, self.tag.id)

    def headers(self) -> dict[str, str]:
        """Return the W3C headers, in lower case, that carry this run's tag."""
        return headers_of(self.context)

    def span_ids(self) -> tuple[str | None, str | None]:
        """Return the ids of trace and span in hexadecimal, or None without a span."""
        self._begin_late()
        if self._span is INVALID_SPAN:  # without an SDK
            return None, None
        return guarded("reading the ids of a span", ids_of, self._span) or (None, None)

    def hand_over(self) -> None:
        """End the span without a verdict, because another process reaches it.

        The verdict is on a child span with the same tag.
        """
        guarded("recording telemetry", self._hand_over)

    def _hand_over(self) -> None:
        self._span.set_attribute(semconv.WINDOW_HANDED_OVER, True)
        if self._owns_span:
            self._span.end()

    def defer(self, ended_at: float, error: BaseException | None) -> None:
        """End the span of the action, and start one below it for the verdict.

        Args:
            ended_at: when the action ended, by `time.perf_counter`.
            error: the exception that the action raised, or None.
        """
        guarded("deferring telemetry", self._defer, ended_at, error)

    def _defer(self, ended_at: float, error: BaseException | None) -> None:
        if self._instruments is None:
            return
        self._identity = identity_of(self._names.action_attributes, self.tag, self.attempt)
        verifying = self._instruments.tracer.start_span(
            self._names.verify_span_name, self.context, _INTERNAL, self._identity
        )
        self._span.set_attribute(semconv.VERIFICATION_DEFERRED, True)
        self._set_content(renderer_for(settings()))
        if error is not None:
            # The span of the verdict does not repeat what the span of the action says.
            renderer = renderer_for(settings())
            if self._owns_span:
                record_error(self._span, renderer, error)
            if is_exported(self._span):
                self._record_exception(self._instruments, error, has_content=renderer.is_full)
        if self._owns_span:
            self._span.end(wall_time_of(ended_at))
        self._span, self._owns_span, self._ends_now, self._is_deferred = verifying, True, True, True
        self.context = set_span_in_context(verifying, self.context)

    def record(self, report: ActionReport, error: BaseException | None) -> None:
        """Record the report on the span and in metrics, and contain every fault."""
        self._begin_late()
        if self._instruments is not None:
            self._perform(self._record, self._instruments, report, error)

    def end(self, ended_at: float) -> None:
        """End the span, and contain every fault.

        Args:
            ended_at: when the action ended, by `time.perf_counter`.
        """
        if self._owns_span:
            self._perform(self._end, ended_at)

    def _perform(self, step: Callable[..., None], *arguments: Any) -> None:
        thread = get_ident()
        if thread in _recording:
            # A signal handler or a finalizer interrupted a step. This thread may hold a lock of the SDK.
            start_background_thread()
            run_in_background(partial(self._perform, step, *arguments))
            return
        _recording.add(thread)
        try:
            guarded("recording telemetry", step, *arguments)
        finally:
            _recording.discard(thread)

    def _record(self, recorders: Instruments, report: ActionReport, error: BaseException | None) -> None:
        config = settings()
        # Each step runs even if the one before raises. The log then shows all exceptions.
        try:
            record_metrics(
                recorders,
                self._names,
                report,
                error_type_of(report, error),
                self.context,
                is_own_tool=self._is_tool and self._framework_span is None,
                has_action_duration=not self._is_tool or config.action_duration == "all",
            )
        finally:
            is_recording = self._span.is_recording()
            has_finding = error is not None or report.outcome in ALWAYS_LOGGED
            if is_recording or has_finding or config.log_events:
                raised = None if self._is_deferred else error
                self._record_checks(recorders, config, report, raised, is_recording=is_recording)

    def _end(self, ended_at: float) -> None:
        self._span.end(None if self._ends_now else wall_time_of(ended_at))

    def _record_checks(
        self,
        recorders: Instruments,
        config: Settings,
        report: ActionReport,
        error: BaseException | None,
        *,
        is_recording: bool,
    ) -> None:
        logged = checks_to_log(recorders.logger, self._span, report, config, self.context)
        evaluated = evaluations_to_log(recorders.logger, self._span, report, config, self.context)
        try:
            if is_recording:
                renderer = renderer_for(config)
                if not self._is_deferred:
                    self._set_content(renderer)
                checks = [renderer.render(check) for check in report.checks]
                is_own = self._span is not self._framework_span
                record_verdict(self._span, report, checks, renderer, error, self._identity, is_own=is_own)
                if config.span_events:
                    add_span_events(self._span, _worst_last(checks), renderer, report.claim)
        finally:
            try:
                if logged:
                    log_renderer = renderer_for(config, is_structured=True)
                    emit_log_events(recorders.logger, report, logged, log_renderer, self.context)
                if evaluated:
                    emit_evaluations(recorders.logger, report, evaluated, renderer_for(config), self.context)
            finally:
                if error is not None and (logged or evaluated or is_exported(self._span)):
                    self._record_exception(recorders, error, has_content=renderer_for(config).is_full)

    def _set_content(self, renderer: ValueRenderer) -> None:
        # A framework decides what its own span shows.
        if self.content is not None and self._is_tool and self._framework_span is None:
            self._span.set_attributes(self.content.attributes(renderer))

    def _record_exception(self, recorders: Instruments, error: BaseException, *, has_content: bool) -> None:
        if self._framework_span is not None or not is_error(error):
            return  # the framework records what its tool raised
        tool = self._names.action if self._is_tool else None
        record_exception(self._span, recorders.logger, self.context, error, tool, has_content=has_content)


def _worst_last(checks: Sequence[RenderedCheck]) -> Sequence[RenderedCheck]:
    """Return checks with the failed ones last.

    A span drops its oldest events if there are too many.
    """
    return checks if len(checks) == 1 else sorted(checks, key=lambda each: SEVERITY[each.check.outcome])


@contextmanager
def _attached(context: Context) -> Iterator[None]:
    token = attach(context)
    try:
        yield
    finally:
        detach_here(token)


@contextmanager
def _open_read_span(tracer: Tracer, context: Context, metric: str) -> Iterator[None]:
    """Open a span for one read.

    It has no causal tag, so that the read is not an effect of the action.
    """
    attributes = {semconv.CHECK_METRIC: metric}
    start = partial(tracer.start_span, f"{semconv.SPAN_READ} {metric}", context, attributes=attributes)
    # A span processor may raise, and the read must not fail for it.
    span = guarded("starting the span of a read", start) or INVALID_SPAN
    try:
        with _attached(set_span_in_context(span, context)):
            yield
    except Exception as error:
        guarded("recording the error of a read", _record_failed_read, span, error)
        raise
    finally:
        guarded("ending the span of a read", span.end)


def _record_failed_read(span: Span, error: Exception) -> None:
    span.record_exception(error)
    span.set_status(StatusCode.ERROR, describe(error))
