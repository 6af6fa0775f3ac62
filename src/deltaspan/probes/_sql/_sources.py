"""Where to read: over a connection of our own, opened and given back, or inside the caller's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool, SingletonThreadPool, StaticPool

from deltaspan._render import show
from deltaspan._threads import THREAD_NAME
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes._sql._drivers import (
    DBAPIConnection,
    in_transaction,
    is_async,
    is_connection,
    savepoint,
    url_of,
    with_tuples,
)
from deltaspan.probes._sql._readers import CursorReader, Reader, SqlReader

__all__ = [
    "AsyncSource",
    "Source",
    "checked",
    "is_awaited",
    "is_shared",
    "password_of",
    "read_async",
    "read_sync",
]

R = TypeVar("R")
Source: TypeAlias = Engine | Connection | Session | DBAPIConnection | Callable[[], DBAPIConnection]
AsyncSource: TypeAlias = AsyncEngine | AsyncConnection | AsyncSession

_ASYNC: Final = (AsyncEngine, AsyncConnection, AsyncSession)
_OF_ONE_CONNECTION: Final = (SingletonThreadPool, StaticPool)


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
            with closing(self._opened()) as connection:
                url = url_of(connection)
            if url is not None:
                self._engine = create_engine(url, creator=self._opened, poolclass=NullPool)
            self._asked = True
        if self._engine is not None:
            return _alone(self._engine, read, snapshot=snapshot)
        with closing(self._opened()) as connection:
            try:
                return read(CursorReader(connection))
            finally:
                connection.rollback()

    def _opened(self) -> Any:
        connection = self._connect()
        if is_connection(connection) and not is_async(connection):
            return with_tuples(connection)
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
        if isinstance(pool, _OF_ONE_CONNECTION) and source.dialect.name != "sqlite":
            raise DefinitionValueError(
                f"the engine has one connection for all (its pool is a {type(pool).__name__}), so that "
                f"reading in a transaction of our own would end that of the action; give it another pool, or "
                f"pass the session to read inside its transaction"
            )
        return source
    if isinstance(source, Connection | Session | AsyncConnection | AsyncSession):
        return source
    if is_connection(source) and not is_async(source):
        return source
    if callable(source) and not isinstance(source, type) and not hasattr(source, "class_"):
        return Opener(source)
    hint = (
        "a driver's async connection cannot be read: pass create_async_engine(...)"
        if is_async(source)
        else "pass an engine, a session, a connection, or a function that opens a DB-API connection"
    )
    raise DefinitionTypeError(f"{show(type(source).__name__)} is nowhere to read from; {hint}")


def is_shared(source: Any) -> bool:
    """Return whether a source must be read by the thread of the action: what it holds is bound to that."""
    return not isinstance(source, Opener) and (
        not isinstance(source, Engine) or isinstance(source.pool, _OF_ONE_CONNECTION)
    )


def is_awaited(source: Any) -> bool:
    """Return whether a source is read by awaiting."""
    return isinstance(source, _ASYNC)


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
        return _alone(source, read, snapshot=snapshot)
    if isinstance(source, Session):
        return _inside_session(source, read, snapshot=snapshot)
    if isinstance(source, Connection):
        return _inside(source, read)
    return _inside_driver(source, read)


async def read_async(source: AsyncSource, read: Callable[[Reader], R], *, snapshot: bool = False) -> R:
    """Read from a checked source that is awaited; arguments as for `read_sync`."""
    if isinstance(source, AsyncEngine):
        _refuse_open(_only_connection(source.sync_engine))
        async with source.connect() as connection:
            return await connection.run_sync(_apart, read, snapshot=snapshot)
    if isinstance(source, AsyncSession):
        return await source.run_sync(_inside_session, read, snapshot=snapshot)
    return await source.run_sync(_inside, read)


# Over a connection of our own -------------------------------------------------------------------------------


def _alone(engine: Engine, read: Callable[[Reader], R], *, snapshot: bool) -> R:
    if isinstance(engine.pool, SingletonThreadPool) and threading.current_thread().name == THREAD_NAME:
        raise ProbeError(
            "a database in memory is another one in each thread, and a check with timeout() is read in "
            "another: leave out the timeout, keep the database in a file, or make the engine with "
            "poolclass=StaticPool"
        )
    _refuse_open(_only_connection(engine))
    with engine.connect() as connection:
        return _apart(connection, read, snapshot=snapshot)


def _only_connection(engine: Engine) -> Any:
    """Return the driver's connection that all users of an engine share; None if they do not, or not yet.

    It is looked at before it is taken from the pool, since the pool rolls back what is given back to it.
    """
    record = vars(engine.pool).get("connection") if isinstance(engine.pool, StaticPool) else None
    return getattr(record, "driver_connection", None)


def _refuse_open(driver: Any) -> None:
    if getattr(driver, "in_transaction", False):
        raise ProbeError(
            "the database is in memory, on one connection, and the action has left a transaction open on it: "
            "what is not committed cannot be told from what is; commit it, keep the database in a file, or "
            "pass the session to read inside its transaction"
        )


def _apart(connection: Connection, read: Callable[[Reader], R], *, snapshot: bool) -> R:
    """Read over a fresh connection in a transaction that writes nothing and is rolled back."""
    begin = _BEGINS.get(connection.dialect.name, _begin)
    with begin(connection, snapshot):
        try:
            return read(SqlReader(connection))
        finally:
            connection.rollback()


@contextmanager
def _begin(connection: Connection, snapshot: bool) -> Iterator[None]:  # noqa: ARG001, FBT001  # see _BEGINS
    yield


@contextmanager
def _begin_postgresql(connection: Connection, snapshot: bool) -> Iterator[None]:  # noqa: FBT001
    # Both are sent with BEGIN, and SQLAlchemy takes them back when it gets the connection.
    level = "REPEATABLE READ" if snapshot else "READ COMMITTED"  # an engine may be in AUTOCOMMIT
    connection.execution_options(postgresql_readonly=True, isolation_level=level)
    yield


@contextmanager
def _begin_mysql(connection: Connection, snapshot: bool) -> Iterator[None]:  # noqa: FBT001
    if snapshot:
        connection.execution_options(isolation_level="REPEATABLE READ")
    connection.exec_driver_sql(f"START TRANSACTION {'WITH CONSISTENT SNAPSHOT, ' * snapshot}READ ONLY")
    yield


@contextmanager
def _begin_sqlite(connection: Connection, snapshot: bool) -> Iterator[None]:  # noqa: FBT001
    driver = connection.connection.driver_connection
    if isinstance(connection.engine.pool, _OF_ONE_CONNECTION):
        # It is the connection of the action too, and perhaps of others: nothing of ours may end theirs.
        _refuse_open(driver)
        yield
        return
    was = connection.exec_driver_sql("PRAGMA query_only").scalar()
    connection.exec_driver_sql("PRAGMA query_only = ON")
    try:
        if snapshot and not getattr(driver, "in_transaction", False):
            connection.exec_driver_sql("BEGIN")
        yield
    finally:
        if not was:
            connection.exec_driver_sql("PRAGMA query_only = OFF")


_BEGINS: Final = {
    "postgresql": _begin_postgresql,
    "mysql": _begin_mysql,
    "mariadb": _begin_mysql,
    "sqlite": _begin_sqlite,
}


# Inside the caller's ----------------------------------------------------------------------------------------


def _inside_session(session: Session, read: Callable[[Reader], R], *, snapshot: bool) -> R:
    if session.in_transaction():
        return _inside(session.connection(), read)  # statements of the connection flush nothing
    # To ask it for a connection would begin a transaction, in which the action's own `begin()` would fail.
    bind = session.get_bind()
    return _alone(bind, read, snapshot=snapshot) if isinstance(bind, Engine) else _inside(bind, read)


def _inside(connection: Connection, read: Callable[[Reader], R]) -> R:
    reader = SqlReader(connection)
    if not connection.in_transaction():
        try:
            return read(reader)
        finally:
            connection.rollback()  # what reading has begun
    # In AUTOCOMMIT there is no transaction that could end, though SQLAlchemy speaks of one.
    driver = connection.connection.dbapi_connection
    if connection.dialect.name != "postgresql" or getattr(driver, "autocommit", False):
        return read(reader)
    with savepoint(connection.exec_driver_sql):
        return read(reader)


def _inside_driver(connection: DBAPIConnection, read: Callable[[Reader], R]) -> R:
    reader = CursorReader(connection)
    before = in_transaction(connection)
    if before is False:
        try:
            return read(reader)
        finally:
            connection.rollback()  # what reading has begun
    if before is None or not str(url_of(connection)).startswith("postgresql"):
        return read(reader)
    with closing(connection.cursor()) as cursor, savepoint(cursor.execute):
        return read(reader)
