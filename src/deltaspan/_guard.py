"""The one boundary between an action and what could break it: hooks and telemetry are called through here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from deltaspan._interrupts import let_through
from deltaspan._process import on_reset

__all__ = ["EXHAUSTED", "class_name", "describe", "guarded", "qualified_name", "safe_str", "say"]

_log = logging.getLogger("deltaspan")

P = ParamSpec("P")
R = TypeVar("R")

EXHAUSTED: Final = (RecursionError, MemoryError)
"""What is raised when the stack or the memory has no room left. It says nothing of the value at hand, so it
must never be taken for an answer such as "not equal"."""

_MOST_REMEMBERED: Final = 256
_seen: Final[set[tuple[str, str]]] = set()
on_reset(_seen.clear)

class_name: Callable[[type], str] = type.__dict__["__name__"].__get__
"""The name of a class, whatever its metaclass says."""
_qualified: Final = type.__dict__["__qualname__"].__get__
_module: Final = type.__dict__["__module__"].__get__


def qualified_name(kind: type) -> str:
    """Return module and qualified name of a class, whatever its metaclass says."""
    module = _module(kind)
    return f"{module}.{_qualified(kind)}" if type(module) is str else _qualified(kind)


def safe_str(value: object, default: str | None = None) -> str:
    """Return the text of any object.

    Args:
        value: an exception, or any other object of the user's.
        default: the text of an object whose own text cannot be had; `<ClassName>` by default.
    """
    try:
        return str.__str__(str(value))  # a subclass of str has methods of its own
    except BaseException as error:
        let_through(error)
        return f"<{class_name(type(value))}>" if default is None else default


def describe(error: BaseException) -> str:
    """Return the class of an exception and its message, if it has one, as in "ValueError: no"."""
    name, text = class_name(type(error)), safe_str(error, "")
    return f"{name}: {text}" if text else name


def guarded(what: str, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R | None:
    """Call something that must not break an action; log what it raises and go on.

    Args:
        what: names the thing in the log, such as `the on_report hook of create_flow`.
        call: what to call.
        *args: its positional arguments.
        **kwargs: its keyword arguments.

    Returns:
        What the call returned, or None if it raised.

    Raises:
        BaseException: an interrupt that arrived meanwhile.
    """
    try:
        return call(*args, **kwargs)
    except BaseException as error:
        let_through(error)
        # A broken exporter would otherwise log a traceback for each call of each action.
        fault = (what, qualified_name(type(error)))  # a class may not even hash
        level = logging.DEBUG if fault in _seen else logging.WARNING
        if len(_seen) < _MOST_REMEMBERED:
            _seen.add(fault)
        say(level, "%s raised and was ignored; the action is not affected", what, exc_info=True)
        return None


def say(level: int, message: str, *values: Any, exc_info: bool = False) -> None:
    """Log something during an action, which a logging handler that raises must not break either.

    Args:
        level: one of the levels of `logging`.
        message: a format of `logging`.
        *values: what goes into it.
        exc_info: whether the traceback of the current exception is added.

    Raises:
        BaseException: an interrupt that arrived meanwhile.
    """
    try:
        _log.log(level, message, *values, exc_info=exc_info)
    except BaseException as error:
        let_through(error)
