"""What a check may say beside its claim: when to look again, how long to wait, what not to show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, Final

from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

__all__ = [
    "UNMODIFIED",
    "Modifiers",
    "Patience",
    "checked_seconds",
    "is_context_manager",
    "refuse_twice",
]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a post-state is looked at again.

    Attributes:
        seconds: for how long, from the end of the action.
        every: the pause between two reads, in seconds.
        holding: True when it must hold throughout; False when it must come to hold.
    """

    seconds: float
    every: float
    holding: bool


@dataclass(frozen=True, slots=True)
class Modifiers:
    """The modifiers of one check; each is None, or its default, until it is said.

    Attributes:
        patience: looks at the post-state again.
        timeout: the longest that one read may take, in seconds.
        lock: a context manager that is held around the window, or a callable that returns one.
        redaction: turns a state into what may be shown of it.
        showing: whether content that the probe reads is shown.
        unchanged_on_error: when the action raises, its state must not have changed.
        sample_rate: the share of runs in which the state is read, from 0 to 1.
    """

    patience: Patience | None = None
    timeout: float | None = None
    lock: Any = None
    redaction: Callable[[Any], Any] | None = None
    showing: bool = False
    unchanged_on_error: bool = False
    sample_rate: float = 1.0


UNMODIFIED: Final = Modifiers()


def is_context_manager(lock: Any) -> bool:
    """Return whether `with` or `async with` can enter it; a class of context managers is none itself."""
    return hasattr(type(lock), "__enter__") or hasattr(type(lock), "__aenter__")


def checked_seconds(word: str, seconds: Any) -> float:
    """Return a duration, or refuse what is none.

    Raises:
        DefinitionTypeError: it is not a number of seconds.
        DefinitionValueError: it is not positive and finite.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise DefinitionTypeError(f"{word} takes a number of seconds, not {seconds!r}")
    if not isfinite(seconds) or seconds <= 0:
        raise DefinitionValueError(f"{word}={seconds!r} must be a positive number of seconds")
    return float(seconds)


def refuse_twice(said: Modifiers, word: str, field: str, check: object) -> None:
    """Refuse a modifier that was said before.

    Raises:
        DefinitionValueError: it was.
    """
    defaults = {each.name: each.default for each in fields(Modifiers)}
    if getattr(said, field) != defaults[field]:
        raise DefinitionValueError(f"{check!r} cannot be followed by .{word}: it says so already")
