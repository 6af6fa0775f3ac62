"""Reports to OpenTelemetry: a span, an event a check, three metrics. The API alone; nothing here reads state.

`_instruments` makes what is recorded with, `_spans`, `_events` and `_metrics` record with it, one file a
signal. What is opened for a run is a `RunTelemetry`; the engine calls its methods through the guard.
"""

from deltaspan._telemetry._instruments import Instruments, install, instruments
from deltaspan._telemetry._attributes import ActionNames
from deltaspan._telemetry._propagation import is_baggage_carried, propagator_cure
from deltaspan._telemetry._recorder import Resumed, RunTelemetry

__all__ = [
    "ActionNames",
    "Instruments",
    "Resumed",
    "RunTelemetry",
    "install",
    "instruments",
    "is_baggage_carried",
    "propagator_cure",
]
