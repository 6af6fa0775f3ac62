"""Batches of reads that are made together, before an action or after it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from deltaspan._config import settings

ReadBatch: TypeAlias = dict[Any, Any]
"""States that are read together, and the values that their probes share. Probes that are parts of one
snapshot keep it here, so that it is read once. Each chooses its own key."""

current_batch: Final[ContextVar[ReadBatch | None]] = ContextVar("deltaspan_current_batch", default=None)
"""The batch for which a probe is being read, or None. An action that a probe calls is not verified: a probe
that calls its own action would otherwise run it again and again."""


def enabled() -> bool:
    """Return whether the next call of an action is verified."""
    return settings().enabled and current_batch.get() is None
