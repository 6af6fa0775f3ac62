"""What kind of callable an action is: what a call of it returns, its signature and its names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from deltaspan._callables import is_async, parameters_of

__all__ = ["Kind", "code_name_of", "function_of", "kind_of", "name_of", "parameters_of_action"]

Kind: TypeAlias = Literal["plain", "coroutine", "generator", "async generator"]


def kind_of(function: Any) -> Kind:
    """Return what calling it gives, as far as its definition tells; for callable objects and partials too."""
    if is_async(function):
        return "coroutine"
    while isinstance(function, functools.partial):
        function = function.func
    for candidate in (function, getattr(type(function), "__call__", None)):  # noqa: B004  # to be inspected
        if inspect.isgeneratorfunction(candidate):
            return "generator"
        if inspect.isasyncgenfunction(candidate):
            return "async generator"
    return "plain"


def function_of(action: Any) -> Any:
    """Return the function behind a class method, a static method or a partial method; else what was given."""
    if isinstance(action, (classmethod, staticmethod)):
        return action.__func__
    if isinstance(action, functools.partialmethod):
        return functools.partial(action.func, *action.args, **action.keywords)
    return action


def parameters_of_action(action: Any, function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    """Return what an action takes: a partial method its receiver first, and not what is bound already."""
    if isinstance(action, functools.partialmethod):
        return parameters_of(action.__get__(None, object))
    return parameters_of(function)


def name_of(function: Any) -> str:
    """Return the short name of an action."""
    inner = _innermost(function)
    return getattr(inner, "__name__", None) or type(inner).__name__


def code_name_of(function: Any) -> str:
    """Return module and qualified name of an action."""
    inner = _innermost(function)
    if not hasattr(inner, "__qualname__"):
        inner = type(inner)
    return f"{inner.__module__}.{inner.__qualname__}"


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function
