"""The key of a metric in the names of attributes."""

from __future__ import annotations

import re
from typing import Final

_NOT_IN_KEYS: Final = re.compile(r"[^a-z0-9_]")


def attribute_key(metric: str) -> str:
    """Return the key that stands for a metric in the names of attributes.

    Stores of telemetry take lower-case names without `-`. A `.` separates namespaces, so that `a` beside
    `a.b` would be a value and a namespace at once.

    Args:
        metric: the name of a metric.

    Returns:
        The metric in lower case, with `_` for all other characters than letters and digits. It begins with
        `m_` if it did not begin with a letter. Two metrics may have the same key.

    Example:
        >>> attribute_key("Users.active-now"), attribute_key("5xx")
        ('users_active_now', 'm_5xx')
    """
    key = _NOT_IN_KEYS.sub("_", metric.lower())
    return key if "a" <= key[:1] <= "z" else f"m_{key}"
