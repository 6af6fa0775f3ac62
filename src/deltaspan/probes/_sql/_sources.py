"""Sources: validate an engine, session or connection, and read over it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

from deltaspan._state.render import show
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._sql._drivers import (
    DBAPIConnection,
    is_async,
    is_connection,
    url_of,
    with_tuples,
)
from deltaspan.probes._sql._readers import CursorReader, Reader, SqlReadError
from deltaspan.probes._sql._transactions import (
    SINGLE_CONNECTION_POOLS,
    check_file_exists,
    check_no_transaction,
    read_connection,
    read_driver_connection,
    read_engine,
    read_new_connection,
    read_session,
    shared_connection,
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
    except ImportError:  # SQLAlchemy 2.1 does not install greenlet, without which these objects cannot exist

        class _NoSource:
            """Stands for a class that this SQLAlchemy does not have."""

            def __class_getitem__(cls, _: object) -> type:
                return cls

        AsyncConnection = AsyncEngine = AsyncSession = async_scoped_session = async_sessionmaker = _NoSource

R = TypeVar("R")
Given: TypeAlias = Engine | Connection | Session | AsyncEngine | AsyncConnection | AsyncSession
"""The result of a function that names arguments of the action."""
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
"""An async source, as `check_source` returns it."""
AsyncSource: TypeAlias = AsyncReadable | async_sessionmaker[Any] | async_scoped_session[Any]

_ASYNC: Final = (AsyncEngine, AsyncConnection, AsyncSession)


_UNCOMMITTED: Final = (
    "if the action has not committed its work, it is not seen here: commit it, or read inside its "
    "transaction, as in sql.rows(lambda session: session, ...), where session is an argument of the action"
)
_UNFLUSHED: Final = "if the session has not flushed its work, it is not seen here: call session.flush()"


class LateSource:
    """A source that is known only at the read.

    An argument of the action gives it, or a session factory.

    Args:
        call: takes the named arguments, and returns an engine, a session or a connection.
        names: the arguments that it takes.
    """

    def __init__(self, call: Callable[..., Any], names: tuple[str, ...] = ()) -> None:
        self._call = call
        self.names = names

    def resolve(self, values: Mapping[str, Any]) -> Any:
        """Return the source of this read.

        Raises:
            DefinitionTypeError: the function did not return a source.
        """
        source = check_source(self._call(**{name: values[name] for name in self.names}))
        if isinstance(source, ConnectionOpener | LateSource):
            raise DefinitionTypeError(
                "a source that names arguments must return an engine, a session or a connection, not "
                "a function"
            )
        return source


class ConnectionOpener:
    """Opens connections of a driver, over SQLAlchemy if it knows the driver.

    Args:
        connect: opens a connection.
    """

    def __init__(self, connect: Callable[[], DBAPIConnection]) -> None:
        self._connect = connect
        self._engine: Engine | None = None
        self._is_probed = False

    def read(self, read: Callable[[Reader], R], *, snapshot: bool) -> R:
        """Read over a new connection, and close it."""
        if not self._is_probed:
            url = self._driver_url()
            if url is not None:
                self._engine = create_engine(url, creator=self._open_with_tuples, poolclass=NullPool)
            self._is_probed = True
        if self._engine is not None:
            return read_engine(self._engine, read, snapshot=snapshot)
        with closing(self._open_with_tuples()) as connection:
            try:
                return read(CursorReader(connection))
            finally:
                connection.rollback()

    def _driver_url(self) -> str | None:
        first, again = self._open(), self._open()
        if again is first:  # it belongs to the caller, and to close it would roll back its transaction
            raise SqlReadError(
                "the function must open a new connection at each call, but it returned the same one again; "
                "pass that connection itself, to read inside its transaction"
            )
        with closing(first), closing(again):
            return url_of(first)

    def _open_with_tuples(self) -> Any:
        return with_tuples(self._open())

    def _open(self) -> Any:
        connection = self._connect()
        if is_connection(connection) and not is_async(connection):
            return connection
        raise SqlReadError(
            f"the function must open a DB-API connection, but it returned {show(type(connection).__name__)}"
        )


def check_source(source: Any) -> Any:
    """Validate a source, and return the object to read from.

    Raises:
        DefinitionTypeError: it is not an engine, a session, a connection, or a function that opens one.
        DefinitionValueError: all users share one connection, so a read would end their transaction.
    """
    if isinstance(source, Engine | AsyncEngine):
        pool = source.pool
        if isinstance(pool, SINGLE_CONNECTION_POOLS) and source.dialect.name != "sqlite":
            raise DefinitionValueError(
                f"the engine has one connection for all (its pool is a {type(pool).__name__}), so a "
                f"read in its own transaction would end that of the action; give it another pool, or pass "
                f"the session to read inside its transaction"
            )
        return source
    if isinstance(source, Connection | Session | AsyncConnection | AsyncSession):
        return source
    if isinstance(source, sessionmaker | async_sessionmaker):
        bind = source.kw.get("bind")
        return LateSource(lambda: _bind_of(source)) if bind is None else check_source(bind)
    if isinstance(source, scoped_session | async_scoped_session):
        return LateSource(lambda: source() if source.registry.has() else _bind_of(source.session_factory))
    if is_connection(source) and not is_async(source):
        return source
    if callable(source) and not isinstance(source, type) and not hasattr(source, "class_"):
        names = _required_names(source)
        return LateSource(source, names) if names else ConnectionOpener(source)
    hint = (
        "a driver's async connection cannot be read: pass create_async_engine(...)"
        if is_async(source)
        else "pass an engine, a session, a connection, or a function that opens a DB-API connection"
    )
    raise DefinitionTypeError(f"{show(type(source).__name__)} is not a source; {hint}")


def _bind_of(factory: Any) -> Any:
    bind = getattr(factory, "kw", {}).get("bind")
    if bind is None:
        raise DefinitionValueError("the sessionmaker has no bind= to read over: pass the engine itself")
    return bind


def _required_names(call: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return ()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(
        parameter.name
        for parameter in parameters
        if parameter.kind in kinds and parameter.default is parameter.empty
    )


def hint_about(source: Any) -> str:
    """Return a sentence about changes that a source does not see."""
    if isinstance(source, Engine | AsyncEngine | ConnectionOpener):
        return _UNCOMMITTED
    return _UNFLUSHED


def is_bound_to_thread(source: Any) -> bool:
    """Return whether only the action's thread may read a source."""
    return not isinstance(source, ConnectionOpener) and (
        not isinstance(source, Engine) or isinstance(source.pool, SINGLE_CONNECTION_POOLS)
    )


