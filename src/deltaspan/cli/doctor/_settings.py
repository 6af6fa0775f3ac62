"""What the environment says that nobody would have meant: of deltaspan, and of the SDK."""

from __future__ import annotations

import difflib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from deltaspan import _config
from deltaspan.cli.doctor._finding import Finding

__all__ = ["settings_findings"]

_NAMES: Final = tuple(
    value for value in vars(_config).values() if isinstance(value, str) and value.startswith("DELTASPAN_")
)
_SAMPLERS_THAT_DROP_ALL: Final = frozenset({"always_off", "parentbased_always_off"})


def settings_findings() -> Iterator[Finding]:
    """Look at settings that lose verdicts, or telemetry, without an error."""
    yield from _own()
    yield from _sdk()


def _own() -> Iterator[Finding]:
    for name in sorted(os.environ):
        if name.startswith("DELTASPAN_") and name not in (*_NAMES, "DELTASPAN_TOOLS"):
            near = difflib.get_close_matches(name, _NAMES, n=1)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(_NAMES)}"
            yield Finding("wrong", f"{name} is no setting of deltaspan", meant)
    with _said() as complaints:
        settings = _config.Settings.from_environ(os.environ)
    for complaint in complaints:
        yield Finding("wrong", complaint, "correct it, or leave it out")
    if not settings.enabled:
        yield Finding("note", f"{_config.ENABLED} is false: actions run unverified", "leave it out to verify")
    if settings.capture_state != "full":
        how = (
            f"{_config.CAPTURE_STATE} is {settings.capture_state}: states and sentences do not leave in full"
        )
        yield Finding("note", how, "leave it out to see what changed")
    if not settings.propagate:
        off = f"{_config.PROPAGATE} is off: causal tags stay in this process"
        yield Finding("note", off, "leave it out to credit what other processes do")


def _sdk() -> Iterator[Finding]:
    environ = {name: value.strip() for name, value in os.environ.items()}
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield Finding("wrong", "OTEL_SDK_DISABLED is true: nothing leaves", "leave it out")
    if environ.get("OTEL_TRACES_EXPORTER", "").lower() == "none":
        yield Finding("wrong", "OTEL_TRACES_EXPORTER is none: spans go nowhere", "leave it out")
    if environ.get("OTEL_METRICS_EXPORTER", "").lower() == "none":
        lost = "OTEL_METRICS_EXPORTER is none: the counts that alerts rest on go nowhere"
        yield Finding("note", lost, "leave it out, unless a Jaeger alone is all there is, which takes none")
    if environ.get("OTEL_TRACES_SAMPLER", "").lower() in _SAMPLERS_THAT_DROP_ALL:
        drops = f"OTEL_TRACES_SAMPLER is {environ['OTEL_TRACES_SAMPLER']}: no span of a run is kept"
        yield Finding("wrong", drops, "use parentbased_traceidratio with OTEL_TRACES_SAMPLER_ARG for a share")
    if not environ.get("OTEL_SERVICE_NAME") and "service.name=" not in environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    ):
        yield Finding(
            "note",
            "no service name is set: what is sent is found under unknown_service",
            "set OTEL_SERVICE_NAME, unless the program calls configure_telemetry('its name')",
        )


@contextmanager
def _said() -> Iterator[list[str]]:
    """Collect what reading the settings logs, instead of having it logged."""
    said: list[str] = []

    class Collecting(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            said.append(record.getMessage())
            return False

    log, collecting = logging.getLogger("deltaspan"), Collecting()
    log.addFilter(collecting)
    try:
        yield said
    finally:
        log.removeFilter(collecting)
