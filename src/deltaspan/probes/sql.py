"""Probes of SQL databases: row counts, rows, statements, or every table.

The first argument of each probe is its source:

- An `Engine` or `AsyncEngine` of SQLAlchemy 2, or a function that opens a DB-API connection (`lambda:
  sqlite3.connect(path)`). The probe reads over a new connection, in a transaction that is rolled back. It is
  read-only on PostgreSQL, MySQL, MariaDB and SQLite. Uncommitted work of the action is not seen, so it never
  counts as done. The probe needs one connection of the pool besides those of the action.
- A `sessionmaker` or `async_sessionmaker`: it is read as its engine.
- A `Session`, `Connection`, `AsyncSession` or `AsyncConnection` of SQLAlchemy, or an open DB-API connection.
  The probe reads *in the caller's transaction*, so it sees uncommitted work. It commits, rolls back and
  closes nothing of it. It flushes nothing, so it does not see what a session has not sent yet. On PostgreSQL
  a savepoint protects the transaction from a failing read. If a session has no transaction, its engine is
  read. The thread of the action reads, so do not use `.timeout()`.
- A function that names arguments of the action and returns one of these, `lambda session: session`. The
  thread of the action reads what it returns. It does not scope the check.

A `scoped_session` is read as the session of this thread. If the file of a SQLite database is missing, it is
not created, and the check is inconclusive.

An engine of SQLite in memory has one connection, shared with the action. If a transaction is open on it, the
check is inconclusive.

Write SQL yourself, and never build it from data. Put data into parameters, `:name`. `params=` gives values of
parameters. The others are the action's arguments of that name, or `:causal_tag`. A name that is not an
argument of the action is an error at decoration. A colon in a literal, a comment or a `::cast` is not a
parameter. A literal that is only a parameter, `':name'`, `'{name}'` or `'$name'`, is an error, since it would
be literal text.

If the database refuses a read (no such table, no permission, a wrong password, no connection), the check is
inconclusive, with the error text of the database, without parameters and passwords. `.timeout()` of the check
limits the time of a read.

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
    import sqlalchemy as _sqlalchemy  # noqa: F401  # so that the error names the missing package
except ImportError as error:
    raise ImportError(
        "deltaspan.probes.sql needs SQLAlchemy 2: pip install 'deltaspan[sqlalchemy]'"
    ) from error

from deltaspan.probes._sql._database import database
from deltaspan.probes._sql._queries import query, scalar
from deltaspan.probes._sql._tables import records, rows

__all__ = ["database", "query", "records", "rows", "scalar"]
