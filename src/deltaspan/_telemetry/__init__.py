"""Export reports to OpenTelemetry: a span, events and three metrics.

Only OpenTelemetry's API is used here, except in `sdk`. `_instruments` creates the tracer, the instruments and
the logger. `_span`, `_events` and `_metrics` record with them, one file a signal. Each run has a
`RunTelemetry`, whose methods guard themselves.
"""

from deltaspan._telemetry._attributes import ActionNames
from deltaspan._telemetry._instruments import Instruments, install, instruments
from deltaspan._telemetry._propagation import (
    OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT,
    OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT,
    TAG_LENGTH,
    is_baggage_carried,
    propagator_remedy,
)
from deltaspan._telemetry._recorder import ResumedRun, RunTelemetry
from deltaspan._telemetry._tool_content import ToolContent
from deltaspan._telemetry.sdk._baggage import add_baggage_processors
from deltaspan._telemetry.sdk._bridge import EvaluationBridge
from deltaspan._telemetry.sdk._exporters import SIGNALS, Outage, exporters, protocol_of

__all__ = [
    "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "SIGNALS",
    "TAG_LENGTH",
    "ActionNames",
    "EvaluationBridge",
    "Instruments",
    "Outage",
    "ResumedRun",
    "RunTelemetry",
    "ToolContent",
    "add_baggage_processors",
    "exporters",
    "install",
    "instruments",
    "is_baggage_carried",
    "propagator_remedy",
    "protocol_of",
]
