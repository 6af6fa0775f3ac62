"""Reports to OpenTelemetry: a span, an event a check, three metrics. The API alone; nothing here reads state.

`_instruments` makes what is recorded with, `_spans`, `_events` and `_metrics` record with it, one file a
signal. What is opened for a run is a `RunTelemetry`; the engine calls its methods through the guard.
"""

from deltaspan._telemetry._attributes import ActionNames
from deltaspan._telemetry._instruments import Instruments, install, instruments
from deltaspan._telemetry._propagation import is_baggage_carried, propagator_cure
from deltaspan._telemetry._recorder import Resumed, RunTelemetry
from deltaspan._telemetry.sdk._baggage import add_baggage_processors
from deltaspan._telemetry.sdk._exporters import SIGNALS, Outage, exporters, protocol_of

__all__ = [
    "SIGNALS",
    "ActionNames",
    "Instruments",
    "Outage",
    "Resumed",
    "RunTelemetry",
    "add_baggage_processors",
    "exporters",
    "install",
    "instruments",
    "is_baggage_carried",
    "propagator_cure",
    "protocol_of",
]
