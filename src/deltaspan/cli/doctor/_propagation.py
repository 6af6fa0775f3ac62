"""Check that causal tags leave this process and reach the spans of others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

from opentelemetry.environment_variables import OTEL_PROPAGATORS

from deltaspan._config import settings
from deltaspan._telemetry import is_baggage_carried, propagator_remedy
from deltaspan.cli.doctor._diagnosis import Diagnosis


def propagation_diagnoses() -> Iterator[Diagnosis]:
    """Check the propagators and the baggage processor."""
    try:
        is_carried = is_baggage_carried()
    except Exception as error:
        # The import of the API's propagators raises if a propagator is not installed.
        problem = f"{OTEL_PROPAGATORS}={os.environ.get(OTEL_PROPAGATORS)} cannot be loaded: {error}"
        yield Diagnosis("wrong", problem, "install that propagator, or set it to tracecontext,baggage")
    else:
        if is_carried:
            yield Diagnosis("well", "the propagators carry baggage, and causal tags with it")
        elif settings().propagate:
            yield Diagnosis(
                "wrong", "the propagators carry no baggage: causal tags stay here", propagator_remedy()
            )
    if find_spec("opentelemetry.processor") is None or find_spec("opentelemetry.processor.baggage") is None:
        missing = (
            "opentelemetry-processor-baggage is not installed: spans of others inside an action are untagged"
        )
        yield Diagnosis("note", missing, "pip install 'deltaspan[baggage]'")
