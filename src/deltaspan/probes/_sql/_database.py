"""`database`: the probe of every table at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from sqlalchemy import inspect

from deltaspan._state.snapshot import MAX_NODES
from deltaspan.exceptions import DefinitionTypeError, ProbeError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._sql._digests import Contents, Scope, whole
from deltaspan.probes._sql._drivers import is_connection
from deltaspan.probes._sql._postgresql import Kept, whole_postgresql
from deltaspan.probes._sql._probe import Question, asking, called, checked_limit
from deltaspan.probes._sql._readers import Reader, SqlReader
from deltaspan.probes._sql._sources import AsyncSource, Source, checked

__all__ = ["database"]


@overload
def database(
    source: AsyncSource, *, exclude: Sequence[str] = (), schema: str | None = None, limit: int = MAX_NODES
) -> AsyncStateProbe[Contents]: ...
@overload
def database(
    source: Source, *, exclude: Sequence[str] = (), schema: str | None = None, limit: int = MAX_NODES
) -> StateProbe[Contents]: ...
def database(
    source: Any, *, exclude: Sequence[str] = (), schema: str | None = None, limit: int = MAX_NODES
) -> StateProbe[Contents] | AsyncStateProbe[Contents]:
    """Read every table of a schema at once, so that damage anywhere in it shows.

    The state is table → key → digest of the row, as of one moment. A change names the table and the row,
    `customers/7`; what changed in it `records` tells. A row whose key has several columns is known by a
    tuple. A table without a primary key is digest → how many such rows. Under `(columns)` each table has its
    columns, so that tables that come, go or are altered show, empty ones too. Views, indexes, triggers,
    sequences, large objects, foreign and temporary tables are not read.

    What it costs, and what it does to cost less:

    - PostgreSQL: the server makes the digests (md5 of the row's text). First it is asked for the number of
      rows of each table and a sum over their versions (ctid, xmin), by a scan of each table that sends
      nothing. A table in which these are as at the last read is not read again: the probe keeps the digests
      that it read last, some 200 bytes a row, for as long as it exists. So keep the probe, in a decorator or
      a constant. Inside the caller's transaction, and partitions that are foreign, are read each time.
    - Elsewhere: every row of every table is sent and digested here, at each read.

    A million rows in 100 tables took PostgreSQL 8 s at first and 0.5 s from then on, and SQLite 10 s at each
    read, on two slow cores (`benchmarks/sql_database.py`). Leave out what is large, or written by
    others: another writer's rows change this state too.

    Args:
        source: where to read; see the module. A DB-API connection that is open cannot be asked for its
            tables, and one that a function opens only if SQLAlchemy knows its driver. Inside the caller's
            transaction, how much it is of one moment depends on its isolation.
        exclude: tables to leave out, as they are named or as patterns: `audit_*`.
        schema: the schema to read; that of the connection if not given.
        limit: how many rows there may be, each table counted as one too; at most 1 000 000. Beyond it the
            check is inconclusive and names the largest table.

    Returns:
        A probe of table → key → digest. It needs the permission to SELECT from each table that is there, and
        sees the rows that row level security lets it see.

    Raises:
        DefinitionTypeError: an argument is of another kind.
        DefinitionValueError: the limit is none.

    Example:
        >>> from sqlalchemy import create_engine, text
        >>> from deltaspan import unchanged, window
        >>> from deltaspan.probes import sql
        >>> engine = create_engine("sqlite://")
        >>> with engine.begin() as db:
        ...     _ = db.execute(text("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)"))
        ...     _ = db.execute(text("INSERT INTO customers (name) VALUES ('Ada'), ('Bo')"))
        >>> with window("clean up", unchanged("db", sql.database(engine))) as w, engine.begin() as db:
        ...     _ = db.execute(text("DELETE FROM customers WHERE id = 2"))
        >>> w.report["db"].explanation.partition(" (")[0]
        "expected db to stay unchanged, but it removed 'customers/2'"
        >>> engine.dispose()
    """
    given = checked(source)
    if is_connection(given):
        raise DefinitionTypeError(
            "an open DB-API connection cannot be asked for its tables: pass an engine, or a function that "
            "opens a connection"
        )
    if isinstance(exclude, str) or not all(isinstance(name, str) for name in exclude):
        raise DefinitionTypeError(f"exclude= takes a list of tables, not {exclude!r}")
    scope = Scope(schema, tuple(exclude), checked_limit(limit, MAX_NODES))
    kept = Kept({})

    def read(reader: Reader, values: Mapping[str, Any]) -> Contents:  # noqa: ARG001  # it has no parameters
        if not isinstance(reader, SqlReader):
            raise ProbeError(
                "SQLAlchemy does not know the driver, so nobody tells the tables: read each by records()"
            )
        if schema is not None and not inspect(reader.connection).has_schema(schema):
            raise ProbeError(f"there is no schema {schema!r}")
        if reader.connection.dialect.name == "postgresql":
            return whole_postgresql(reader, scope, kept)
        return whole(reader, scope)

    words = called("database", source, exclude=list(exclude) or None, schema=schema)
    return asking(given, Question(given, None, None), read, words, snapshot=True)
