"""DB-API drivers: which dialect each speaks, how it returns tuples, whether it is in a transaction."""

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

__all__ = [
    "DBAPIConnection",
    "dialect_of",
    "in_transaction",
    "is_async",
    "is_connection",
    "savepoint",
    "url_of",
    "with_tuples",
]


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
"""The package → the attribute that says what a row is, and what makes it a tuple."""

_IN_TRANSACTION: Final[dict[str, Callable[[Any], bool]]] = {
    "sqlite3": lambda connection: bool(connection.in_transaction),
    "psycopg": lambda connection: int(connection.info.transaction_status) != 0,
    "psycopg2": lambda connection: int(connection.info.transaction_status) != 0,
    "pymysql": lambda connection: bool(connection.server_status & 1),
}


def is_connection(value: object) -> bool:
    """Return whether this is a connection of some driver."""
    return not isinstance(value, type) and callable(getattr(value, "cursor", None))


def is_async(value: object) -> bool:
    """Return whether this is a connection that is awaited, which PEP 249 knows nothing of."""
    return any(iscoroutinefunction(getattr(value, name, None)) for name in ("execute", "commit", "close"))


def _driver(connection: object) -> str:
    packages = [base.__module__.partition(".")[0] for base in type(connection).__mro__]
    return next((package for package in packages if package in _DIALECTS), packages[0])


def url_of(connection: object) -> str | None:
    """Return the URL by which SQLAlchemy knows the driver; None for one that it is not known to know."""
    name = _DIALECTS.get(_driver(connection))
    return None if name is None else f"{name.replace('.', '+')}://"


def dialect_of(connection: object) -> Dialect:
    """Return how to write SQL for a connection: in its dialect, or in plain SQL with its parameter style."""
    driver = _driver(connection)
    name = _DIALECTS.get(driver)
    if name is not None:
        made: Dialect = registry.load(name)()
        return made
    return DefaultDialect(paramstyle=getattr(sys.modules.get(driver), "paramstyle", "qmark"))


def with_tuples(connection: Any) -> Any:
    """Have a connection of our own return tuples, whatever its owner likes rows to be."""
    found = _FACTORIES.get(_driver(connection))
    if found is not None:
        attribute, module, name = found
        setattr(connection, attribute, None if name is None else getattr(sys.modules[module], name))
    return connection


def in_transaction(connection: object) -> bool | None:
    """Return whether a connection is in a transaction; None where its driver does not tell."""
    tells = _IN_TRANSACTION.get(_driver(connection))
    return None if tells is None else tells(connection)


@contextmanager
def savepoint(execute: Callable[[str], object]) -> Iterator[None]:
    """Keep a statement that fails from ending the caller's transaction.

    Rolled back to, a savepoint is still there, and what the caller does next would be a part of it: so it is
    released, too, which `begin_nested()` of SQLAlchemy does not do.
    """
    execute("SAVEPOINT deltaspan")
    try:
        yield
    finally:
        try:
            execute("ROLLBACK TO SAVEPOINT deltaspan")
            execute("RELEASE SAVEPOINT deltaspan")
        except Exception as error:  # the connection may be gone; what was read, or why not, counts
            let_through(error)
