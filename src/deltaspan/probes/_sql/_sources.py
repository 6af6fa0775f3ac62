"""Where to read: what may be a source, what is known of it, and how each is read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

from deltaspan._state.render import show
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes._sql._drivers import (
    DBAPIConnection,
    is_async,
    is_connection,
    url_of,
    with_tuples,
)
from deltaspan.probes._sql._readers import CursorReader, Reader
from deltaspan.probes._sql._transactions import (
    OF_ONE_CONNECTION,
    alone,
    apart,
    inside,
    inside_driver,
    inside_session,
    only_connection,
    refuse_missing,
    refuse_open,
)

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import (
        AsyncConnection,
        AsyncEngine,
        AsyncSession,
        async_scoped_session,
        async_sessionmaker,
    )
else:
    try:
        from sqlalchemy.ext.asyncio import (
            AsyncConnection,
            AsyncEngine,
            AsyncSession,
            async_scoped_session,
            async_sessionmaker,
        )
    except ImportError:  # SQLAlchemy 2.1 brings no greenlet, and nobody without it can have made one of these

        class _NoSource:
            """What there is none of."""

            def __class_getitem__(cls, _: object) -> type:
                return cls

        AsyncConnection = AsyncEngine = AsyncSession = async_scoped_session = async_sessionmaker = _NoSource

__all__ = [
    "AsyncSource",
    "Named",
    "Source",
    "checked",
    "hint_about",
    "is_awaited",
    "is_mysql",
    "is_shared",
    "password_of",
    "read_async",
    "read_sync",
]

R = TypeVar("R")
Given: TypeAlias = Engine | Connection | Session | AsyncEngine | AsyncConnection | AsyncSession
"""What a function that names arguments of the action returns."""
Source: TypeAlias = (
    Engine
    | Connection
    | Session
    | sessionmaker[Any]
    | scoped_session[Any]
    | DBAPIConnection
    | Callable[..., DBAPIConnection | Given]
)
AsyncReadable: TypeAlias = AsyncEngine | AsyncConnection | AsyncSession
"""What `checked` leaves of an async source."""
AsyncSource: TypeAlias = AsyncReadable | async_sessionmaker[Any] | async_scoped_session[Any]

_ASYNC: Final = (AsyncEngine, AsyncConnection, AsyncSession)


_UNCOMMITTED: Final = (
    "if the action has not committed its work, it is not seen here: commit it, or read inside its "
    "transaction, as in sql.rows(lambda session: session, ...), where session is an argument of the action"
)
_UNFLUSHED: Final = "if the session has not flushed its work, it is not seen here: call session.flush()"


class Named:
    """A source that an argument of the action gives, or that is known at the read alone.

    Args:
        call: takes the arguments that it names, and returns an engine, a session or a connection.
        names: these arguments.
    """

    def __init__(self, call: Callable[..., Any], names: tuple[str, ...] = ()) -> None:
        self._call = call
        self.names = names

    def resolved(self, values: Mapping[str, Any]) -> Any:
        """Return where to read this time.

        Raises:
            DefinitionTypeError: what was returned is not a source.
        """
        found = checked(self._call(**{name: values[name] for name in self.names}))
        if isinstance(found, Opener | Named):
            raise DefinitionTypeError(
                "a source that names arguments returns an engine, a session or a connection"
            )
        return found


class Opener:
    """Opens connections of a driver, over SQLAlchemy where that knows the driver.

    Args:
        connect: opens a connection.
    """

    def __init__(self, connect: Callable[[], DBAPIConnection]) -> None:
        self._connect = connect
        self._engine: Engine | None = None
        self._asked = False

    def read(self, read: Callable[[Reader], R], *, snapshot: bool) -> R:
        """Read over a new connection, and close it."""
        if not self._asked:
            url = self._driver_url()
            if url is not None:
                self._engine = create_engine(url, creator=self._opened, poolclass=NullPool)
            self._asked = True
        if self._engine is not None:
            return alone(self._engine, read, snapshot=snapshot)
        with closing(self._opened()) as connection:
            try:
                return read(CursorReader(connection))
            finally:
                connection.rollback()

    def _driver_url(self) -> str | None:
        first, again = self._connected(), self._connected()
        if again is first:  # it is the caller's: to close it would undo what is not committed there
            raise ProbeError(
                "the function is to open a connection at each call, and it returned the same one again: pass "
                "that connection itself, to read inside its transaction"
            )
        with closing(first), closing(again):
            return url_of(first)

    def _opened(self) -> Any:
        return with_tuples(self._connected())

    def _connected(self) -> Any:
        connection = self._connect()
        if is_connection(connection) and not is_async(connection):
            return connection
        raise ProbeError(
            f"the function is to open a DB-API connection, and it returned {show(type(connection).__name__)}"
        )


def checked(source: Any) -> Any:
    """Return where to read, or refuse what is none.

    Raises:
        DefinitionTypeError: it is neither an engine, a session, a connection, nor what opens one.
        DefinitionValueError: all of its users share one connection, so that ours would end their transaction.
    """
    if isinstance(source, Engine | AsyncEngine):
        pool = source.pool
        if isinstance(pool, OF_ONE_CONNECTION) and source.dialect.name != "sqlite":
            raise DefinitionValueError(
                f"the engine has one connection for all (its pool is a {type(pool).__name__}), so that "
                f"reading in a transaction of our own would end that of the action; give it another pool, or "
                f"pass the session to read inside its transaction"
            )
        return source
    if isinstance(source, Connection | Session | AsyncConnection | AsyncSession):
        return source
    if isinstance(source, sessionmaker | async_sessionmaker):
        bind = source.kw.get("bind")
        return Named(lambda: _bind_of(source)) if bind is None else checked(bind)
    if isinstance(source, scoped_session | async_scoped_session):
        return Named(lambda: source() if source.registry.has() else _bind_of(source.session_factory))
    if is_connection(source) and not is_async(source):
        return source
    if callable(source) and not isinstance(source, type) and not hasattr(source, "class_"):
        names = _required(source)
        return Named(source, names) if names else Opener(source)
    hint = (
        "a driver's async connection cannot be read: pass create_async_engine(...)"
        if is_async(source)
        else "pass an engine, a session, a connection, or a function that opens a DB-API connection"
    )
    raise DefinitionTypeError(f"{show(type(source).__name__)} is nowhere to read from; {hint}")


def _bind_of(factory: Any) -> Any:
    bind = getattr(factory, "kw", {}).get("bind")
    if bind is None:
        raise DefinitionValueError("the sessionmaker has no bind= to read over: pass the engine itself")
    return bind


def _required(call: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return ()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(each.name for each in parameters if each.kind in kinds and each.default is each.empty)


def hint_about(source: Any) -> str:
    """Return what may keep a change from being seen over a source."""
    if isinstance(source, Engine | AsyncEngine | Opener):
        return _UNCOMMITTED
    return _UNFLUSHED


def is_shared(source: Any) -> bool:
    """Return whether a source must be read by the thread of the action: what it holds is bound to that."""
    return not isinstance(source, Opener) and (
        not isinstance(source, Engine) or isinstance(source.pool, OF_ONE_CONNECTION)
    )


def is_awaited(source: Any) -> bool:
    """Return whether a source is read by awaiting."""
    return isinstance(source, _ASYNC)


def is_mysql(source: Any) -> bool:
    """Return whether a source is known to speak the SQL of MySQL."""
    bind = getattr(source, "bind", None) or source
    name = getattr(getattr(bind, "dialect", None), "name", "")
    return name in {"mysql", "mariadb"} or (is_connection(source) and str(url_of(source)).startswith("mysql"))


def password_of(source: Any) -> str | None:
    """Return the password by which a source connects, where it tells."""
    bind = source if isinstance(source, Engine | AsyncEngine) else getattr(source, "bind", None)
    url = getattr(bind or getattr(source, "engine", None), "url", None)
    password = getattr(url, "password", None)
    return None if password is None else str(password)


def read_sync(source: Any, read: Callable[[Reader], R], *, snapshot: bool = False) -> R:
    """Read from a checked source.

    Args:
        source: as `checked` returned it.
        read: takes a reader, and returns what it read.
        snapshot: everything is to be of one moment, though it takes several statements.
    """
    if isinstance(source, Opener):
        return source.read(read, snapshot=snapshot)
    if isinstance(source, Engine):
        return alone(source, read, snapshot=snapshot)
    if isinstance(source, Session):
        return inside_session(source, read, snapshot=snapshot)
    if isinstance(source, Connection):
        return inside(source, read)
    return inside_driver(source, read)


async def read_async(source: AsyncReadable, read: Callable[[Reader], R], *, snapshot: bool = False) -> R:
    """Read from a checked source that is awaited; arguments as for `read_sync`."""
    if isinstance(source, AsyncEngine):
        refuse_missing(source.sync_engine)
        refuse_open(only_connection(source.sync_engine))
        async with source.connect() as connection:
            return await connection.run_sync(apart, read, snapshot=snapshot)
    if isinstance(source, AsyncSession):
        return await source.run_sync(inside_session, read, snapshot=snapshot)
    return await source.run_sync(inside, read)
