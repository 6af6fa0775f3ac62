"""Every error deltaspan raises.

    DeltaspanError
    ├── DefinitionError                 a check, window or decorator was written wrongly
    │   ├── DefinitionTypeError         (also a TypeError) an argument of the wrong kind
    │   └── DefinitionValueError        (also a ValueError) a value that contradicts itself or another
    ├── WindowStateError                (also a ValueError) a window's steps in the wrong order
    ├── SourceError                     telemetry that was to be read could not be
    ├── ProbeError                      a state could not be read, or is too large to be
    ├── DeltaCheckFailed                a check failed and `on_failure="raise"` is set
    └── DeltaInconclusive               a check has no verdict and `on_inconclusive="raise"` is set

Definition errors are raised when code is loaded or a window is built. The last two are raised only after
everything is recorded, and never in place of an exception of the action.
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
    """A wrong definition of a check, a window or a decorator.

    It is raised before any action runs.
    """


class DefinitionTypeError(DefinitionError, TypeError):
    """An argument of the wrong kind, such as a probe that is not callable."""


class DefinitionValueError(DefinitionError, ValueError):
    """A value that contradicts itself or another, such as a metric named twice."""


class WindowStateError(DeltaspanError, ValueError):
    """A step of a window in the wrong order, such as `verify` without baseline."""


class SourceError(DeltaspanError):
    """Telemetry that could not be read.

    A file is missing or is not OTLP/JSON, or a Jaeger does not answer.
    """


class ProbeError(DeltaspanError):
    """A state that a probe of `deltaspan.probes` could not read.

    The system did not answer, or the state is larger than the limit of the probe.

    Its text is the text of the system, without passwords and tokens. No other exception is chained to it. A
    check never raises it, but becomes inconclusive.
    """


class _VerdictError(DeltaspanError):
    """The base of both verdict errors, with the report and the result."""

    def __init__(self, report: Report, result: Any = None) -> None:
        super().__init__(f"{report.action}: {report.explanation}")
        self.report = report
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        # Reports hold values of any kind. An exception that crosses a process keeps at least its sentence.
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
        report: the ActionReport of the run, complete. In another process it is None if it cannot be pickled.
        result: the value that the action returned before its delta was judged. The action did run. In another
            process it is None if it cannot be pickled.
    """


class DeltaInconclusive(_VerdictError):
    """No verdict could be reached and the policy for inconclusive checks is `raise`.

    The effect of the action is unknown: it must not simply be repeated.

    Attributes:
        report: the ActionReport of the run, complete.
        result: the value that the action returned. The action did run.
    """
