"""`database`: the probe of every table of a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from sqlalchemy import inspect

from deltaspan._state.snapshot import MAX_NODES
from deltaspan.exceptions import DefinitionTypeError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._sql._digests import Contents, TableSelection, read_tables
from deltaspan.probes._sql._drivers import is_connection
from deltaspan.probes._sql._postgresql import DigestCache, read_postgresql
from deltaspan.probes._sql._probe import SqlQuery, check_limit, render_call, sql_probe
from deltaspan.probes._sql._readers import Reader, SqlReader, SqlReadError
from deltaspan.probes._sql._sources import AsyncSource, Source, check_source


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
    """Read every table of a schema at once, to find damage anywhere.

    The state is table → key → digest of the row, at one moment. A change names the table and the row,
    `customers/7`; use `records` to see its columns. The key of several columns is a tuple. A table
    without a primary key is digest → number of such rows. The key `(columns)` of each table has its
    columns, so that added, removed and altered tables are seen, and empty ones too. Views, indexes,
    triggers, sequences, large objects, foreign tables and temporary tables are not read.

    The cost depends on the database:

    - PostgreSQL: the server digests the rows (md5 of the text of a row). First, it counts the rows of each
      table and sums up their versions (ctid, xmin), by a scan that sends no rows. A table whose count and sum
      have not changed is not read again: the probe keeps the digests of its last read, some 200 bytes a row,
      as long as it exists. So keep the probe, in a decorator or a constant. Tables are read each time in the
      caller's transaction, and if a partition is foreign.
    - Other databases: each read sends every row of every table, and digests it here.

    For a million rows in 100 tables, PostgreSQL took 8 s at first and 0.5 s from then on, and SQLite took
    10 s at each read, on two slow cores (`benchmarks/sql_database.py`). Exclude tables that are large or
    that others write to, since their rows change this state too.

    Args:
        source: the source; see the module. A DB-API connection that is open cannot be asked for its
            tables, and one that a function opens only if SQLAlchemy knows its driver. Inside the caller's
            transaction, how much it is of one moment depends on its isolation.
        exclude: names or patterns of tables to leave out: `audit_*`.
        schema: the schema to read; by default, that of the connection.
        limit: the most rows, at most 1 000 000. Each table counts as one row too. Beyond the limit, the check
            is inconclusive and names the largest table.

    Returns:
        A probe of table → key → digest. It needs the permission to SELECT from each table that is there, and
        sees the rows that row level security lets it see.

    Raises:
        DefinitionTypeError: an argument has the wrong type.
        DefinitionValueError: the limit is out of range.

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
    checked_source = check_source(source)
    if is_connection(checked_source):
        raise DefinitionTypeError(
            "an open DB-API connection cannot list its tables; pass an engine, or a function that "
            "opens a connection"
        )
    if isinstance(exclude, str) or not all(isinstance(name, str) for name in exclude):
        raise DefinitionTypeError(f"exclude= takes a list of tables, not {exclude!r}")
    selection = TableSelection(schema, tuple(exclude), check_limit(limit, MAX_NODES))
    cache = DigestCache({})

    def read(reader: Reader, values: Mapping[str, Any]) -> Contents:  # noqa: ARG001  # there are no parameters
        if not isinstance(reader, SqlReader):
            raise SqlReadError(
                "SQLAlchemy does not know the driver, so its tables cannot be listed; read each by records()"
            )
        if schema is not None and not inspect(reader.connection).has_schema(schema):
            raise SqlReadError(f"there is no schema {schema!r}")
        if reader.connection.dialect.name == "postgresql":
            return read_postgresql(reader, selection, cache)
        return read_tables(reader, selection)

    words = render_call("database", source, exclude=list(exclude) or None, schema=schema)
    return sql_probe(checked_source, SqlQuery(checked_source, None, None), read, words, snapshot=True)
