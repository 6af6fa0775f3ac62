"""The advice that code which is not verified would be credited to an action."""

from __future__ import annotations

import logging
from typing import Final

from deltaspan._guard import log
from deltaspan._process import on_reset

_MAX_REMEMBERED: Final = 1024
_warned: Final[set[str]] = set()
"""The metrics that were logged in this process."""
on_reset(_warned.clear)


def warn_of_unverified_writers(metric: str, attribution: str) -> None:
    """Log once for each metric that unverified writers would be credited as well.

    Args:
        metric: the metric of a check that passed.
        attribution: the kind of its attribution, `window` or `scoped`.
    """
    if metric in _warned or len(_warned) >= _MAX_REMEMBERED:
        return
    _warned.add(metric)
    log(
        logging.INFO,
        "%s: a change was credited to an action (attribution %s) because no other verified action of this "
        "process could have made it. What another process writes, or code that is not verified, would be "
        "credited as well. If others may write there, let the probe take causal_tag and read only rows that "
        "carry it, or hold a lock that they take, too: .exclusively(lock)",
        metric,
        attribution,
    )
