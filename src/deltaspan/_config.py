"""Settings: from the environment, from code, and for a block."""

from __future__ import annotations

import difflib
import logging
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypedDict, get_args

from typing_extensions import Unpack

from deltaspan._process import on_reset
from deltaspan._providers import LoggerProvider, MeterProvider, TracerProvider, use_providers
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.typing import Policy

_log = logging.getLogger("deltaspan")

CaptureState = Literal["full", "summary", "none"]
EventSignal = Literal["span", "log", "both"]
EventKind = Literal["check", "evaluation"]
ActionDuration = Literal["windows", "all"]

ENABLED: Final = "DELTASPAN_ENABLED"
"""`false` runs actions bare; windows report `skipped`."""
ON_FAILURE: Final = "DELTASPAN_ON_FAILURE"
"""`record` (default), `warn` or `raise`, for decorators and windows without this option."""
ON_INCONCLUSIVE: Final = "DELTASPAN_ON_INCONCLUSIVE"
"""The same for checks without a verdict."""
STRICT: Final = "DELTASPAN_STRICT"
"""`true` raises for failed checks and for checks without a verdict."""
CAPTURE_STATE: Final = "DELTASPAN_CAPTURE_STATE"
"""`full` (default), `summary` (kind and size of a state, no content) or `none`.

If `full` is set explicitly, the content that ready-made probes read leaves too.
"""
MAX_STATE_CHARS: Final = "DELTASPAN_MAX_STATE_CHARS"
"""Longest text of one state on the wire, in characters. 1024 by default, at least 16."""
EVENT_SIGNAL: Final = "DELTASPAN_EVENT_SIGNAL"
"""`span` (default), `log` or `both`: the signals that carry the `deltaspan.check.result` event."""
EVENTS: Final = "DELTASPAN_EVENTS"
"""`check` (default), `evaluation`, or both with a comma between: the events that a check leaves as."""
ACTION_DURATION: Final = "DELTASPAN_ACTION_DURATION"
"""`windows` (default) or `all`: the actions whose durations `deltaspan.action.duration` has."""
PROPAGATE: Final = "DELTASPAN_PROPAGATE"
"""`off` keeps the causal tag out of baggage and of `causal_headers()`. `on` by default."""
SAMPLING_KEY: Final = "DELTASPAN_SAMPLING_KEY"
"""A secret that the processes of a run share, so that `sampled` checks are read in all of them or in none."""
PROBE_SPANS: Final = "DELTASPAN_PROBE_SPANS"
"""`on` gives each read of a probe a span `read {metric}`. `off` by default: reads have no spans."""
CAPTURE_ARGUMENTS: Final = "DELTASPAN_CAPTURE_ARGUMENTS"
"""`on` puts the arguments and the result of tools on their spans. `off` by default."""
CAPTURE_MESSAGE_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""OpenTelemetry's variable for content. It sets the default of the one above."""

