"""The suppression of instrumentation in a context.

Instrumentation libraries create no span in a context that suppresses it. Exporters set it while they send.
"""

from __future__ import annotations

from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry.context import Context

_PLAIN_KEY: Final = "suppress_instrumentation"
"""The key that instrumentation libraries also obey."""
# The API has no public name for its key. If it ever renames this one, the plain key still works.
_API_KEY: Final[str] = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", _PLAIN_KEY)

SUPPRESSED: Final[dict[str, Any]] = {_PLAIN_KEY: True, _API_KEY: True}
"""The values that suppress instrumentation in a context."""


def is_suppressed(context: Context) -> bool:
    """Return whether instrumentation is suppressed in a context."""
    return bool(context) and bool(context.get(_API_KEY) or context.get(_PLAIN_KEY))
