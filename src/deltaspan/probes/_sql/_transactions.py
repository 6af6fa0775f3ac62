"""Read in a new transaction that is rolled back, or in the caller's transaction."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import SingletonThreadPool, StaticPool

from deltaspan._workers import THREAD_NAME
from deltaspan.probes._sql._drivers import DBAPIConnection, in_transaction, savepoint, url_of
from deltaspan.probes._sql._readers import CursorReader, Reader, SqlReader, SqlReadError

R = TypeVar("R")

SINGLE_CONNECTION_POOLS: Final = (SingletonThreadPool, StaticPool)
"""Pools that give all users, or all users of a thread, the same connection."""

# In a new transaction ---------------------------------------------------------------------------------------


def read_engine(engine: Engine, read: Callable[[Reader], R], *, snapshot: bool) -> R:
    """Read over a new connection of an engine."""
    if isinstance(engine.pool, SingletonThreadPool) and threading.current_thread().name == THREAD_NAME:
        raise SqlReadError(
            "each thread has its own database in memory, and another thread reads a check with timeout(); "
            "leave out the timeout, keep the database in a file, or make the engine with "
            "poolclass=StaticPool"
        )
    check_file_exists(engine)
    check_no_transaction(shared_connection(engine))
    with engine.connect() as connection:
        return read_new_connection(connection, read, snapshot=snapshot)


def shared_connection(engine: Engine) -> Any:
    """Return the driver's connection that all users of an engine share.

    The result is None if they do not share one, or if it is not open yet.

    Call it before a connection is taken from the pool, since the pool rolls back a returned connection.
    """
    record = vars(engine.pool).get("connection") if isinstance(engine.pool, StaticPool) else None
    return getattr(record, "driver_connection", None)


def check_file_exists(engine: Engine) -> None:
    """Raise if the file of a SQLite database is missing.

    To connect would create the file.
    """
    if engine.dialect.name != "sqlite":
        return
    [name, *_], options = engine.dialect.create_connect_args(engine.url)
    path = _path_of(name) if options.get("uri") else name
    if path is not None and path != ":memory:" and path and not os.path.exists(path):  # noqa: PTH110  # a name
        raise SqlReadError(f"there is no database file {path!r}, and a read does not create one")


def _path_of(uri: str) -> str | None:
    parts = urlsplit(uri)
    is_memory = parse_qs(parts.query).get("mode") == ["memory"]
    return None if is_memory or parts.scheme != "file" else unquote(parts.path)


def check_no_transaction(driver: Any) -> None:
    """Raise if a transaction is open on a connection that all users share."""
    if getattr(driver, "in_transaction", False):
        raise SqlReadError(
            "the database is in memory, on one connection, and the action has left a transaction open on it: "
            "uncommitted rows cannot be distinguished from committed ones; commit it, keep the database in a "
            "file, or pass the session to read inside its transaction"
        )


def read_new_connection(connection: Connection, read: Callable[[Reader], R], *, snapshot: bool) -> R:
    """Read over a new connection, in a read-only transaction that is rolled back."""
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
    # Both are sent with BEGIN, and SQLAlchemy resets them when the connection is returned.
    level = "REPEATABLE READ" if snapshot else "READ COMMITTED"  # the engine may use AUTOCOMMIT
    connection.execution_options(postgresql_readonly=True, isolation_level=level)
    yield


@contextmanager
def _begin_mysql(connection: Connection, snapshot: bool) -> Iterator[None]:  # noqa: FBT001
    # For the next transaction only. At READ UNCOMMITTED, uncommitted work would count as done.
    connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    connection.exec_driver_sql(f"START TRANSACTION {'WITH CONSISTENT SNAPSHOT, ' * snapshot}READ ONLY")
    yield


@contextmanager
def _begin_sqlite(connection: Connection, snapshot: bool) -> Iterator[None]:  # noqa: FBT001
    driver = connection.connection.driver_connection
    if isinstance(connection.engine.pool, SINGLE_CONNECTION_POOLS):
        # The action uses the same connection, so the read must not end its transaction.
        check_no_transaction(driver)
        yield
        return
    # A listener of the engine may send BEGIN IMMEDIATE, which fails on a read-only connection. So the
    # transaction begins before the connection becomes read-only.
    connection.begin()
    was = _pragma(connection, "query_only")
    _pragma(connection, "query_only = ON")
    try:
        if snapshot and not getattr(driver, "in_transaction", False):
            connection.exec_driver_sql("BEGIN")
        yield
    finally:
        if not was:
            _pragma(connection, "query_only = OFF")


def _pragma(connection: Connection, words: str) -> Any:
    with closing(connection.connection.cursor()) as cursor:
        cursor.execute(f"PRAGMA {words}")
        return next(iter(cursor.fetchall()), (None,))[0]


_BEGINS: Final = {
    "postgresql": _begin_postgresql,
    "mysql": _begin_mysql,
    "mariadb": _begin_mysql,
    "sqlite": _begin_sqlite,
}


# In the caller's transaction --------------------------------------------------------------------------------


def read_session(session: Session, read: Callable[[Reader], R], *, snapshot: bool) -> R:
    """Read in a session's transaction.

    If it has no transaction, read over its engine.
    """
    if session.in_transaction():
        return read_connection(
            session.connection(), read
        )  # statements of the connection do not flush the session
    # `connection()` would begin a transaction, in which `begin()` of the action would fail.
    bind = session.get_bind()
    return (
        read_engine(bind, read, snapshot=snapshot)
        if isinstance(bind, Engine)
        else read_connection(bind, read)
    )


def read_connection(connection: Connection, read: Callable[[Reader], R]) -> R:
    """Read in the transaction of a connection."""
    reader = SqlReader(connection)
    if not connection.in_transaction():
        try:
            return read(reader)
        finally:
            connection.rollback()  # the read began this transaction
    # In AUTOCOMMIT there is no transaction to protect, although SQLAlchemy reports one.
    driver = connection.connection.dbapi_connection
    if connection.dialect.name != "postgresql" or getattr(driver, "autocommit", False):
        return read(reader)
    # Not through a server-side cursor, although the caller may have enabled them.
    with savepoint(partial(connection.exec_driver_sql, execution_options={"stream_results": False})):
        return read(reader)


def read_driver_connection(connection: DBAPIConnection, read: Callable[[Reader], R]) -> R:
    """Read in the transaction of a driver's connection."""
    reader = CursorReader(connection)
    before = in_transaction(connection)
    if before is False:
        try:
            return read(reader)
        finally:
            connection.rollback()  # the read began this transaction
    if before is None or not str(url_of(connection)).startswith("postgresql"):
        return read(reader)
    with closing(connection.cursor()) as cursor, savepoint(cursor.execute):
        return read(reader)
