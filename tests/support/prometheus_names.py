"""OpenTelemetry's names as Prometheus writes them, by OTLP and by a scrape alike.

https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/: dots become underscores,
the unit is spelled out and appended unless it is an annotation in braces, and a counter ends in `_total`.
"""

from __future__ import annotations

import re

from deltaspan import semconv

UNITS = {"s": "seconds", "ms": "milliseconds", "By": "bytes", "1": "ratio"}


def label(attribute: str) -> str:
    """Return the label of an attribute: `deltaspan.check.outcome` → `deltaspan_check_outcome`."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", attribute)


def metric(name: str, unit: str, *, counter: bool = False) -> str:
    """Return the name of a counter's one series, or of a histogram without its suffix."""
    parts = [label(name)]
    if not unit.startswith("{"):
        parts.append(UNITS[unit])
    if counter:
        parts.append("total")
    return "_".join(parts)


CHECKS = metric(semconv.METRIC_CHECKS, semconv.METRIC_CHECKS_UNIT, counter=True)
HISTOGRAMS = tuple(
    metric(name, semconv.METRIC_ACTION_DURATION_UNIT)
    for name in (
        semconv.METRIC_GEN_AI_EXECUTE_TOOL_DURATION,
        semconv.METRIC_ACTION_DURATION,
        semconv.METRIC_VERIFICATION_DURATION,
    )
)
METRICS = {CHECKS, *(f"{name}_{part}" for name in HISTOGRAMS for part in ("bucket", "sum", "count"))}
LABELS = {
    label(name)
    for name in (
        semconv.ACTION_CLAIM,
        semconv.ACTION_NAME,
        semconv.ACTION_OUTCOME,
        semconv.CHECK_METRIC,
        semconv.CHECK_ORIGIN,
        semconv.CHECK_OUTCOME,
        semconv.CHECK_REASON,
        semconv.GEN_AI_TOOL_NAME,
        semconv.GEN_AI_TOOL_TYPE,
        semconv.ERROR_TYPE,
    )
}
"""The labels of our series, beside `job`, `instance` and `le`."""
