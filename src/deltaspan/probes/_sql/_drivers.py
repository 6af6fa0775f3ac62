"""DB-API drivers: dialect, row type and transaction state of a connection."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import iscoroutinefunction
from typing import Any, Final, Protocol

from sqlalchemy.dialects import registry
from sqlalchemy.engine import Dialect
from sqlalchemy.engine.default import DefaultDialect

from deltaspan._interrupts import let_through


class DBAPIConnection(Protocol):
    """A connection of a driver after PEP 249."""

    def cursor(self) -> Any: ...
    def commit(self) -> Any: ...
    def rollback(self) -> Any: ...
    def close(self) -> Any: ...


_DIALECTS: Final = {
    "sqlite3": "sqlite.pysqlite",
    "psycopg": "postgresql.psycopg",
    "psycopg2": "postgresql.psycopg2",
    "pg8000": "postgresql.pg8000",
    "pymysql": "mysql.pymysql",
    "MySQLdb": "mysql.mysqldb",
    "mysql": "mysql.mysqlconnector",
    "oracledb": "oracle.oracledb",
}
"""The package of a connection's class → SQLAlchemy's name of the dialect."""

_FACTORIES: Final[dict[str, tuple[str, str, str | None]]] = {
    "sqlite3": ("row_factory", "sqlite3", None),
    "psycopg": ("row_factory", "psycopg.rows", "tuple_row"),
    "psycopg2": ("cursor_factory", "psycopg2.extensions", "cursor"),
    "pymysql": ("cursorclass", "pymysql.cursors", "Cursor"),
}
"""The package → the attribute that sets the row type, and the module and name of its value for tuples."""

_IN_TRANSACTION: Final[dict[str, Callable[[Any], bool]]] = {
    "sqlite3": lambda connection: bool(connection.in_transaction),
    "psycopg": lambda connection: int(connection.info.transaction_status) != 0,
    "psycopg2": lambda connection: int(connection.info.transaction_status) != 0,
    "pymysql": lambda connection: bool(connection.server_status & 1),
}


def is_connection(value: object) -> bool:
    """Return whether a value is a connection of some driver."""
    return not isinstance(value, type) and callable(getattr(value, "cursor", None))


def is_async(value: object) -> bool:
    """Return whether a connection must be awaited, unlike those of PEP 249."""
    return any(iscoroutinefunction(getattr(value, name, None)) for name in ("execute", "commit", "close"))


def _driver(connection: object) -> str:
    packages = [base.__module__.partition(".")[0] for base in type(connection).__mro__]
    return next((package for package in packages if package in _DIALECTS), packages[0])


def url_of(connection: object) -> str | None:
    """Return the SQLAlchemy URL of a connection's driver.

    The result is None if the driver is not a known one.
    """
    name = _DIALECTS.get(_driver(connection))
    return None if name is None else f"{name.replace('.', '+')}://"


def dialect_of(connection: object) -> Dialect:
    """Return the SQLAlchemy dialect of a connection.

    An unknown driver gets plain SQL with its own parameter style.
    """
    driver = _driver(connection)
    name = _DIALECTS.get(driver)
    if name is not None:
        dialect: Dialect = registry.load(name)()
        return dialect
    return DefaultDialect(paramstyle=getattr(sys.modules.get(driver), "paramstyle", "qmark"))


def with_tuples(connection: Any) -> Any:
    """Make a new connection return rows as tuples."""
    factory = _FACTORIES.get(_driver(connection))
    if factory is not None:
        attribute, module, name = factory
        setattr(connection, attribute, None if name is None else getattr(sys.modules[module], name))
    return connection


def in_transaction(connection: object) -> bool | None:
    """Return whether a connection is in a transaction.

    The result is None if its driver does not tell.
    """
    get_state = _IN_TRANSACTION.get(_driver(connection))
    return None if get_state is None else get_state(connection)


@contextmanager
def savepoint(execute: Callable[[str], object]) -> Iterator[None]:
    """Protect the caller's transaction from a failing statement.

    After ROLLBACK TO, the savepoint still exists, and later work of the caller would be part of it. So it is
    released too, which `begin_nested()` of SQLAlchemy does not do.
    """
    execute("SAVEPOINT deltaspan")
    try:
        yield
    finally:
        try:
            execute("ROLLBACK TO SAVEPOINT deltaspan")
            execute("RELEASE SAVEPOINT deltaspan")
        except Exception as error:  # the connection may be lost; the result or error of the read matters more
            let_through(error)
