"""The one boundary between an action and what could break it: hooks and telemetry are called through here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final, ParamSpec, TypeVar

__all__ = ["EXHAUSTED", "guarded", "say"]

_log = logging.getLogger("deltaspan")

P = ParamSpec("P")
R = TypeVar("R")

EXHAUSTED: Final = (RecursionError, MemoryError)
"""What is raised when the stack or the memory has no room left. It says nothing of the value at hand, so it
must never be taken for an answer such as "not equal"."""

_MOST_REMEMBERED: Final = 256
_seen: set[tuple[str, type[BaseException]]] = set()


def guarded(what: str, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R | None:
    """Call something that must not break an action; log what it raises and go on.

    Args:
        what: names the thing in the log, such as `the on_report hook of create_flow`.
        call: what to call.
        *args: its positional arguments.
        **kwargs: its keyword arguments.

    Returns:
        What the call returned, or None when it raised.
    """
    try:
        return call(*args, **kwargs)
    except KeyboardInterrupt:
        raise
    except (
        BaseException
    ) as error:  # a hook that exits, by argparse or pytest.fail, must not take the action along
        # A broken exporter would otherwise log a traceback for each call of each action.
        fault = (what, type(error))
        level = logging.DEBUG if fault in _seen else logging.WARNING
        if len(_seen) < _MOST_REMEMBERED:
            _seen.add(fault)
        say(level, "%s raised and was ignored; the action is not affected", what, exc_info=True)
        return None


def say(level: int, message: str, *values: object, exc_info: bool = False) -> None:
    """Log something in the midst of an action, which a handler that raises must not break either.

    Args:
        level: one of the levels of `logging`.
        message: a format of `logging`.
        *values: what goes into it.
        exc_info: whether the traceback of the current exception is added.
    """
    with suppress(Exception):
        _log.log(level, message, *values, exc_info=exc_info)
