"""`rows` and `records`: probes of one table."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict, overload

from sqlalchemy.sql import FromClause
from typing_extensions import Unpack

from deltaspan._attribution import Tagged, tagged_rows
from deltaspan.exceptions import DefinitionValueError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._sql._probe import (
    MAX_ROWS,
    Names,
    Params,
    SqlQuery,
    check_limit,
    render_call,
    sql_probe,
)
from deltaspan.probes._sql._readers import Reader, SqlReadError
from deltaspan.probes._sql._sources import AsyncSource, Source, check_source
from deltaspan.probes._sql._table_reads import (
    Rows,
    Table,
    column_names,
    count_rows,
    read_rows,
    read_tags,
    read_whole_rows,
)

TableName: TypeAlias = str | type[Any] | FromClause
"""A table by its name, a class that is mapped to it, or itself."""


class _Narrowing(TypedDict, total=False):
    """The keywords of `rows` and `records` that narrow what is read. `rows` describes them."""

    where: str | None
    params: Params
    schema: str | None


class _Keyed(_Narrowing, total=False):
    """The keywords of every probe of rows by key. `records` describes them."""

    key: Names | None
    limit: int


@overload
def rows(source: AsyncSource, table: TableName, **narrowing: Unpack[_Narrowing]) -> AsyncStateProbe[int]: ...
@overload
def rows(source: Source, table: TableName, **narrowing: Unpack[_Narrowing]) -> StateProbe[int]: ...
def rows(
    source: Any,
    table: TableName,
    *,
    where: str | None = None,
    params: Params = None,
    schema: str | None = None,
) -> StateProbe[int] | AsyncStateProbe[int]:
    """Count the rows of a table, with one statement.

    This is the cheapest probe: its state is one number. A concurrent writer changes the count too.
    `where="tenant = :tenant"` scopes the count to what the action concerns. `where="causal_tag =
    :causal_tag"` counts the rows that this run has written, which attributes the check.

    Args:
        source: the source; see the module.
        table: its unquoted name, as `table` or `schema.table`; a class that is mapped to a table; or a
            `Table`.
        where: a condition in SQL, with `:name` for parameters.
        params: values of parameters, by name. The others are the action's arguments.
        schema: the schema of the table.

    Returns:
        A probe of the number of rows. It needs the permission to SELECT from the table.

    Raises:
        DefinitionTypeError: an argument has the wrong type.
        DefinitionValueError: `params` has a name that `where` does not have.
    """
    checked_source = check_source(source)
    target, query = Table(table, schema), SqlQuery(checked_source, where, params)
    words = render_call("rows", source, table, where=where, params=params, schema=schema)
    return sql_probe(
        checked_source, query, lambda reader, values: count_rows(reader, target, query.sql, values), words
    )


@overload
def records(
    source: Source | AsyncSource,
    table: TableName,
    *,
    tag: str,
    root: str | None = None,
    **options: Unpack[_Keyed],
) -> Tagged: ...
@overload
def records(
    source: AsyncSource, table: TableName, *, columns: Names | None = None, **options: Unpack[_Keyed]
) -> AsyncStateProbe[Rows]: ...
@overload
def records(
    source: Source, table: TableName, *, columns: Names | None = None, **options: Unpack[_Keyed]
) -> StateProbe[Rows]: ...
def records(
    source: Any,
    table: TableName,
    *,
    key: Names | None = None,
    columns: Names | None = None,
    tag: str | None = None,
    root: str | None = None,
    where: str | None = None,
    params: Params = None,
    schema: str | None = None,
    limit: int = MAX_ROWS,
) -> StateProbe[Rows] | AsyncStateProbe[Rows] | Tagged:
    """Read the rows of a table: key → row.

    The delta distinguishes added, removed and modified rows. A read is one statement, at one moment, and
    fetches every row that it covers: narrow it by `where` and `columns`. The primary key is queried once,
    at the first read.

    Values are those of the driver: numbers, texts, dates, UUIDs, nested JSON and arrays. Binary of more
    than 64 bytes becomes its size and digest. A value of another type becomes text. Values that the
    driver rounds are compared rounded: MySQL sends a FLOAT in six digits. Values that the driver returns
    alike are compared alike: the `null` of JSON and NULL (both are None with psycopg), and the intervals
    `1 month` and `30 days` (both are a timedelta). This holds for `scalar` and `query` too. To
    distinguish them, use `database` on PostgreSQL, or cast the column to text in your own statement,
    `doc::text`.

    Args:
        source: the source; see the module.
        table: its name, as for `rows`.
        key: the column, or columns, that identify a row; the primary key by default. The key of several
            columns is a tuple.
        columns: the columns that are compared and shown. By default all columns are compared, and rows are
            content: reports name changes by key and column, and show values if the check has
            `.showing()`.
        tag: the column with the causal tag of the run that wrote the row, as `deltaspan.stamps.sqlalchemy`
            writes it. The probe becomes `tagged`: the check judges the rows of this run. With
            `.keeping_others()` the rows of others must not change.
        root: with `tag`, the column with the tag of the outermost run.
        where: a condition in SQL, as for `rows`.
        params: values of its parameters, as for `rows`.
        schema: the schema of the table.
        limit: the most rows.

    Returns:
        A probe of key → row, a row being column → value. It needs the permission to SELECT these columns.

    Raises:
        DefinitionTypeError: an argument has the wrong type.
        DefinitionValueError: arguments contradict each other.

    Example:
        >>> import sqlite3
        >>> from deltaspan import change, window
        >>> from deltaspan.probes import sql
        >>> db = sqlite3.connect(":memory:")
        >>> _ = db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT)")
        >>> _ = db.execute("INSERT INTO orders (status) VALUES ('paid'), ('paid')")
        >>> orders = sql.records(db, "orders", key="id")
        >>> with window("refund", change("orders", orders).modifying("2/status")) as w:
        ...     _ = db.execute("UPDATE orders SET status = 'refunded' WHERE id = 2")
        >>> w.report["orders"].outcome
        'pass'
        >>> db.close()
    """
    checked_source = check_source(source)
    if tag is not None and columns is not None:
        raise DefinitionValueError(
            "records() takes columns= or tag=, not both: tagged rows are not compared by column"
        )
    if root is not None and tag is None:
        raise DefinitionValueError("records() takes root= only with tag=; name the tag column too")
    check_limit(limit)
    target, query = Table(table, schema), SqlQuery(checked_source, where, params)
    key_columns, shown_columns = column_names(key, "key"), column_names(columns, "columns")
    known_key: list[tuple[str, ...]] = [] if key_columns is None else [key_columns]

    def key_by(reader: Reader) -> tuple[str, ...]:
        if not known_key:
            primary = reader.primary_key(target.name, target.schema)
            if not primary:
                raise SqlReadError(f"{target.name} has no primary key; name unique columns in key=")
            known_key.append(primary)
        return known_key[0]

    words = render_call(
        "records",
        source,
        table,
        key=key,
        columns=columns,
        tag=tag,
        root=root,
        where=where,
        params=params,
        schema=schema,
    )
    if tag is None:
        return sql_probe(
            checked_source,
            query,
            lambda reader, values: read_rows(
                reader, target, key_by(reader), shown_columns, query.sql, values, limit
            ),
            words,
            content=columns is None,
        )
    tags = (tag,) if root is None else (tag, root)
    probe = sql_probe(
        checked_source,
        query,
        lambda reader, values: read_tags(reader, target, key_by(reader), tags, query.sql, values, limit),
        words,
    )
    read_tables = sql_probe(
        checked_source,
        query,
        lambda reader, values: read_whole_rows(
            reader, target, key_by(reader), tags, query.sql, values, limit
        ),
        words,
    )
    probe.table = target.name  # what `tagged` calls it
    return tagged_rows(probe, 0, 1, None if root is None else 2, read_tables, words)
