"""OpenTelemetry's own processors that copy baggage onto spans and log records, if they are installed."""

from __future__ import annotations

import logging
from typing import Any, Final

from deltaspan import semconv

__all__ = ["add_baggage_processors"]

_log = logging.getLogger("deltaspan")

# These two and no more: baggage comes from strangers too, who must not write a verdict on our spans.
_COPIED: Final = frozenset({semconv.CAUSAL_TAG_ID, semconv.CAUSAL_TAG_ROOT_ID})


def add_baggage_processors(traces: Any, loggers: Any) -> None:
    """Have every span and log record inside an action carry its causal tag and root.

    Args:
        traces: an SDK's tracer provider.
        loggers: its logger provider; before any processor that exports, for those see what is there.
    """
    try:
        from opentelemetry.processor.baggage import (  # noqa: PLC0415  # optional, and said when it is missed
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
