"""The providers of OpenTelemetry that a program hands in, instead of the global ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from deltaspan._process import on_reset
from deltaspan.exceptions import DefinitionTypeError

F = TypeVar("F", bound="Callable[[Providers], object]")


class TracerProvider(Protocol):
    """A provider of tracers, such as that of OpenTelemetry."""

    def get_tracer(self, *args: Any, **kwargs: Any) -> Any:
        """Return a tracer."""


class MeterProvider(Protocol):
    """A provider of meters, such as that of OpenTelemetry."""

    def get_meter(self, *args: Any, **kwargs: Any) -> Any:
        """Return a meter."""


class LoggerProvider(Protocol):
    """A provider of loggers, such as that of OpenTelemetry."""

    def get_logger(self, *args: Any, **kwargs: Any) -> Any:
        """Return a logger."""


class Providers(NamedTuple):
    """The providers that were handed in. None stands for the global one."""

    tracer_provider: TracerProvider | None = None
    meter_provider: MeterProvider | None = None
    logger_provider: LoggerProvider | None = None


_METHODS: Final = {
    "tracer_provider": "get_tracer",
    "meter_provider": "get_meter",
    "logger_provider": "get_logger",
}
_listeners: Final[list[Callable[[Providers], object]]] = []
_in_use = Providers()


def on_providers(function: F) -> F:
    """Register a function to be called with each new set of providers."""
    _listeners.append(function)
    return function


def use_providers(**chosen: Any) -> None:
    """Use providers from now on.

    One that is None keeps that of an earlier call.

    Args:
        **chosen: providers by the name of the field of `Providers`.

    Raises:
        DefinitionTypeError: something is not a provider of its signal.
    """
    global _in_use  # noqa: PLW0603  # one set a process, as OpenTelemetry's own providers are
    named = {name: provider for name, provider in chosen.items() if provider is not None}
    for name, provider in named.items():
        if isinstance(provider, type) or not callable(getattr(provider, _METHODS[name], None)):
            given = (
                f"the class {provider.__name__}" if isinstance(provider, type) else type(provider).__name__
            )
            kind = name.partition("_")[0]
            raise DefinitionTypeError(
                f"{name} takes a {kind} provider of OpenTelemetry, which has {_METHODS[name]}(), not {given}"
            )
    if named:
        _in_use = _in_use._replace(**named)
        for listener in _listeners:
            listener(_in_use)


@on_reset
def _forget() -> None:
    global _in_use  # noqa: PLW0603
    _in_use = Providers()
