"""Noticing, once, that the configured propagator would leave the causal tag at home."""

from __future__ import annotations

import logging
import os
from typing import Final

from opentelemetry import baggage
from opentelemetry.context import Context
from opentelemetry.environment_variables import OTEL_PROPAGATORS
from opentelemetry.trace import INVALID_SPAN, Span

from deltaspan import semconv
from deltaspan._config import PROPAGATE, settings
from deltaspan._process import on_reset

__all__ = ["is_baggage_carried", "notice_lost_baggage", "propagator_cure"]

_log = logging.getLogger("deltaspan")
_PROBE: Final = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"

_is_noticed = False  # not a Once: it is looked at in each run


@on_reset
def _forget() -> None:
    global _is_noticed  # noqa: PLW0603  # there is one global propagator
    _is_noticed = False


def notice_lost_baggage(span: Span) -> None:
    """Look at the first run that has a span whether baggage is propagated; log the cure when it is not.

    Not when things are set up: a program may still set its propagator after that.
    """
    global _is_noticed  # noqa: PLW0603
    # Asked at each run while there is no SDK: what its tracer returns then is known by identity.
    if _is_noticed or span is INVALID_SPAN or not span.get_span_context().is_valid:
        return
    _is_noticed = True
    if settings().propagate and not is_baggage_carried():
        _log.warning(
            "the configured propagator does not carry baggage, so causal tags stay in this process; "
            "%s, or %s=off to keep them here",
            propagator_cure(),
            PROPAGATE,
        )


def is_baggage_carried() -> bool:
    """Return whether the global propagator carries baggage; raises what loading it raises."""
    # Tried, not looked up: others than W3C's carry baggage in headers of their own.
    # Imported here because it loads what OTEL_PROPAGATORS names, and raises when that is not installed: it is
    # not for us to break the import of a program that never propagates anything.
    from opentelemetry import propagate  # noqa: PLC0415

    carrier: dict[str, str] = {}
    propagate.inject(carrier, baggage.set_baggage(semconv.CAUSAL_TAG_ID, _PROBE, Context()))
    return any(_PROBE in value for value in carrier.values())


def propagator_cure() -> str:
    """Return what makes it carry baggage: a variable to set, or the line of code."""
    names = os.environ.get(OTEL_PROPAGATORS, "").strip()
    if names.lower() == "none":
        return f"set {OTEL_PROPAGATORS}=tracecontext,baggage"
    if names and "baggage" not in names:
        return f"set {OTEL_PROPAGATORS}={names},baggage"
    return "set_global_textmap(CompositePropagator([get_global_textmap(), W3CBaggagePropagator()]))"