def is_async_source(source: Any) -> bool:
    """Return whether a source must be awaited."""
    return isinstance(source, _ASYNC)


def is_mysql(source: Any) -> bool:
    """Return whether a source is known to use the SQL dialect of MySQL."""
    bind = getattr(source, "bind", None) or source
    name = getattr(getattr(bind, "dialect", None), "name", "")
    return name in {"mysql", "mariadb"} or (is_connection(source) and str(url_of(source)).startswith("mysql"))


def password_of(source: Any) -> str | None:
    """Return the password of a source, if it is known."""
    bind = source if isinstance(source, Engine | AsyncEngine) else getattr(source, "bind", None)
    url = getattr(bind or getattr(source, "engine", None), "url", None)
    password = getattr(url, "password", None)
    return None if password is None else str(password)


def read_sync(source: Any, read: Callable[[Reader], R], *, snapshot: bool = False) -> R:
    """Read from a source that `check_source` returned.

    Args:
        source: the source, as `check_source` returned it.
        read: takes a reader, and returns the state.
        snapshot: whether all statements of a read must see the same moment.
    """
    if isinstance(source, ConnectionOpener):
        return source.read(read, snapshot=snapshot)
    if isinstance(source, Engine):
        return read_engine(source, read, snapshot=snapshot)
    if isinstance(source, Session):
        return read_session(source, read, snapshot=snapshot)
    if isinstance(source, Connection):
        return read_connection(source, read)
    return read_driver_connection(source, read)


async def read_async(source: AsyncReadable, read: Callable[[Reader], R], *, snapshot: bool = False) -> R:
    """Read from an async source, with the arguments of `read_sync`."""
    if isinstance(source, AsyncEngine):
        check_file_exists(source.sync_engine)
        check_no_transaction(shared_connection(source.sync_engine))
        async with source.connect() as connection:
            return await connection.run_sync(read_new_connection, read, snapshot=snapshot)
    if isinstance(source, AsyncSession):
        return await source.run_sync(read_session, read, snapshot=snapshot)
    return await source.run_sync(read_connection, read)