_SMALLEST_STATE_CHARS: Final = 16
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_CONTENT_ON_SPANS: Final = frozenset({"span_only", "span_and_event"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in effect.

    Attributes:
        enabled: whether actions are verified at all.
        on_failure: what a failed check does beyond being recorded.
        on_inconclusive: the same for a check without a verdict.
        strict: whether both raise.
        capture_state: how much of a state leaves in telemetry.
        max_state_chars: bound of one state on the wire, in characters.
        event_signal: how the events of checks leave.
        events: the events that a check leaves as: that of deltaspan, and the evaluation of OpenTelemetry.
        action_duration: the actions whose durations `deltaspan.action.duration` has. Those of tools are in
            `gen_ai.execute_tool.duration`.
        propagate: whether the causal tag leaves the process in baggage.
        sampling_key: decides with the root which runs `sampled` checks read. Without it each process decides.
        probe_spans: whether each read of a probe has a span.
        capture_arguments: whether the arguments and the result of a tool leave on its span.
        shows_content: whether the content that ready-made probes read leaves. `full` must be set explicitly.
        span_events: whether checks leave as span events.
        log_events: whether checks leave as log-based events.
        has_check_events: whether checks leave as events of deltaspan.
        has_evaluations: whether checks leave as evaluations.
    """

    enabled: bool = True
    on_failure: Policy = "record"
    on_inconclusive: Policy = "record"
    strict: bool = False
    capture_state: CaptureState = "full"
    max_state_chars: int = 1024
    event_signal: EventSignal = "span"
    events: tuple[EventKind, ...] = ("check",)
    action_duration: ActionDuration = "windows"
    propagate: bool = True
    sampling_key: str | None = field(default=None, repr=False)
    probe_spans: bool = False
    capture_arguments: bool = False
    shows_content: bool = False
    span_events: bool = field(init=False)
    log_events: bool = field(init=False)
    has_check_events: bool = field(init=False)
    has_evaluations: bool = field(init=False)

    def __post_init__(self) -> None:
        has_checks = "check" in self.events
        object.__setattr__(self, "has_check_events", has_checks)
        object.__setattr__(self, "has_evaluations", "evaluation" in self.events)
        object.__setattr__(self, "span_events", has_checks and self.event_signal in ("span", "both"))
        object.__setattr__(self, "log_events", self.event_signal in ("log", "both"))

    def __hash__(self) -> int:
        # Settings are looked up in every run, and hashing all fields would take a while.
        return hash((self.capture_state, self.max_state_chars))

    @classmethod
    def of(cls, *layers: Mapping[str, Any]) -> Settings:
        """Combine layers of settings. A later layer overrides the earlier ones.

        Args:
            layers: values by the name of the field. A layer need not have all of them.
        """
        values: dict[str, Any] = {}
        for layer in layers:
            if values.get("strict") and layer.get("strict") is False:
                values.update(_LENIENT)
            values.update(layer)
        # The content of rows, documents and files leaves only on request, so the default does not count.
        return cls(**values, shows_content=values.get("capture_state") == "full")

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Parse settings. Log an invalid value, and use its default."""
        parsed = cls.of(_read(environ))
        _notice_unverified(parsed)
        return parsed


class SettingValues(TypedDict, total=False):
    """The settings that code may set. None leaves a setting as it is."""

    enabled: bool | None
    on_failure: Policy | None
    on_inconclusive: Policy | None
    strict: bool | None
    capture_state: CaptureState | None
    max_state_chars: int | None
    event_signal: EventSignal | None
    events: Collection[EventKind] | None
    action_duration: ActionDuration | None
    propagate: bool | None
    sampling_key: str | None
    probe_spans: bool | None
    capture_arguments: bool | None


class _Setting(NamedTuple):
    """The definition of one setting.

    Attributes:
        variable: its environment variable.
        words: the allowed texts. Empty for a number or a switch.
        smallest: the smallest allowed number. None if it is not a number.
        is_secret: whether it is a text that must not be shown.
        is_list: whether it is a list of the allowed texts.
    """

    variable: str
    words: tuple[str, ...] = ()
    smallest: int | None = None
    is_secret: bool = False
    is_list: bool = False

    def parse(self, text: str) -> Any:
        """Parse the text of a variable. Raise ValueError if it is invalid."""
        word = text.lower()
        if self.is_secret:
            return text
        if self.is_list:
            return self.validate([each.strip() for each in word.split(",") if each.strip()])
        if self.smallest is not None:
            return self.validate(int(text))
        if self.words:
            return self.validate(word)
        if word not in _TRUE | _FALSE:
            raise ValueError("write true or false")
        return word in _TRUE

    def validate(self, value: Any) -> Any:
        """Return a value. Raise ValueError with what to write instead if it is invalid."""
        if self.is_secret:
            if not isinstance(value, str) or not value:
                raise ValueError("write a string that is not empty")
        elif self.is_list:
            if (
                isinstance(value, str)
                or not isinstance(value, Collection)
                or not value
                or any(each not in self.words for each in value)
            ):
                raise ValueError(f"write one or more of {', '.join(self.words)}, as in {self.words[:1]}")
            return tuple(word for word in self.words if word in value)
        elif self.smallest is not None:
            if type(value) is not int or value < self.smallest:
                raise ValueError(f"write {self.smallest} or more")
        elif not self.words:
            if type(value) is not bool:
                raise ValueError("write True or False")
        elif value not in self.words:
            raise ValueError(f"write one of {', '.join(self.words)}")
        return value


_SETTINGS: Final[dict[str, _Setting]] = {
    "enabled": _Setting(ENABLED),
    "on_failure": _Setting(ON_FAILURE, get_args(Policy)),
    "on_inconclusive": _Setting(ON_INCONCLUSIVE, get_args(Policy)),
    "strict": _Setting(STRICT),
    "capture_state": _Setting(CAPTURE_STATE, get_args(CaptureState)),
    "max_state_chars": _Setting(MAX_STATE_CHARS, smallest=_SMALLEST_STATE_CHARS),
    "event_signal": _Setting(EVENT_SIGNAL, get_args(EventSignal)),
    "events": _Setting(EVENTS, get_args(EventKind), is_list=True),
    "action_duration": _Setting(ACTION_DURATION, get_args(ActionDuration)),
    "propagate": _Setting(PROPAGATE),
    "sampling_key": _Setting(SAMPLING_KEY, is_secret=True),
    "probe_spans": _Setting(PROBE_SPANS),
    "capture_arguments": _Setting(CAPTURE_ARGUMENTS),
}
_STRICT: Final = {"on_failure": "raise", "on_inconclusive": "raise"}
_LENIENT: Final = {"on_failure": "record", "on_inconclusive": "record"}


class _ProcessSettings:
    """The settings of the process: its environment and the calls of `configure`."""

    def __init__(self) -> None:
        self.configured: dict[str, Any] = {}
        self.layers: tuple[Mapping[str, Any], ...] = ()
        self.settings: Settings | None = None

    def read(self) -> Settings:
        """Read the environment again."""
        self.layers = (_read(os.environ), self.configured)
        self.settings = combined = Settings.of(*self.layers)
        _notice_unverified(combined)
        return combined


class _Override:
    """The settings of a block, on top of those of the process."""

    __slots__ = ("_below", "_settings", "layers")

    def __init__(self, *layers: Mapping[str, Any]) -> None:
        self.layers = layers
        self._below: Settings | None = None
        self._settings: Settings | None = None

    def settings(self) -> Settings:
        below = _process.settings or _process.read()
        if self._settings is None or self._below is not below:
            self._below, self._settings = below, Settings.of(*_process.layers, *self.layers)
        return self._settings


_DEFAULTS: Final = Settings()
_process: Final = _ProcessSettings()
_override: Final[ContextVar[_Override | None]] = ContextVar("deltaspan_override", default=None)


def settings() -> Settings:
    """Return the settings in effect in this context."""
    of_block = _override.get()
    if of_block is not None:
        return of_block.settings()
    return _process.settings or _process.read()


@on_reset
def _forget() -> None:
    """Undo `configure`, and read the environment at the next use."""
    _process.configured, _process.settings = {}, None


def configure(
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    logger_provider: LoggerProvider | None = None,
    **values: Unpack[SettingValues],
) -> None:
    """Set settings for the whole process. They override the environment.

    A setting that is omitted or None keeps the value of an earlier call. Each call reads the environment
    again. Decorators, windows and `override` override both.

    Args:
        tracer_provider: the provider of OpenTelemetry that makes spans. The global one by default. A run
            keeps the providers that it began with.
        meter_provider: the same for metrics.
        logger_provider: the same for log events.
        values: settings by name, each named like its environment variable: `enabled` (`DELTASPAN_ENABLED`),
            `on_failure` and `on_inconclusive` (`record`, `warn` or `raise`), `strict` (both raise),
            `capture_state` (`full`, `summary` or `none`), `max_state_chars` (of one state on the wire, 16 or
            more), `event_signal` (`span`, `log` or `both`), `events` (`check`, `evaluation` or both: the
            events that a check leaves as; evaluations are log events `gen_ai.evaluation.result`),
            `action_duration` (`windows` or `all`), `propagate` (whether the causal tag leaves the process),
            `sampling_key` (a secret that the processes of a run share, so that `sampled` checks are read in
            all of them or in none), `probe_spans` (whether each read of a probe has a span), and
            `capture_arguments` (whether the arguments and the result of a tool leave on its span).

    Raises:
        DefinitionTypeError: a setting does not exist, or something is not a provider.
        DefinitionValueError: a value is invalid, or `strict` contradicts a policy.

    Example:
        >>> import deltaspan
        >>> deltaspan.configure(max_state_chars=1024)
    """
    chosen = _validated("configure", values)
    use_providers(
        tracer_provider=tracer_provider, meter_provider=meter_provider, logger_provider=logger_provider
    )
    lenient = _LENIENT if values.get("strict") is False and _process.configured.get("strict") else {}
    _process.configured = {**_process.configured, **lenient, **chosen}
    _process.read()


def override(**values: Unpack[SettingValues]) -> AbstractContextManager[None]:
    """Set settings for a block, and for tasks that are started in it.

    They apply in this context only. Another task or thread sees them only if it runs in a copy of this
    context. In async code use a plain `with`, too. Blocks nest: a setting that is omitted or None is that of
    the enclosing block.

    Args:
        values: settings by name, as for `configure`.

    Raises:
        DefinitionTypeError: a setting does not exist.
        DefinitionValueError: a value is invalid, or `strict` contradicts a policy.

    Example:
        >>> import deltaspan
        >>> @deltaspan.expects(deltaspan.change("n", lambda: 3).by(1))
        ... def f():
        ...     return "created"
        >>> with deltaspan.override(strict=True):
        ...     f()
        Traceback (most recent call last):
        deltaspan.exceptions.DeltaCheckFailed: f: expected n to change by 1, but it changed by 0 (3 → 3)
    """
    return _overriding(_validated("override", values))


@contextmanager
def _overriding(chosen: Mapping[str, Any]) -> Iterator[None]:
    around = _override.get()
    token = _override.set(_Override(*(() if around is None else around.layers), chosen))
    try:
        yield
    finally:
        # A test fixture may be torn down in another context, where there is nothing to restore.
        with suppress(ValueError):
            _override.reset(token)


def _validated(function: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are given, and the policies that `strict` implies.

    Args:
        function: the name of the function that they are given to, for errors.
        values: settings by name. None leaves a setting as it is.
    """
    for name in values.keys() - _SETTINGS.keys():
        near = difflib.get_close_matches(name.lower().removeprefix("deltaspan_"), _SETTINGS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(_SETTINGS)}"
        raise DefinitionTypeError(f"{function} knows no setting {name!r}; {hint}")
    named = {name: value for name, value in values.items() if value is not None}
    named = {name: _validate(name, value) for name, value in named.items()}
    if not named.get("strict"):
        return named
    for name, policy in _STRICT.items():
        if named.get(name, policy) != policy:
            raise DefinitionValueError(
                f"strict=True raises, and {name}={named[name]!r} does not; take one of the two away"
            )
    return {**named, **_STRICT}


def _validate(name: str, value: Any) -> Any:
    try:
        return _SETTINGS[name].validate(value)
    except ValueError as error:
        given = f"<{type(value).__name__}>" if _SETTINGS[name].is_secret else repr(value)
        raise DefinitionValueError(f"{name}={given} is not understood: {error}") from None


def _read(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, setting in _SETTINGS.items():
        text = environ.get(setting.variable, "").strip()
        if not text:
            continue
        try:
            values[name] = setting.parse(text)
        except ValueError as error:
            # A typing error in a deployment must not break an action, so it is only logged.
            default = getattr(_DEFAULTS, name)
            _log.warning("%s=%r is not understood: %s; using %r", setting.variable, text, error, default)
    if (
        not environ.get(CAPTURE_ARGUMENTS, "").strip()
        and environ.get(CAPTURE_MESSAGE_CONTENT, "").strip().lower() in _CONTENT_ON_SPANS
    ):
        values["capture_arguments"] = True
    return {**values, **_STRICT} if values.get("strict") else values


def _notice_unverified(parsed: Settings) -> None:
    if not parsed.enabled and "raise" in (parsed.on_failure, parsed.on_inconclusive):
        _log.warning("%s is false: actions run unverified and will not raise", ENABLED)
