"""Names of windows in metrics: a bounded number from each place in the program.

A window may get another name in each run, such as one with an id in it. Each name would be new series, and
an SDK drops those that come after its limit, also those of a verdict that an alert waits for.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable
from typing import Final

from deltaspan._concurrency import keep_newest
from deltaspan._guard import log
from deltaspan._process import on_reset

MAX_NAMES: Final = 100
"""The names in metrics that the windows of one call site have. A name is an action with its metrics."""
OTHER: Final = "_OTHER"
"""The name of every further one, as in OpenTelemetry's conventions."""

_MAX_SITES: Final = 1000
_PACKAGE: Final = f"{__name__.partition('.')[0]}."

_names_by_site: Final[dict[tuple[str, int], set[tuple[str, ...]]]] = {}
on_reset(_names_by_site.clear)
_logged: Final[set[tuple[str, int]]] = set()
on_reset(_logged.clear)


def has_too_many_names(action: str, metrics: Iterable[str]) -> bool:
    """Return whether a new window's call site has used up its names.

    Args:
        action: the name of the window.
        metrics: the metrics of its checks.
    """
    site = _call_site()
    names = _names_by_site.get(site)
    if names is None:
        names = _names_by_site.setdefault(site, set())
        keep_newest(_names_by_site, _MAX_SITES)
    name = (action, *metrics)
    if name in names:
        return False
    if len(names) < MAX_NAMES:
        names.add(name)
        return False
    if site not in _logged and len(_logged) < _MAX_SITES:
        _logged.add(site)
        log(
            logging.WARNING,
            "the windows of %s:%d have more than %d names; in metrics and span names the further ones are "
            "%s. A name stands for a kind of window: write what differs from run to run into args=",
            *site,
            MAX_NAMES,
            OTHER,
        )
    return True


def _call_site() -> tuple[str, int]:
    """Return file and line of the innermost caller outside this package."""
    frame = inspect.currentframe()
    while frame is not None:
        if not str(frame.f_globals.get("__name__", "")).startswith(_PACKAGE):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "unknown", 0
