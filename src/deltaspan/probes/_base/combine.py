"""`combine`: several metrics out of one read."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import isawaitable
from typing import Any, Final, TypeAlias

from deltaspan._batches import current_batch
from deltaspan._callables import discard, is_async, parameters_of
from deltaspan._interrupts import let_through
from deltaspan._state.render import show
from deltaspan.checks import Field, name_of_probe, take_settings
from deltaspan.exceptions import DefinitionTypeError

__all__ = ["CombinedRead", "combine"]


class CombinedRead:
    """A read whose parts can be used as probes: `combined["open"]`."""

    def __init__(self, read: Callable[..., Any]) -> None:
        self._read = read

    def __getitem__(self, part: Field) -> Callable[..., Any]:
        """Return the probe of one part.

        Args:
            part: the key or position of an item, the name of an attribute, or a callable that takes the
                snapshot. It is looked up after each read, so it need not exist yet.

        Raises:
            DefinitionTypeError: the part has another type.
        """
        if isinstance(part, bool) or not (callable(part) or isinstance(part, str | int)):
            raise DefinitionTypeError(
                f"a part of a combined read is the name of an item or attribute, a position, or a callable "
                f"that takes the snapshot, not {show(part)}"
            )
        kind = _AsyncPart if is_async(self._read) else _Part
        probe = kind(self._read, part, f"{self!r}[{_name_of(part)}]")
        return take_settings(probe, self._read)

    def __repr__(self) -> str:
        return f"combine({_name_of(self._read)})"


def combine(read: Callable[..., Any]) -> CombinedRead:
    """Read several metrics at once.

    Each part of the result of `read` is a probe, and one read serves all parts.

    Checks of one action that use parts of the same combined read share one read before the action and one
    after it, so they judge the same snapshot. Each poll of `eventually` reads anew. A part that you call
    yourself also reads anew.

    Args:
        read: returns the snapshot: a mapping, a record or a tuple. Its parameters name what it needs, as with
            any probe. It may be async, and may be configured by `@probe`. It must not change the snapshot
            later.

    Returns:
        A read whose parts are probes: `combined["open"]`, `combined[0]`, `combined[lambda s: s.a - s.b]`.

    Raises:
        DefinitionTypeError: `read` is not callable.

    Example:
        >>> from deltaspan import change, expects, unchanged
        >>> from deltaspan.probes import combine
        >>> tickets = {"open": 3, "closed": 4}
        >>> counts = combine(lambda: dict(tickets))
        >>> @expects(
        ...     change("open", counts["open"]).by(-1),
        ...     change("closed", counts["closed"]).by(1),
        ...     unchanged("all", counts[lambda s: s["open"] + s["closed"]]),
        ... )
        ... def close_ticket():
        ...     tickets["open"] -= 1
        ...     tickets["closed"] += 1
        >>> close_ticket()
    """
    if not callable(read):
        raise DefinitionTypeError(
            f"combine() takes a callable that reads the snapshot, not {show(read)}; pass the function, not "
            f"its result"
        )
    return CombinedRead(read)


_Read: TypeAlias = Callable[[], Any]
_PENDING: Final = object()


class _Part:
    """The probe of one part of a snapshot."""

    def __init__(self, read: Callable[..., Any], part: Field, call: str) -> None:
        self._read = read
        self._part = part
        self._call = call
        self.__signature__ = inspect.Signature(parameters_of(read))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        snapshot, read_once = self._shared(args, kwargs)
        state = snapshot.read(read_once)
        # A function that is not a coroutine function may return an awaitable too.
        return _Awaited(snapshot, read_once, self._part_of) if state is _PENDING else self._part_of(state)

    def _shared(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[_Snapshot, _Read]:
        read_once = partial(self._read, *args, **kwargs)
        batch = current_batch.get()
        if batch is None:
            return _Snapshot(), read_once
        # By identity: the read and the arguments live as long as the run, and may be unhashable.
        key = (
            id(self._read),
            tuple(map(id, args)),
            tuple((name, id(value)) for name, value in kwargs.items()),
        )
        return batch.setdefault(key, _Snapshot()), read_once

    def _part_of(self, snapshot: Any) -> Any:
        part = self._part
        if callable(part):
            return part(snapshot)
        if isinstance(part, str) and not hasattr(snapshot, "keys"):
            return getattr(snapshot, part)
        return snapshot[part]

    def __repr__(self) -> str:
        return self._call


class _AsyncPart(_Part):
    """The probe of one part of an async read.

    Its call is a coroutine function, which `inspect` recognizes as async.
    """

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._part_of(await _Awaited(*self._shared(args, kwargs)))


class _Snapshot:
    """One read, and its result: a value or an error.

    Several threads, or several tasks of one event loop, may read parts at once.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a read that reads a part of itself fails instead of waiting
        self._async_lock = asyncio.Lock()
        self._values: list[Any] = []
        self._pending: list[Awaitable[Any]] = []
        self._error: Exception | None = None

    def read(self, read_once: _Read) -> Any:
        """Read, unless the snapshot was read before.

        The result is _PENDING if the read must be awaited.
        """
        with self._lock:
            if self._pending:
                return _PENDING
            if not self._is_read():
                with self._remember_errors():
                    value = read_once()
                    (self._pending if isawaitable(value) else self._values).append(_check_snapshot(value))
            return _PENDING if self._pending else self._values[0]

    async def read_async(self, read_once: _Read) -> Any:
        """Await the read, unless the snapshot was read before."""
        async with self._async_lock:
            if not self._is_read():
                with self._remember_errors():
                    self._values.append(
                        _check_snapshot(await (self._pending.pop() if self._pending else read_once()))
                    )
            return self._values[0]

    def discard(self) -> None:
        """Close the awaitables that nobody awaits."""
        while self._pending:
            discard(self._pending.pop())

    def _is_read(self) -> bool:
        if self._error is not None:
            raise self._error
        return bool(self._values)

    @contextmanager
    def _remember_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            let_through(error)
            self._error = error
            raise


def _check_snapshot(snapshot: Any) -> Any:
    """Return the snapshot if several parts can be taken from it."""
    if isinstance(snapshot, Iterator):
        raise TypeError(
            f"a combined read returned a {type(snapshot).__name__}, which its first part would exhaust; "
            f"return a list of its items"
        )
    return snapshot


class _Awaited:
    """A part that the caller must await or close."""

    def __init__(
        self, snapshot: _Snapshot, read_once: _Read, pick: Callable[[Any], Any] = lambda snapshot: snapshot
    ) -> None:
        self._snapshot = snapshot
        self._read_once = read_once
        self._part_of = pick

    def __await__(self) -> Generator[Any, None, Any]:
        return self._part_of((yield from self._snapshot.read_async(self._read_once).__await__()))

    def close(self) -> None:
        self._snapshot.discard()


def _name_of(value: Any) -> str:
    name = name_of_probe(value) or getattr(value, "__qualname__", None)
    return name if callable(value) and isinstance(name, str) and name.isidentifier() else repr(value)
