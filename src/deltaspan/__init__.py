"""Prove what an AI agent's action changed, and emit the verdict as OpenTelemetry."""

from typing import TYPE_CHECKING

from deltaspan._attribution import tagged
from deltaspan._config import configure, override
from deltaspan._decorator import expects
from deltaspan._reports import ActionReport, CheckReport, collect_reports
from deltaspan.causal_tag import adopt, causal_environ, causal_headers, current_causal_tag
from deltaspan.checks import change, keyed, observe, pattern, probe, unchanged
from deltaspan.exceptions import DeltaCheckFailed, DeltaInconclusive, DeltaspanError
from deltaspan.verifier import DeltaVerifier
from deltaspan.windows import Window, window

if TYPE_CHECKING:
    from deltaspan._version import __version__ as __version__
    from deltaspan.setup import configure_telemetry

__all__ = [
    "ActionReport",
    "CheckReport",
    "DeltaCheckFailed",
    "DeltaInconclusive",
    "DeltaVerifier",
    "DeltaspanError",
    "Window",
    "adopt",
    "causal_environ",
    "causal_headers",
    "change",
    "collect_reports",
    "configure",
    "configure_telemetry",
    "current_causal_tag",
    "expects",
    "keyed",
    "observe",
    "override",
    "pattern",
    "probe",
    "tagged",
    "unchanged",
    "window",
]


def __getattr__(name: str) -> object:
    # `configure_telemetry` needs the SDK, and `__version__` is rarely used. Both are imported on demand.
    if name == "configure_telemetry":
        from deltaspan.setup import configure_telemetry

        return configure_telemetry
    if name == "__version__":
        from deltaspan._version import __version__ as __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
