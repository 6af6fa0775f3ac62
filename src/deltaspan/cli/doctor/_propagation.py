"""Whether a causal tag leaves this process, and whether it lands on what is not deltaspan's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

from opentelemetry.environment_variables import OTEL_PROPAGATORS

from deltaspan._config import settings
from deltaspan._telemetry import is_baggage_carried, propagator_cure
from deltaspan.cli.doctor._finding import Finding

__all__ = ["propagation_findings"]


def propagation_findings() -> Iterator[Finding]:
    """Look at the propagators, and at what stamps other spans."""
    try:
        carried = is_baggage_carried()
    except Exception as error:
        # The import of the API's propagators raises for a name that nobody installed.
        said = f"{OTEL_PROPAGATORS}={os.environ.get(OTEL_PROPAGATORS)} cannot be loaded: {error}"
        yield Finding("wrong", said, "install that propagator, or set it to tracecontext,baggage")
    else:
        if carried:
            yield Finding("well", "the propagators carry baggage, and causal tags with it")
        elif settings().propagate:
            yield Finding(
                "wrong", "the propagators carry no baggage: causal tags stay here", propagator_cure()
            )
    if find_spec("opentelemetry.processor") is None or find_spec("opentelemetry.processor.baggage") is None:
        missing = (
            "opentelemetry-processor-baggage is not installed: spans of others inside an action are untagged"
        )
        yield Finding("note", missing, "pip install 'deltaspan[baggage]'")
