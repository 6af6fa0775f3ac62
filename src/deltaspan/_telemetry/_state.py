"""How much of a state leaves: all of it within bounds, its kind and size, or nothing."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from deltaspan._config import Settings
from deltaspan._render import wire

__all__ = ["StateOnWire"]


class StateOnWire:
    """Turns frozen states into attribute values by the settings of the process."""

    __slots__ = ("_capture", "_max_chars")

    def __init__(self, settings: Settings) -> None:
        self._capture = settings.capture_state
        self._max_chars = settings.max_state_chars

    def of(self, state: object) -> Any:
        """Return the attribute value for a frozen state or delta."""
        if self._capture == "full":
            return wire(state, self._max_chars)
        if self._capture == "none":
            return "(not captured)"
        if isinstance(state, Sized):
            return f"{type(state).__name__} of {len(state)}"
        return type(state).__name__
