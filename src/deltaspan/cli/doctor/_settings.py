"""Check the settings of deltaspan and of the SDK for likely mistakes."""

from __future__ import annotations

import difflib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from deltaspan import _config
from deltaspan._telemetry import (
    OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT,
    OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT,
    TAG_LENGTH,
)
from deltaspan.cli.doctor._diagnosis import Diagnosis

_NAMES: Final = tuple(
    value for value in vars(_config).values() if isinstance(value, str) and value.startswith("DELTASPAN_")
)
_SAMPLERS_THAT_DROP_ALL: Final = frozenset({"always_off", "parentbased_always_off"})


def settings_diagnoses() -> Iterator[Diagnosis]:
    """Find settings that lose verdicts or telemetry without an error."""
    yield from _own()
    yield from _sdk()


def _own() -> Iterator[Diagnosis]:
    for name in sorted(os.environ):
        if name.startswith("DELTASPAN_") and name not in (*_NAMES, "DELTASPAN_TOOLS"):
            near = difflib.get_close_matches(name, _NAMES, n=1)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(_NAMES)}"
            yield Diagnosis("wrong", f"{name} is not a setting of deltaspan", meant)
    with _logged() as complaints:
        settings = _config.Settings.from_environ(os.environ)
    for complaint in complaints:
        yield Diagnosis("wrong", complaint, "correct it, or leave it out")
    if not settings.enabled:
        yield Diagnosis(
            "note", f"{_config.ENABLED} is false: actions run unverified", "leave it out to verify"
        )
    if settings.capture_state != "full":
        state = f"{_config.CAPTURE_STATE} is {settings.capture_state}"
        problem = f"{state}: states and explanations are not sent in full"
        yield Diagnosis("note", problem, "leave it out to see what changed")
    if not settings.propagate:
        problem = f"{_config.PROPAGATE} is off: causal tags stay in this process"
        yield Diagnosis("note", problem, "leave it out to credit the changes of other processes")


def _sdk() -> Iterator[Diagnosis]:
    environ = {name: value.strip() for name, value in os.environ.items()}
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield Diagnosis("wrong", "OTEL_SDK_DISABLED is true: nothing is sent", "leave it out")
    if environ.get("OTEL_CONFIG_FILE"):
        yield Diagnosis(
            "note",
            "OTEL_CONFIG_FILE is set: that file configures OpenTelemetry, and other variables are ignored",
            "run the program under opentelemetry-instrument, because configure_telemetry() sets up nothing",
        )
    for name in (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT, OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT):
        limit = environ.get(name, "")
        if limit.isdecimal() and int(limit) < TAG_LENGTH:
            problem = f"{name} is {limit}: causal tags are cut, so that runs cannot be told apart"
            yield Diagnosis("wrong", problem, f"set it to {TAG_LENGTH} or more")
    if environ.get("OTEL_TRACES_EXPORTER", "").lower() == "none":
        yield Diagnosis("wrong", "OTEL_TRACES_EXPORTER is none: spans are not sent", "leave it out")
    if environ.get("OTEL_METRICS_EXPORTER", "").lower() == "none":
        problem = "OTEL_METRICS_EXPORTER is none: the counts that alerts need are not sent"
        yield Diagnosis(
            "note", problem, "leave it out, unless Jaeger is the only receiver, which takes no metrics"
        )
    if environ.get("OTEL_TRACES_SAMPLER", "").lower() in _SAMPLERS_THAT_DROP_ALL:
        problem = f"OTEL_TRACES_SAMPLER is {environ['OTEL_TRACES_SAMPLER']}: no span of a run is kept"
        yield Diagnosis(
            "wrong", problem, "use parentbased_traceidratio with OTEL_TRACES_SAMPLER_ARG for a share"
        )
    if not environ.get("OTEL_SERVICE_NAME") and "service.name=" not in environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    ):
        yield Diagnosis(
            "note",
            "no service name is set: telemetry is stored under unknown_service",
            "set OTEL_SERVICE_NAME, unless the program calls configure_telemetry('its name')",
        )


@contextmanager
def _logged() -> Iterator[list[str]]:
    """Collect the log messages about settings, without logging them."""
    messages: list[str] = []

    class Collecting(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            messages.append(record.getMessage())
            return False

    log, collecting = logging.getLogger("deltaspan"), Collecting()
    log.addFilter(collecting)
    try:
        yield messages
    finally:
        log.removeFilter(collecting)
