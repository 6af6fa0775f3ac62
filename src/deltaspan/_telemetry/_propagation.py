"""Detect propagators that do not carry baggage, and log the remedy once."""

from __future__ import annotations

import logging
import os
from typing import Final

from opentelemetry import baggage
from opentelemetry.context import Context
from opentelemetry.environment_variables import OTEL_PROPAGATORS
from opentelemetry.trace import Span

from deltaspan import semconv
from deltaspan._concurrency import Once
from deltaspan._config import PROPAGATE, settings
from deltaspan._process import on_reset

_log = logging.getLogger("deltaspan")
OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: Final = "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"
OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT: Final = "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"
TAG_LENGTH: Final = 36
"""The number of characters of a causal tag."""
_PROBE: Final = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"

_cut: Final = Once()
on_reset(_cut.give_back)
_is_noticed = False  # not a Once: it is looked at in each run


@on_reset
def _forget() -> None:
    global _is_noticed  # noqa: PLW0603  # there is one global propagator
    _is_noticed = False


def notice_lost_baggage(span: Span) -> None:
    """Check in the first run with a span that baggage is propagated.

    If it is not, log the remedy. An earlier check would be wrong: a program may set its propagator late.
    """
    global _is_noticed  # noqa: PLW0603
    if _is_noticed or not span.get_span_context().is_valid:
        return
    _is_noticed = True
    if settings().propagate and not is_baggage_carried():
        _log.warning(
            "the configured propagator does not carry baggage, so causal tags stay in this process; "
            "%s, or %s=off to keep them here",
            propagator_remedy(),
            PROPAGATE,
        )


def notice_cut_tags(span: Span, tag: str) -> None:
    """Log once that an SDK cuts causal tags, which no library can prevent."""
    written = (getattr(span, "attributes", None) or {}).get(semconv.CAUSAL_TAG_ID, tag)
    if written != tag and _cut.take():
        _log.warning(
            "the limit of attribute values cuts causal tags, so that runs cannot be told apart; "
            "set %s and %s to %d or more",
            OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT,
            OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT,
            TAG_LENGTH,
        )


def is_baggage_carried() -> bool:
    """Return whether the global propagator carries baggage.

    Raises:
        Exception: the propagator that OTEL_PROPAGATORS names cannot be loaded.
    """
    # The propagator is tried, because others than W3C's carry baggage in headers of their own.
    # The import loads what OTEL_PROPAGATORS names, and raises if that is not installed. At the top it would
    # break the import of programs that never propagate anything.
    from opentelemetry import propagate  # noqa: PLC0415

    carrier: dict[str, str] = {}
    propagate.inject(carrier, baggage.set_baggage(semconv.CAUSAL_TAG_ID, _PROBE, Context()))
    return any(_PROBE in value for value in carrier.values())


def propagator_remedy() -> str:
    """Return the remedy: a variable to set, or a line of code."""
    names = os.environ.get(OTEL_PROPAGATORS, "").strip()
    if names.lower() == "none":
        return f"set {OTEL_PROPAGATORS}=tracecontext,baggage"
    if names and "baggage" not in names:
        return f"set {OTEL_PROPAGATORS}={names},baggage"
    return "set_global_textmap(CompositePropagator([get_global_textmap(), W3CBaggagePropagator()]))"
