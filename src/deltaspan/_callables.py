"""Binding of callables to the names that they need: probes, expected values, predicates, locks.

Every error is found when a check is bound to its action, before any call. A call does only look-ups.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from deltaspan._interrupts import let_through
from deltaspan._state.snapshot import freeze
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

_Kind = inspect.Parameter
_BY_POSITION: Final = (_Kind.POSITIONAL_ONLY, _Kind.POSITIONAL_OR_KEYWORD)
_VARIADIC: Final = (_Kind.VAR_POSITIONAL, _Kind.VAR_KEYWORD)
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Bound:
    """A callable whose parameters have a value at each call.

    Attributes:
        function: the user's callable.
        positional: names passed by position, in order. The parameters of a builtin may have no keyword form.
        keywords: names passed by keyword.
        is_async: whether a call returns an awaitable, by its definition.
        names: all names, positional and keywords.
        freeze: takes the snapshot of what a probe returned.
    """

    function: Callable[..., Any]
    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    is_async: bool
    names: tuple[str, ...]
    freeze: Callable[[Any], Any] = freeze

    def call(self, values: Mapping[str, Any]) -> Any:
        """Call it with the values of its names."""
        if not self.keywords:
            return self.function(*[values[name] for name in self.positional])
        return self.function(
            *[values[name] for name in self.positional], **{name: values[name] for name in self.keywords}
        )


def bind(function: Callable[..., Any], offered: Collection[str], owner: str) -> Bound:
    """Bind a callable to the names that it may use.

    Args:
        function: a probe, a computed expected value, or a predicate.
        offered: every name that will have a value at a call.
        owner: its description, for the error: `the probe of check 'rows' on action 'load'`.

    Raises:
        DefinitionTypeError: it is not callable, or needs a name that is not offered.
    """
    if not callable(function):
        raise DefinitionTypeError(
            f"{owner} must be callable, not {function!r}; pass the function, not its result"
        )
    positional, keywords = [], []
    for parameter in parameters_of(function):
        if parameter.kind in _VARIADIC:
            continue
        if parameter.name not in offered:
            if parameter.default is _Kind.empty:
                raise _unknown(parameter.name, offered, owner)
            if parameter.kind is _Kind.POSITIONAL_ONLY:
                break  # what follows by position cannot be passed without it
            continue
        # A parameter after a defaulted one that was left out must go by keyword to land where it belongs.
        if parameter.kind is _Kind.POSITIONAL_ONLY:
            positional.append(parameter.name)
        else:
            keywords.append(parameter.name)
    return Bound(function, tuple(positional), tuple(keywords), is_async(function), (*positional, *keywords))


def parameters_of(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    """Return the parameters of a callable, or none if they are unknown."""
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return ()


def is_async(function: Any) -> bool:
    """Return whether calling a function, a partial or an object returns a coroutine."""
    while hasattr(function, "func") and hasattr(function, "keywords"):  # functools.partial, nested
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004  # the method is inspected, not tested for
    )


@dataclass(frozen=True, slots=True)
class _Lookup:
    """The place of one argument in a call: position, keyword or default."""

    name: str
    position: int | None
    default: Any
    kind: inspect._ParameterKind

    def find(self, args: Sequence[Any], kwargs: Mapping[str, Any], known: Collection[str]) -> Any:
        if self.kind is _Kind.VAR_POSITIONAL:
            return tuple(args[self.position :])
        if self.kind is _Kind.VAR_KEYWORD:
            return {key: value for key, value in kwargs.items() if key not in known}
        if self.position is not None and self.position < len(args):
            return args[self.position]
        if self.kind is _Kind.POSITIONAL_ONLY:
            return self.default  # a keyword of that name belongs to **kwargs
        return kwargs.get(self.name, self.default)


@dataclass(frozen=True, slots=True)
class ArgumentReader:
    """Reads the arguments that checks name from a call, as the action receives them.

    Attributes:
        lookups: one for each name that some check needs.
        known: every keyword that the action declares.
    """

    lookups: tuple[_Lookup, ...]
    known: frozenset[str]

    @classmethod
    def for_parameters(
        cls, parameters: Sequence[inspect.Parameter], needed: Collection[str]
    ) -> ArgumentReader:
        """Return a reader of the needed arguments of a function with these parameters."""
        lookups, position = [], 0
        for parameter in parameters:
            by_position = parameter.kind in _BY_POSITION or parameter.kind is _Kind.VAR_POSITIONAL
            if parameter.name in needed:
                default = _MISSING if parameter.default is _Kind.empty else parameter.default
                lookups.append(
                    _Lookup(parameter.name, position if by_position else None, default, parameter.kind)
                )
            position += parameter.kind in _BY_POSITION
        known = frozenset(
            p.name for p in parameters if p.kind in (_Kind.POSITIONAL_OR_KEYWORD, _Kind.KEYWORD_ONLY)
        )
        return cls(tuple(lookups), known)

    def read(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return name → value, without the names that the call leaves out."""
        values = ((lookup.name, lookup.find(args, kwargs, self.known)) for lookup in self.lookups)
        return {name: value for name, value in values if value is not _MISSING}


def _unknown(name: str, offered: Collection[str], owner: str) -> DefinitionTypeError:
    near = difflib.get_close_matches(name, offered, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    known = ", ".join(sorted(offered)) or "none"
    return DefinitionTypeError(f"{owner} needs {name!r}, which does not exist{hint} (it may name: {known})")


def check_no_shadowing(
    named: Collection[str], parameters: Collection[str], reserved: Collection[str], owner: str
) -> None:
    """Check that no reserved word in use is also a parameter of the action.

    Raises:
        DefinitionValueError: the word could mean either. Rename the parameter of the action.
    """
    for name in named:
        if name in reserved and name in parameters:
            raise DefinitionValueError(
                f"{owner} names {name!r}, which is both a parameter of the action and a word of deltaspan; "
                f"rename the action's parameter"
            )


def discard(awaitable: Any) -> None:
    """Close an awaitable that will not be awaited, so that it does not warn."""
    try:
        close = getattr(awaitable, "close", None)
        if close is not None:
            close()
    except BaseException as error:
        let_through(error)
