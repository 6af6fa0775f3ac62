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

from deltaspan._batches import verifying
from deltaspan._callables import discard, is_async, parameters_of
from deltaspan._interrupts import let_through
from deltaspan._state.render import show
from deltaspan.checks import Field, probe_name, take_settings
from deltaspan.exceptions import DefinitionTypeError

__all__ = ["Combined", "combine"]


class Combined:
    """A read whose parts are probes; made by `combine(...)`."""

    def __init__(self, read: Callable[..., Any]) -> None:
        self._read = read

    def __getitem__(self, part: Field) -> Callable[..., Any]:
        """Return the probe of one part.

        Args:
            part: the key of an item or the name of an attribute, the position of an item, or a callable that
                takes the snapshot. It is asked for after each read, so what it names need not be there yet.

        Raises:
            DefinitionTypeError: it is of another kind.
        """
        if isinstance(part, bool) or not (callable(part) or isinstance(part, str | int)):
            raise DefinitionTypeError(
                f"a part of a combined read is the name of an item or attribute, a position, or a callable "
                f"that takes the snapshot, not {show(part)}"
            )
        kind = _AsyncPart if is_async(self._read) else _Part
        made = kind(self._read, part, f"{self!r}[{_name_of(part)}]")
        return take_settings(made, self._read)

    def __repr__(self) -> str:
        return f"combine({_name_of(self._read)})"


def combine(read: Callable[..., Any]) -> Combined:
    """Read several metrics at once: each part of what `read` returns is a probe, and one read serves all.

    The checks of one action that use parts of the same combined read share one read before it and one after
    it, so that they judge one and the same snapshot, at the cost of one. Looking again, as `eventually` does,
    reads anew. A part that is called by hand reads for itself.

    Args:
        read: returns the snapshot: a mapping, a record, a tuple. It names what it needs as any probe does,
            may be async, and may be configured by `@probe`. It should return what it will not change later.

    Returns:
        What gives a probe for each part: `combined["open"]`, `combined[0]`, `combined[lambda s: s.a - s.b]`.

    Raises:
        DefinitionTypeError: what is given cannot be called.

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
    return Combined(read)


_Ask: TypeAlias = Callable[[], Any]
_PENDING: Final = object()


class _Part:
    """The probe of one part of a snapshot."""

    def __init__(self, read: Callable[..., Any], part: Field, words: str) -> None:
        self._read = read
        self._part = part
        self._words = words
        self.__signature__ = inspect.Signature(parameters_of(read))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        snapshot, ask = self._shared(args, kwargs)
        taken = snapshot.take(ask)
        # A function that is not async by its definition may return an awaitable all the same.
        return _Awaited(snapshot, ask, self._of) if taken is _PENDING else self._of(taken)

    def _shared(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[_Snapshot, _Ask]:
        ask = partial(self._read, *args, **kwargs)
        moment = verifying.get()
        if moment is None:
            return _Snapshot(), ask
        # By identity: the read and the arguments of one run stay alive throughout it, and need not hash.
        asked = (
            id(self._read),
            tuple(map(id, args)),
            tuple((name, id(value)) for name, value in kwargs.items()),
        )
        return moment.shared.setdefault(asked, _Snapshot()), ask

    def _of(self, snapshot: Any) -> Any:
        part = self._part
        if callable(part):
            return part(snapshot)
        if isinstance(part, str) and not hasattr(snapshot, "keys"):
            return getattr(snapshot, part)
        return snapshot[part]

    def __repr__(self) -> str:
        return self._words


class _AsyncPart(_Part):
    """The same of an async read, which whoever inspects it finds to be async."""

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._of(await _Awaited(*self._shared(args, kwargs)))


class _Snapshot:
    """One read, and what it gave to whoever asks later, a value or an error.

    Parts may be asked for by several threads, or by several tasks of one event loop.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a read that asks for a part of itself is to fail, not to wait
        self._awaiting = asyncio.Lock()
        self._given: list[Any] = []
        self._pending: list[Awaitable[Any]] = []
        self._error: Exception | None = None

    def take(self, ask: _Ask) -> Any:
        """Return what the read gave, and read only if nobody has; _PENDING if it has to be awaited."""
        with self._lock:
            if self._pending:
                return _PENDING
            if not self._is_answered():
                with self._keeping_errors():
                    given = ask()
                    (self._pending if isawaitable(given) else self._given).append(_kept(given))
            return _PENDING if self._pending else self._given[0]

    async def awaited(self, ask: _Ask) -> Any:
        """Await what the read gives, and only if nobody has."""
        async with self._awaiting:
            if not self._is_answered():
                with self._keeping_errors():
                    self._given.append(_kept(await (self._pending.pop() if self._pending else ask())))
            return self._given[0]

    def discard(self) -> None:
        """Let go of what nobody awaits."""
        while self._pending:
            discard(self._pending.pop())

    def _is_answered(self) -> bool:
        if self._error is not None:
            raise self._error
        return bool(self._given)

    @contextmanager
    def _keeping_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            let_through(error)
            self._error = error
            raise


def _kept(snapshot: Any) -> Any:
    """Return what several parts can be taken of, which an iterator is not."""
    if isinstance(snapshot, Iterator):
        raise TypeError(
            f"a combined read returned a {type(snapshot).__name__}, of which its first part would leave "
            f"nothing to the others; return what stays, such as a list of it"
        )
    return snapshot


class _Awaited:
    """A part that is still to be awaited, or to be let go of."""

    def __init__(
        self, snapshot: _Snapshot, ask: _Ask, of: Callable[[Any], Any] = lambda whole: whole
    ) -> None:
        self._snapshot = snapshot
        self._ask = ask
        self._of = of

    def __await__(self) -> Generator[Any, None, Any]:
        return self._of((yield from self._snapshot.awaited(self._ask).__await__()))

    def close(self) -> None:
        self._snapshot.discard()


def _name_of(value: Any) -> str:
    name = probe_name(value) or getattr(value, "__qualname__", None)
    return name if callable(value) and isinstance(name, str) and name.isidentifier() else repr(value)
