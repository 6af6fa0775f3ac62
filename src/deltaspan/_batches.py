"""Moments: what is read together, before an action or after it, and what such reads have in common."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

from deltaspan._config import settings

__all__ = ["Moment", "enabled", "verifying"]


class Moment:
    """One moment at which states are read: the baselines of a run, its post-states, or a later look at these.

    Attributes:
        shared: what probes that are parts of one snapshot keep here, so that it is read once; by whatever
            key they choose.
    """

    __slots__ = ("shared",)

    def __init__(self) -> None:
        self.shared: dict[Any, Any] = {}


verifying: Final[ContextVar[Moment | None]] = ContextVar("deltaspan_verifying", default=None)
"""The moment for which a probe is being read, None outside of one: an action that a probe calls runs bare, or
a probe that reaches its own action would run it again and again."""


def enabled() -> bool:
    """Return whether actions are verified; asked before each decorated call."""
    return settings().enabled and verifying.get() is None
