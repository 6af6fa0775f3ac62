"""Letting go of a coroutine that nobody will await."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

__all__ = ["discard"]


def discard(awaitable: Any) -> None:
    """Close what will never be awaited, so that it does not warn when it is collected."""
    close = getattr(awaitable, "close", None)
    if close is not None:
        with suppress(Exception):
            close()
