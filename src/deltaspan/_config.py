"""Settings from the environment, read once, each variable documented where it is named."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeVar, cast, get_args

from deltaspan._moments import verifying
from deltaspan.typing import Policy

__all__ = ["CaptureState", "EventSignal", "Settings", "enabled", "settings"]

_log = logging.getLogger("deltaspan")

T = TypeVar("T")
CaptureState = Literal["full", "summary", "none"]
EventSignal = Literal["span", "log", "both"]

ENABLED: Final = "DELTASPAN_ENABLED"
"""`false` runs actions bare; windows report `skipped`."""
ON_FAILURE: Final = "DELTASPAN_ON_FAILURE"
"""`record` (default), `warn` or `raise`, for decorators and windows that do not say."""
ON_INCONCLUSIVE: Final = "DELTASPAN_ON_INCONCLUSIVE"
"""The same for checks without a verdict."""
CAPTURE_STATE: Final = "DELTASPAN_CAPTURE_STATE"
"""`full` (default), `summary` (kind and size of a state, no content) or `none`.

If `full` is said, and not just the default, the content that ready-made probes read leaves too.
"""
MAX_STATE_CHARS: Final = "DELTASPAN_MAX_STATE_CHARS"
"""Longest text of one state on the wire, in characters; 1024 by default, 16 at least."""
EVENT_SIGNAL: Final = "DELTASPAN_EVENT_SIGNAL"
"""`span` (default), `log` or `both`: how the `delta.check` event leaves."""
PROPAGATE: Final = "DELTASPAN_PROPAGATE"
"""`off` keeps the causal tag out of baggage and of what `causal_headers()` gives; `on` by default."""

_SMALLEST_STATE_CHARS: Final = 16
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says.

    Attributes:
        enabled: whether actions are verified at all.
        on_failure: what a failed check does beyond being recorded.
        on_inconclusive: the same for a check without a verdict.
        capture_state: how much of a state leaves in telemetry.
        max_state_chars: bound of one state on the wire, in characters.
        span_events: whether checks leave as span events.
        log_events: whether checks leave as log-based events.
        propagate: whether the causal tag leaves the process in baggage.
        shows_content: whether values that ready-made probes read as content leave; only if `full` is said.
    """

    enabled: bool = True
    on_failure: Policy = "record"
    on_inconclusive: Policy = "record"
    capture_state: CaptureState = "full"
    max_state_chars: int = 1024
    span_events: bool = True
    log_events: bool = False
    propagate: bool = True
    shows_content: bool = False

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Read settings; a value that cannot be understood is logged and its default used."""
        active = _read(environ, ENABLED, _boolean, default=True)
        on_failure = cast("Policy", _read(environ, ON_FAILURE, _one_of(Policy), "record"))
        on_inconclusive = cast("Policy", _read(environ, ON_INCONCLUSIVE, _one_of(Policy), "record"))
        if not active and "raise" in (on_failure, on_inconclusive):
            _log.warning("%s is false: actions run unverified and will not raise", ENABLED)
        signal = _read(environ, EVENT_SIGNAL, _one_of(EventSignal), "span")
        return cls(
            enabled=active,
            on_failure=on_failure,
            on_inconclusive=on_inconclusive,
            capture_state=cast("CaptureState", _read(environ, CAPTURE_STATE, _one_of(CaptureState), "full")),
            max_state_chars=_read(environ, MAX_STATE_CHARS, _state_chars, 1024),
            span_events=signal in ("span", "both"),
            log_events=signal in ("log", "both"),
            propagate=_read(environ, PROPAGATE, _boolean, default=True),
            # Not by default: what is in rows, documents and files leaves only if somebody asked for it.
            shows_content=_read(environ, CAPTURE_STATE, _one_of(CaptureState), "none") == "full",
        )


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Return the settings of this process, read from the environment at the first call."""
    return Settings.from_environ(os.environ)


def enabled() -> bool:
    """Return whether actions are verified; asked before each decorated call."""
    return settings().enabled and verifying.get() is None


def _read(environ: Mapping[str, str], name: str, parse: Callable[[str], T], default: T) -> T:
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        return parse(text)
    except ValueError as error:
        # An action must not break because of a typing error in a deployment: say it and go on.
        _log.warning("%s=%r is not understood: %s; using %r", name, text, error, default)
        return default


def _boolean(text: str) -> bool:
    word = text.lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError("write true or false")


def _one_of(words: object) -> Callable[[str], str]:
    known = get_args(words)

    def parse(text: str) -> str:
        word = text.lower()
        if word not in known:
            raise ValueError(f"write one of {', '.join(known)}")
        return word

    return parse


def _state_chars(text: str) -> int:
    number = int(text)
    if number < _SMALLEST_STATE_CHARS:
        raise ValueError(f"write {_SMALLEST_STATE_CHARS} or more")
    return number
