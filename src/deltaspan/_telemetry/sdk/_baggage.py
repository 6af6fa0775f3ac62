"""Use OpenTelemetry's baggage processors for spans and log records, if installed."""

from __future__ import annotations

import logging
from typing import Any, Final

from deltaspan import semconv

_log = logging.getLogger("deltaspan")

# Only these two. Baggage also comes from strangers, who must not write a verdict on our spans.
_COPIED: Final = frozenset({semconv.CAUSAL_TAG_ID, semconv.CAUSAL_TAG_ROOT_ID})


def add_baggage_processors(traces: Any, loggers: Any) -> None:
    """Copy causal tag and root to every span and log record in an action.

    Call this before exporting processors are added, because processors run in order.

    Args:
        traces: the tracer provider of an SDK.
        loggers: the logger provider of an SDK.
    """
    try:
        from opentelemetry.processor.baggage import (  # noqa: PLC0415  # optional, and logged if it is missing
            BaggageLogProcessor,
            BaggageSpanProcessor,
        )
    except ImportError:
        _log.info(
            "only the spans of actions carry the causal tag; for every span and log record inside them: "
            "pip install 'deltaspan[baggage]'"
        )
        return
    traces.add_span_processor(BaggageSpanProcessor(_COPIED.__contains__))
    loggers.add_log_record_processor(BaggageLogProcessor(_COPIED.__contains__))
