"""Probes of SQL databases: how many rows, which rows, what a statement returns, or every table at once.

The first argument says where to read:

- An `Engine` or `AsyncEngine` of SQLAlchemy 2, or a function that opens a DB-API connection
  (`lambda: sqlite3.connect(path)`): over a connection of our own, in a transaction that is read-only where
  the database has such (PostgreSQL, MySQL, MariaDB, SQLite) and always rolled back. What the action has not
  committed is not there, so it is not taken for done. From a pool it takes one connection more than the
  action holds.
- A `sessionmaker` or `async_sessionmaker`: as its engine.
- A `Session`, `Connection`, `AsyncSession` or `AsyncConnection` of SQLAlchemy, or an open DB-API connection:
  *inside the caller's transaction*, where uncommitted work is seen. Nothing of it is committed, rolled back
  or closed. Nothing is flushed either: what a session has not sent yet is not there. On PostgreSQL a
  savepoint keeps a failing read from ending the transaction. Outside any transaction, a session is read as
  its engine is. It is read by the thread that runs the action, so leave out `.timeout()`.

- A function that names arguments of the action and returns one of these, `lambda session: session`. It is
  read as what it returns, by the thread that runs the action, and does not scope the check.

A `scoped_session` is read as the session of this thread. A file of SQLite that is not there is not created:
the check is inconclusive.

An engine of SQLite in memory has one connection, the action's own: it is read where no transaction is open,
and the check is inconclusive where one is.

SQL is written by the developer, never made of data: data goes into parameters, `:name`. Those that `params=`
does not give are the action's arguments of that name, or `:causal_tag`, and a name that the action does not
have is refused at decoration. In literals, comments and `::casts` a colon is no parameter; a literal that is
nothing but a parameter, `':name'`, `'{name}'` or `'$name'`, is refused, for it would be that very text.

What the database refuses (no such table, no permission, a wrong password, no connection) makes the check
inconclusive with the database's own words, without parameters or passwords. How long it may take says
`.timeout()` of the check.

Example:
    >>> import sqlite3
    >>> from contextlib import closing
    >>> from deltaspan import change, expects, unchanged
    >>> from deltaspan.probes import sql
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "flows.sqlite")
    >>> connect = lambda: sqlite3.connect(path)
    >>> with closing(connect()) as db, db:
    ...     _ = db.execute("CREATE TABLE flows (id INTEGER PRIMARY KEY, tenant TEXT, causal_tag TEXT)")
    >>> @expects(
    ...     change("flows", sql.rows(connect, "flows", where="tenant = :tenant")).by(1),
    ...     unchanged("everything_else", sql.database(connect, exclude=["flows"])),
    ...     on_failure="raise",
    ... )
    ... def create_flow(tenant):
    ...     with closing(connect()) as db, db:
    ...         db.execute("INSERT INTO flows (tenant) VALUES (?)", [tenant])
    >>> create_flow("acme")
"""

from __future__ import annotations

try:
    import sqlalchemy as _sqlalchemy  # noqa: F401  # asked for here, so that what is missing is said
except ImportError as error:
    raise ImportError(
        "deltaspan.probes.sql needs SQLAlchemy 2: pip install 'deltaspan[sqlalchemy]'"
    ) from error

from deltaspan.probes._sql._database import database
from deltaspan.probes._sql._queries import query, scalar
from deltaspan.probes._sql._tables import records, rows

__all__ = ["database", "query", "records", "rows", "scalar"]
