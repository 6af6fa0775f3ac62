"""Transactions that are read in: one of our own on a connection that is given back, or the caller's."""

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
from deltaspan.exceptions import ProbeError
from deltaspan.probes._sql._drivers import DBAPIConnection, in_transaction, savepoint, url_of
from deltaspan.probes._sql._readers import CursorReader, Reader, SqlReader

__all__ = [
    "OF_ONE_CONNECTION",
    "alone",
    "apart",
    "inside",
    "inside_driver",
    "inside_session",
    "only_connection",
    "refuse_missing",
    "refuse_open",
]

R = TypeVar("R")

OF_ONE_CONNECTION: Final = (SingletonThreadPool, StaticPool)
"""Pools that give every user, or every user of a thread, the same connection."""

# Over a connection of our own -------------------------------------------------------------------------------


def alone(engine: Engine, read: Callable[[Reader], R], *, snapshot: bool) -> R:
    """Read over a connection of our own."""
    if isinstance(engine.pool, SingletonThreadPool) and threading.current_thread().name == THREAD_NAME:
        raise ProbeError(
            "a database in memory is another one in each thread, and a check with timeout() is read in "
            "another: leave out the timeout, keep the database in a file, or make the engine with "
            "poolclass=StaticPool"
        )
    refuse_missing(engine)
    refuse_open(only_connection(engine))
    with engine.connect() as connection:
        return apart(connection, read, snapshot=snapshot)


def only_connection(engine: Engine) -> Any:
    """Return the driver's connection that all users of an engine share; None if they do not, or not yet.

    It is looked at before it is taken from the pool, since the pool rolls back what is given back to it.
    """
    record = vars(engine.pool).get("connection") if isinstance(engine.pool, StaticPool) else None
    return getattr(record, "driver_connection", None)


def refuse_missing(engine: Engine) -> None:
    """Refuse a database of SQLite whose file is not there, which connecting to it would create."""
    if engine.dialect.name != "sqlite":
        return
    [name, *_], options = engine.dialect.create_connect_args(engine.url)
    path = _path_of(name) if options.get("uri") else name
    if path is not None and path != ":memory:" and path and not os.path.exists(path):  # noqa: PTH110  # a name
        raise ProbeError(f"there is no database file {path!r}, and a read does not create one")


def _path_of(uri: str) -> str | None:
    parts = urlsplit(uri)
    is_memory = parse_qs(parts.query).get("mode") == ["memory"]
    return None if is_memory or parts.scheme != "file" else unquote(parts.path)


def refuse_open(driver: Any) -> None:
    """Refuse a connection that all share, if somebody is in a transaction on it."""
    if getattr(driver, "in_transaction", False):
        raise ProbeError(
            "the database is in memory, on one connection, and the action has left a transaction open on it: "
            "what is not committed cannot be told from what is; commit it, keep the database in a file, or "
            "pass the session to read inside its transaction"
        )


def apart(connection: Connection, read: Callable[[Reader], R], *, snapshot: bool) -> R:
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
    # Of the next transaction alone. At READ UNCOMMITTED, what is not committed would be taken for done.
    connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    connection.exec_driver_sql(f"START TRANSACTION {'WITH CONSISTENT SNAPSHOT, ' * snapshot}READ ONLY")
    yield


@contextmanager
def _begin_sqlite(connection: Connection, snapshot: bool) -> Iterator[None]:  # noqa: FBT001
    driver = connection.connection.driver_connection
    if isinstance(connection.engine.pool, OF_ONE_CONNECTION):
        # It is the connection of the action too, and perhaps of others: nothing of ours may end theirs.
        refuse_open(driver)
        yield
        return
    # A listener of the engine may begin with BEGIN IMMEDIATE, which fails where nothing can be written: so it
    # is to begin before, and never again while that is so.
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


# Inside the caller's ----------------------------------------------------------------------------------------


def inside_session(session: Session, read: Callable[[Reader], R], *, snapshot: bool) -> R:
    """Read inside a session's transaction; where it has none, as its engine is read."""
    if session.in_transaction():
        return inside(session.connection(), read)  # statements of the connection flush nothing
    # To ask it for a connection would begin a transaction, in which the action's own `begin()` would fail.
    bind = session.get_bind()
    return alone(bind, read, snapshot=snapshot) if isinstance(bind, Engine) else inside(bind, read)


def inside(connection: Connection, read: Callable[[Reader], R]) -> R:
    """Read inside the transaction of a connection."""
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
    # Not through a cursor of the server, though the caller may have asked for those.
    with savepoint(partial(connection.exec_driver_sql, execution_options={"stream_results": False})):
        return read(reader)


def inside_driver(connection: DBAPIConnection, read: Callable[[Reader], R]) -> R:
    """Read inside the transaction of a driver's connection."""
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
