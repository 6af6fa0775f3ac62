"""Collecting reports: every report of a context, in order of completion."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Final

from deltaspan._reports._action import ActionReport

_collectors: Final[ContextVar[tuple[list[ActionReport], ...]]] = ContextVar(
    "deltaspan_collectors", default=()
)


@contextmanager
def collect_reports() -> Iterator[list[ActionReport]]:
    """Yield a list to which each finished run of this context adds its report.

    Actions in tasks, and in threads that carry the context, are collected too. A thread that is started
    plainly, by `threading.Thread` or a pool, has an empty context: start it with `copy_context().run`.
    Collections nest: an inner one does not take reports from an outer one.

    If verification is disabled, each action and window gives a report that is `skipped`, when it begins. An
    empty list means that nothing ran here. `all(report.passed for report in reports)` is true of it too, so
    assert how many there are.

    Example:
        >>> from deltaspan import change, collect_reports, expects
        >>> flows = []
        >>> @expects(change("flows", lambda: len(flows)).by(1))
        ... def create_flow():
        ...     flows.append("new")
        >>> with collect_reports() as reports:
        ...     create_flow()
        >>> reports[0].outcome
        'pass'
    """
    collected: list[ActionReport] = []
    token = _collectors.set((*_collectors.get(), collected))
    try:
        yield collected
    finally:
        # A fixture may be set up in one context and torn down in another, where there is nothing to restore.
        with suppress(ValueError):
            _collectors.reset(token)


def is_collecting() -> bool:
    """Return whether any collection is open in this context."""
    return bool(_collectors.get())


def publish_report(report: ActionReport) -> None:
    """Add a finished report to every collection that is open in this context."""
    for collected in _collectors.get():
        collected.append(report)
