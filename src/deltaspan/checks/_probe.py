"""`probe`: configures a function as a probe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, TypeVar, overload

from deltaspan.exceptions import DefinitionTypeError

F = TypeVar("F", bound=Callable[..., Any])
_BLOCKING: Final = "__deltaspan_blocking__"
_NAME: Final = "__deltaspan_name__"
_CONTENT: Final = "__deltaspan_content__"
_HINT: Final = "__deltaspan_hint__"
_UNSCOPED: Final = "__deltaspan_unscoped__"
_WHOLE: Final = "__deltaspan_whole_values__"


@overload
def probe(function: F, /) -> F: ...
@overload
def probe(
    *, name: str | None = ..., blocking: bool = ..., content: bool = ..., hint: str | None = ...
) -> Callable[[F], F]: ...
def probe(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    blocking: bool = False,
    content: bool = False,
    hint: str | None = None,
) -> Any:
    """Name and configure a function as a probe.

    The function itself is returned.

    Any callable is a probe. These settings say how to read it.

    Args:
        function: the probe, when used without parentheses.
        name: the name in a check's `repr` and in the sentence about a failed read. Use it if the function's
            own name says too little, as that of a lambda or a method does.
        blocking: whether the probe waits, for a network or a disk. In an async action it is then read in
            another thread, in the same context, so that the event loop goes on. The number of threads is
            bounded.
        content: whether the state is content, such as rows, documents or texts. A report then names changes
            by key and path. It shows values only if the check has `.showing()`, or the process has
            `DELTASPAN_CAPTURE_STATE=full`. A state that is one number is always shown.
        hint: a sentence about a reason why a change may not be seen. It ends the explanation of a check that
            claims a change and fails because nothing changed.

    Raises:
        DefinitionTypeError: the function is not callable, takes no attributes (wrap it in a function), is
            both blocking and async, or has a name or a hint that is not a string.

    Example:
        >>> from deltaspan import probe
        >>> @probe(name="stock_in_berlin", blocking=True)
        ... def count_rows():
        ...     return 3
        >>> count_rows()
        3
    """
    if function is None:
        return lambda decorated: _configure(decorated, name, blocking=blocking, content=content, hint=hint)
    return _configure(function, name, blocking=blocking, content=content, hint=hint)


def is_blocking(function: Any) -> bool:
    """Return whether a probe was configured as blocking."""
    return bool(_setting(function, _BLOCKING))


def is_content(function: Any) -> bool:
    """Return whether a probe was configured to read content."""
    return bool(_setting(function, _CONTENT))


def hint_of(function: Any) -> str | None:
    """Return the hint about changes that a probe does not see, or None."""
    hint: str | None = _setting(function, _HINT)
    return hint


def unscoped_names(function: Any) -> frozenset[str]:
    """Return the parameters of a probe that do not select a place.

    A session or a connection says how the probe reads, not where.
    """
    return _setting(function, _UNSCOPED) or frozenset()


def leave_unscoped(function: Any, names: Iterable[str]) -> None:
    """Set the parameters of a probe that do not select a place."""
    setattr(function, _UNSCOPED, frozenset(names))


def has_whole_values(function: Any) -> bool:
    """Return whether a probe's mapping has values that are compared as wholes."""
    return bool(_setting(function, _WHOLE))


def keep_values_whole(function: Any) -> None:
    """Mark the values of a probe's mapping to be compared as wholes.

    Each value is then one fact, such as a size and a digest.
    """
    setattr(function, _WHOLE, True)


def take_settings(wrapper: F, function: Any, *, content: bool = True) -> F:
    """Copy the settings of a wrapped probe to the probe that wraps it.

    The wrapping probe is returned.

    Args:
        wrapper: the probe that wraps another one.
        function: the wrapped probe.
        content: whether the wrapper reads content if the wrapped probe does.
    """
    for setting in (_BLOCKING, _HINT, _UNSCOPED, _WHOLE, *((_CONTENT,) if content else ())):
        value = _setting(function, setting)
        if value:
            setattr(wrapper, setting, value)
    return wrapper


def probe_name(function: Any) -> str | None:
    """Return the name that a probe was configured with, or None."""
    name: str | None = _setting(function, _NAME)
    return name


def _setting(function: Any, setting: str) -> Any:
    # A partial may have been configured itself. Otherwise it has the settings of its function.
    while isinstance(function, partial) and not hasattr(function, setting):
        function = function.func
    return getattr(function, setting, None)


def _configure(
    function: Any, name: str | None, *, blocking: bool, content: bool = False, hint: str | None = None
) -> Any:
    # The settings belong to the function, because a check finds that when it takes the method.
    inner = function.__func__ if isinstance(function, staticmethod | classmethod) else function
    if not callable(inner):
        raise DefinitionTypeError(f"a probe is a callable that reads a state, not {function!r}")
    if blocking and (iscoroutinefunction(inner) or iscoroutinefunction(getattr(inner, "__call__", None))):  # noqa: B004  # to be inspected
        raise DefinitionTypeError(
            f"{function!r} is async, so it awaits and cannot block; leave blocking= out"
        )
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise DefinitionTypeError(f"probe(name=...) takes a string that is not empty, not {name!r}")
    if hint is not None and not (isinstance(hint, str) and hint.strip()):
        raise DefinitionTypeError(f"probe(hint=...) takes a sentence, not {hint!r}")
    try:
        setattr(inner, _BLOCKING, blocking)
        if content:
            setattr(inner, _CONTENT, True)
        if hint is not None:
            setattr(inner, _HINT, hint)
        if name is not None:
            setattr(inner, _NAME, name)
    except AttributeError:
        raise DefinitionTypeError(
            f"{function!r} takes no attributes, so it cannot be configured; wrap it in a function of your own"
        ) from None
    return function


def source_text(value: Any) -> str:
    """Return the source text of a callable or a value."""
    if callable(value):
        name = probe_name(value) or getattr(value, "__qualname__", None)
        if isinstance(name, str) and name.isidentifier():
            return name
    return repr(value)


def call_text(word: str, *operands: object, **options: object) -> str:
    """Return the source text of a call. Options that are None are left out."""
    parts = [source_text(operand) for operand in operands]
    parts += [f"{name}={source_text(option)}" for name, option in options.items() if option is not None]
    return f"{word}({', '.join(parts)})"
