"""`probe`: configures a function as a probe."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, TypeVar, overload

from deltaspan.exceptions import DefinitionTypeError

__all__ = ["is_blocking", "probe"]

F = TypeVar("F", bound=Callable[..., Any])
_BLOCKING: Final = "__deltaspan_blocking__"


@overload
def probe(function: F, /) -> F: ...
@overload
def probe(*, blocking: bool = ...) -> Callable[[F], F]: ...
def probe(function: Any = None, /, *, blocking: bool = False) -> Any:
    """Configure a function as a probe; it stays the function that it is.

    Any callable is a probe already. This says how it wants to be read.

    Args:
        function: the probe, when used without parentheses.
        blocking: the probe waits (for a network, a disk): in an async action it is read in another thread,
            with the context carried, so that the event loop goes on. Its thread is one of a bounded number.

    Raises:
        DefinitionTypeError: what is decorated is not callable, takes no attributes (wrap it in a function),
            or is said to block and is async.

    Example:
        >>> from deltaspan import probe
        >>> @probe(blocking=True)
        ... def count_rows():
        ...     return 3
        >>> count_rows()
        3
    """
    if function is None:
        return lambda decorated: _configured(decorated, blocking=blocking)
    return _configured(function, blocking=blocking)


def is_blocking(function: Any) -> bool:
    """Return whether a probe said that it waits."""
    while isinstance(function, partial):
        function = function.func
    return bool(getattr(function, _BLOCKING, False))


def _configured(function: Any, *, blocking: bool) -> Any:
    # The settings belong to the function, which is what a check will find when it takes the method.
    inner = function.__func__ if isinstance(function, staticmethod | classmethod) else function
    if not callable(inner):
        raise DefinitionTypeError(f"a probe is a callable that reads a state, not {function!r}")
    if blocking and (iscoroutinefunction(inner) or iscoroutinefunction(getattr(inner, "__call__", None))):  # noqa: B004  # to be inspected
        raise DefinitionTypeError(f"{function!r} is async: it awaits, so it cannot block")
    try:
        setattr(inner, _BLOCKING, blocking)
    except AttributeError:
        raise DefinitionTypeError(
            f"{function!r} takes no settings; wrap it in a function of your own"
        ) from None
    return function
