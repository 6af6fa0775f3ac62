"""`probe`: configures a function as a probe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, TypeVar, overload

from deltaspan.exceptions import DefinitionTypeError

__all__ = [
    "has_whole_values",
    "hint_of",
    "is_blocking",
    "is_content",
    "keep_values_whole",
    "leave_unscoped",
    "name_of_probe",
    "probe",
    "said",
    "source",
    "take_settings",
    "unscoped_names",
]

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

    Any callable is a probe already. This says how it wants to be read.

    Args:
        function: the probe, when used without parentheses.
        name: what a check's `repr`, and the sentence about a read that failed, call it, where its own name
            says too little: a lambda's, a method's.
        blocking: the probe waits (for a network, a disk): in an async action it is read in another thread,
            with the context carried, so that the event loop goes on. Its thread is one of a bounded number.
        content: what it reads is content, such as rows, documents or texts. A report names what changed by
            key and path, and shows values only if the check says `.showing()`, or the process
            `DELTASPAN_CAPTURE_STATE=full`. Of a state that is one number, the number is shown.
        hint: a sentence about what keeps a change from being seen. It ends the explanation of a check that
            claims a change and fails because nothing changed.

    Raises:
        DefinitionTypeError: what is decorated is not callable, takes no attributes (wrap it in a function),
            is said to block and is async, or is given a name or a hint that is not a text.

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
    """Return whether a probe said that it waits."""
    return bool(_setting(function, _BLOCKING))


def is_content(function: Any) -> bool:
    """Return whether a probe said that what it reads is content."""
    return bool(_setting(function, _CONTENT))


def hint_of(function: Any) -> str | None:
    """Return what a probe said about changes that it does not see, or None."""
    hint: str | None = _setting(function, _HINT)
    return hint


def unscoped_names(function: Any) -> frozenset[str]:
    """Return the parameters of a probe that do not select a place.

    A session or a connection says how the probe reads, not where.
    """
    return _setting(function, _UNSCOPED) or frozenset()


def leave_unscoped(function: Any, names: Iterable[str]) -> None:
    """Note arguments of a probe by which its checks are not scoped."""
    setattr(function, _UNSCOPED, frozenset(names))


def has_whole_values(function: Any) -> bool:
    """Return whether a probe's mapping has values that are compared as wholes."""
    return bool(_setting(function, _WHOLE))


def keep_values_whole(function: Any) -> None:
    """Mark the values of a probe's mapping to be compared as wholes.

    Each value is then one fact, such as a size and a digest.
    """
    setattr(function, _WHOLE, True)


def take_settings(made: F, function: Any, *, content: bool = True) -> F:
    """Copy the settings of a wrapped probe to the probe that wraps it.

    The wrapping probe is returned.

    Args:
        made: the probe that wraps.
        function: the one that it wraps.
        content: whether the state of the probe that wraps is content if that of the other one is.
    """
    for setting in (_BLOCKING, _HINT, _UNSCOPED, _WHOLE, *((_CONTENT,) if content else ())):
        said = _setting(function, setting)
        if said:
            setattr(made, setting, said)
    return made


def name_of_probe(function: Any) -> str | None:
    """Return the name that a probe was configured with, or None."""
    name: str | None = _setting(function, _NAME)
    return name


def _setting(function: Any, setting: str) -> Any:
    # A partial may have been configured itself; otherwise it is what it was made of.
    while isinstance(function, partial) and not hasattr(function, setting):
        function = function.func
    return getattr(function, setting, None)


def _configure(
    function: Any, name: str | None, *, blocking: bool, content: bool = False, hint: str | None = None
) -> Any:
    # The settings belong to the function, which is what a check will find when it takes the method.
    inner = function.__func__ if isinstance(function, staticmethod | classmethod) else function
    if not callable(inner):
        raise DefinitionTypeError(f"a probe is a callable that reads a state, not {function!r}")
    if blocking and (iscoroutinefunction(inner) or iscoroutinefunction(getattr(inner, "__call__", None))):  # noqa: B004  # to be inspected
        raise DefinitionTypeError(f"{function!r} is async: it awaits, so it cannot block")
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise DefinitionTypeError(f"probe(name=...) takes a text to call it by, not {name!r}")
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
            f"{function!r} takes no settings; wrap it in a function of your own"
        ) from None
    return function


def source(value: Any) -> str:
    if callable(value):
        name = name_of_probe(value) or getattr(value, "__qualname__", None)
        if isinstance(name, str) and name.isidentifier():
            return name
    return repr(value)


def said(word: str, *operands: object, **options: object) -> str:
    parts = [source(operand) for operand in operands]
    parts += [f"{name}={source(option)}" for name, option in options.items() if option is not None]
    return f"{word}({', '.join(parts)})"
