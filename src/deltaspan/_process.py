"""State of the process: one hook for forks, its identity, one reset for tests.

A module that keeps such state registers the functions that renew it when it is imported. They are called in
the order in which they were registered.
"""

from __future__ import annotations

import logging  # noqa: F401  # its own hook for forks has to be registered before the one here
import os
import threading  # noqa: F401  # likewise
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, TypeVar

F = TypeVar("F", bound=Callable[[], object])


class Process:
    """Identifies a process. Comparing objects is cheaper than asking the system for a number."""


_current = Process()
_on_fork: Final[list[Callable[[], object]]] = []
_on_reset: Final[list[Callable[[], object]]] = []


def current_process() -> Process:
    """Return the current process. A forked child has another one."""
    return _current


def on_fork(function: F) -> F:
    """Register a function to be called in each forked child. Usable as a decorator.

    Use it for threads, locks that other threads may hold, and what is open in the parent alone.

    Args:
        function: takes no arguments. If it raises, Python prints the exception and the others are still
            called.

    Returns:
        The function itself.
    """
    _on_fork.append(function)
    return function


def on_reset(function: F) -> F:
    """Register a function to be called by `reset`. Usable as a decorator.

    Args:
        function: takes no arguments.

    Returns:
        The function itself.
    """
    _on_reset.append(function)
    return function


def reset() -> None:
    """Return the process to its start, for tests: settings, instruments, open windows, logged warnings.

    Threads go on, and so does the work that they were given.
    """
    _call(_on_reset)


def _start_child() -> None:
    global _current  # noqa: PLW0603  # one a process
    _current = Process()
    _call(_on_fork)


def _call(functions: list[Callable[[], object]]) -> None:
    # An ExitStack calls them all even if one raises. It calls the last one first.
    with ExitStack() as calls:
        for function in reversed(functions):
            calls.callback(function)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_child)
