"""Letting go of a coroutine that nobody will await."""

from __future__ import annotations

from typing import Any

from deltaspan._interrupts import let_through

__all__ = ["discard"]


def discard(awaitable: Any) -> None:
    """Close what will never be awaited, so that it does not warn when it is collected."""
    try:
        close = getattr(awaitable, "close", None)
        if close is not None:
            close()
    except BaseException as error:
        let_through(error)
