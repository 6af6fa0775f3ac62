"""`probe`: configures a function as a probe."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, TypeVar, overload

from deltaspan.exceptions import DefinitionTypeError

__all__ = ["is_blocking", "name_of_probe", "probe"]

F = TypeVar("F", bound=Callable[..., Any])
_BLOCKING: Final = "__deltaspan_blocking__"
_NAME: Final = "__deltaspan_name__"


@overload
def probe(function: F, /) -> F: ...
@overload
def probe(*, name: str | None = ..., blocking: bool = ...) -> Callable[[F], F]: ...
def probe(function: Any = None, /, *, name: str | None = None, blocking: bool = False) -> Any:
    """Name and configure a function as a probe; it stays the function that it is.

    Any callable is a probe already. This says how it wants to be read.

    Args:
        function: the probe, when used without parentheses.
        name: what a check's `repr`, and the sentence about a read that failed, call it, where its own name
            says too little: a lambda's, a method's.
        blocking: the probe waits (for a network, a disk): in an async action it is read in another thread,
            with the context carried, so that the event loop goes on. Its thread is one of a bounded number.

    Raises:
        DefinitionTypeError: what is decorated is not callable, takes no attributes (wrap it in a function),
            is said to block and is async, or is given a name that is no text.

    Example:
        >>> from deltaspan import probe
        >>> @probe(name="stock_in_berlin", blocking=True)
        ... def count_rows():
        ...     return 3
        >>> count_rows()
        3
    """
    if function is None:
        return lambda decorated: _configured(decorated, name, blocking=blocking)
    return _configured(function, name, blocking=blocking)


def is_blocking(function: Any) -> bool:
    """Return whether a probe said that it waits."""
    return bool(_setting(function, _BLOCKING))


def name_of_probe(function: Any) -> str | None:
    """Return the name that a probe was given; None when it goes by its own."""
    name: str | None = _setting(function, _NAME)
    return name


def _setting(function: Any, setting: str) -> Any:
    # A partial may have been configured itself; otherwise it is what it was made of.
    while isinstance(function, partial) and not hasattr(function, setting):
        function = function.func
    return getattr(function, setting, None)


def _configured(function: Any, name: str | None, *, blocking: bool) -> Any:
    # The settings belong to the function, which is what a check will find when it takes the method.
    inner = function.__func__ if isinstance(function, staticmethod | classmethod) else function
    if not callable(inner):
        raise DefinitionTypeError(f"a probe is a callable that reads a state, not {function!r}")
    if blocking and (iscoroutinefunction(inner) or iscoroutinefunction(getattr(inner, "__call__", None))):  # noqa: B004  # to be inspected
        raise DefinitionTypeError(f"{function!r} is async: it awaits, so it cannot block")
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise DefinitionTypeError(f"probe(name=...) takes a text to call it by, not {name!r}")
    try:
        setattr(inner, _BLOCKING, blocking)
        if name is not None:
            setattr(inner, _NAME, name)
    except AttributeError:
        raise DefinitionTypeError(
            f"{function!r} takes no settings; wrap it in a function of your own"
        ) from None
    return function
