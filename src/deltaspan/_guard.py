"""The guard around hooks and telemetry, so that they never break an action."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar

from typing_extensions import TypeVarTuple, Unpack

from deltaspan._interrupts import let_through
from deltaspan._process import on_reset

_log = logging.getLogger("deltaspan")

Args = TypeVarTuple("Args")
R = TypeVar("R")

EXHAUSTED: Final = (RecursionError, MemoryError)
"""Exceptions that mean that the stack or the memory is exhausted. They tell nothing about the value at hand,
so they must never count as an answer such as "not equal"."""

_MAX_REMEMBERED: Final = 256
_seen: Final[set[tuple[str, str]]] = set()
on_reset(_seen.clear)

class_name: Callable[[type], str] = type.__dict__["__name__"].__get__
"""The name of a class, independent of its metaclass."""
_qualified: Final = type.__dict__["__qualname__"].__get__
_module: Final = type.__dict__["__module__"].__get__


def qualified_name(kind: type) -> str:
    """Return module and qualified name of a class, independent of its metaclass."""
    module = _module(kind)
    return f"{module}.{_qualified(kind)}" if type(module) is str else _qualified(kind)


def safe_str(value: object, default: str | None = None) -> str:
    """Return the text of any object.

    Args:
        value: an exception, or any other object of the user.
        default: the text to return if `str` raises. `<ClassName>` by default.
    """
    try:
        return str.__str__(str(value))  # a subclass of str may override methods
    except BaseException as error:
        let_through(error)
        return f"<{class_name(type(value))}>" if default is None else default


def describe(error: BaseException) -> str:
    """Return the class and the message of an exception, as in "ValueError: no"."""
    name, text = class_name(type(error)), safe_str(error, "")
    return f"{name}: {text}" if text else name


def guarded(name: str, call: Callable[[Unpack[Args]], R], *args: Unpack[Args]) -> R | None:
    """Call a function that must not break an action, and log its exception.

    Args:
        name: a name for the log, such as `the on_report hook of create_flow`.
        call: the function to call.
        *args: its arguments.

    Returns:
        The result of the call, or None if it raised.

    Raises:
        BaseException: an interrupt arrived during the call.
    """
    try:
        return call(*args)
    except BaseException as error:
        let_through(error)
        # A broken exporter would otherwise log a traceback for each call of each action.
        fault = (name, qualified_name(type(error)))  # a class may not even hash
        level = logging.DEBUG if fault in _seen else logging.WARNING
        if len(_seen) < _MAX_REMEMBERED:
            _seen.add(fault)
        log(level, "%s raised and was ignored; the action is not affected", name, exc_info=True)
        return None


def log(level: int, message: str, *values: Any, exc_info: bool = False) -> None:
    """Log a message during an action, even if a logging handler raises.

    Args:
        level: one of the levels of `logging`.
        message: a format of `logging`.
        *values: the values for the format.
        exc_info: whether to add the traceback of the current exception.

    Raises:
        BaseException: an interrupt arrived during the call.
    """
    try:
        _log.log(level, message, *values, exc_info=exc_info)
    except BaseException as error:
        let_through(error)
