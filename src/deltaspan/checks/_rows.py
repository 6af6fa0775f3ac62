"""Probes that wrap one which reads rows, and give its rows by key."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from deltaspan._callables import parameters_of
from deltaspan.checks._rows_part2 import Spent

__all__ = ["AsyncRowProbe", "RowProbe", "is_field", "name_of"]


class RowProbe:
    """A probe of rows by key; it takes what the probe of rows takes.

    Args:
        probe: reads rows.
        words: the call that made this one, as it reads in source.
    """

    def __init__(self, probe: Callable[..., Any], words: str) -> None:
        self._probe = probe
        self._words = words
        self._source = _source(probe)
        self._spent = Spent()
        self.__signature__ = inspect.Signature(parameters_of(probe))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        rows = self._probe(*args, **kwargs)
        return self._awaited(rows) if isawaitable(rows) else self._read(rows)

    async def _awaited(self, rows: Awaitable[Any]) -> Any:
        return self._read(await rows)

    def _read(self, rows: Any) -> Any:
        self._spent.refuse(rows, self._source)
        return self._keyed(rows)

    @abstractmethod
    def _keyed(self, rows: Any) -> Any:
        """Return the rows by key."""

    def __repr__(self) -> str:
        return self._words


class AsyncRowProbe(RowProbe):
    """The same of an async probe, which whoever inspects it finds to be async."""

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._read(await self._probe(*args, **kwargs))


def is_field(field: Any) -> bool:
    """Return whether a value says what to read from a row: a name, a position or a callable."""
    return not isinstance(field, bool) and (callable(field) or isinstance(field, str | int))


def name_of(value: Any) -> str:
    """Return a callable or a value as it reads in source."""
    name = getattr(value, "__qualname__", None)
    return name if callable(value) and isinstance(name, str) and name.isidentifier() else repr(value)


def _source(probe: Any) -> str:
    """Return where rows come from: the table that a probe names, or else its own name."""
    for attribute in ("table", "__name__"):
        name = getattr(probe, attribute, None)
        if isinstance(name, str) and name and name != "<lambda>":
            return name
    return "the probe"
