"""A processor that shows evaluations on their span."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import get_current_span

from deltaspan import semconv


class EvaluationBridge:
    """A log record processor that adds each evaluation of deltaspan to its recording span.

    It has the methods of the SDK's `LogRecordProcessor` and does not inherit from it, because an import of
    deltaspan must not load the SDK.
    """

    def on_emit(self, log_record: Any) -> None:
        """Add the event of a log record to the span of its context."""
        scope, record = log_record.instrumentation_scope, log_record.log_record
        if not self.enabled(event_name=record.event_name) or getattr(scope, "name", "") != semconv.SCOPE_NAME:
            return
        span = get_current_span(record.context)
        if span.is_recording():
            span.add_event(record.event_name, dict(record.attributes or {}), record.timestamp)

    def enabled(self, *, event_name: str | None = None, **_: Any) -> bool:
        """Return whether an event is an evaluation."""
        return event_name == semconv.EVENT_GEN_AI_EVALUATION_RESULT

    def shutdown(self) -> None:
        """Do nothing, because nothing is queued."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002  # the SDK's signature
        """Return True, because nothing is queued."""
        return True
