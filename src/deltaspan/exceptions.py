"""Every error deltaspan raises.

    DeltaspanError
    ├── DefinitionError                 a check, window or decorator was written wrongly
    │   ├── DefinitionTypeError         (also a TypeError) a thing of the wrong kind
    │   └── DefinitionValueError        (also a ValueError) a value that contradicts itself or another
    ├── WindowStateError                (also a ValueError) a window's steps in the wrong order
    ├── SourceError                     telemetry that was to be read could not be
    ├── ProbeError                      a state could not be read, or is too large to be
    ├── DeltaCheckFailed                a check failed and `on_failure="raise"` asked to hear it
    └── DeltaInconclusive               a check has no verdict and `on_inconclusive="raise"` asked to hear it

The first two are found when code is loaded or a window is built. The last two are raised only after
everything is recorded, and never in place of an exception of the action's own.
"""

from __future__ import annotations

import pickle
from typing import Any

from deltaspan.typing import Report

__all__ = [
    "DefinitionError",
    "DefinitionTypeError",
    "DefinitionValueError",
    "DeltaCheckFailed",
    "DeltaInconclusive",
    "DeltaspanError",
    "ProbeError",
    "SourceError",
    "WindowStateError",
]


class DeltaspanError(Exception):
    """The base of every error that deltaspan raises."""


class DefinitionError(DeltaspanError):
    """A check, a window or a decorator is defined wrongly; found before any action runs."""


class DefinitionTypeError(DefinitionError, TypeError):
    """Something of the wrong kind was given: a probe that is not callable, an unknown parameter name."""


class DefinitionValueError(DefinitionError, ValueError):
    """A value contradicts itself or another: `by` with `by_at_least`, a metric named twice."""


class WindowStateError(DeltaspanError, ValueError):
    """A window's steps were taken in the wrong order, such as verifying before a baseline."""


class SourceError(DeltaspanError):
    """Telemetry could not be read: a file is missing or is no OTLP/JSON, a Jaeger does not answer."""


class ProbeError(DeltaspanError):
    """A probe of `deltaspan.probes` could not read its state, or it is larger than the probe's limit.

    Its text is the system's own, without passwords and tokens; nothing is chained to it. A check never raises
    it: it makes the check inconclusive.
    """


class _VerdictError(DeltaspanError):
    """What both verdict errors carry: the whole report, and what the action returned."""

    def __init__(self, report: Report, result: Any = None) -> None:
        super().__init__(f"{report.action}: {report.explanation}")
        self.report = report
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        # Reports hold values of any kind; an exception that crosses a process keeps its sentence at least.
        return (_restore, (type(self), str(self), _portable(self.report), _portable(self.result)))


def _portable(value: Any) -> Any:
    try:
        pickle.dumps(value)
    except Exception:
        return None
    return value


def _restore(kind: type[_VerdictError], message: str, report: Any, result: Any) -> _VerdictError:
    error = kind.__new__(kind, message)
    error.args = (message,)
    error.report, error.result = report, result
    return error


class DeltaCheckFailed(_VerdictError):
    """A delta check failed and the policy for failures is `raise`.

    Attributes:
        report: the ActionReport of the run, complete; None in another process if it cannot be pickled.
        result: what the action returned before its delta was judged; the action did run. Likewise.
    """


class DeltaInconclusive(_VerdictError):
    """No verdict could be reached and the policy for inconclusive checks is `raise`.

    The effect of the action is unknown: it must not simply be repeated.

    Attributes:
        report: the ActionReport of the run, complete.
        result: what the action returned; the action did run.
    """
