"""`rows` and `records`: probes of one table."""

from __future__ import annotations

from typing import Any, overload

from sqlalchemy.sql import FromClause

from deltaspan._attribution import Tagged, tagged_rows
from deltaspan.exceptions import DefinitionValueError, ProbeError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._sql._probe import MOST_ROWS, Names, Params, Question, asking, called, checked_limit
from deltaspan.probes._sql._readers import Reader
from deltaspan.probes._sql._sources import AsyncSource, Source, checked
from deltaspan.probes._sql._table_names import Rows, Table, count, names_of, rows_of, tags_of, whole_rows_of

__all__ = ["records", "rows"]


@overload
def rows(
    source: AsyncSource,
    table: str | type[Any] | FromClause,
    *,
    where: str | None = None,
    params: Params = None,
    schema: str | None = None,
) -> AsyncStateProbe[int]: ...
@overload
def rows(
    source: Source,
    table: str | type[Any] | FromClause,
    *,
    where: str | None = None,
    params: Params = None,
    schema: str | None = None,
) -> StateProbe[int]: ...
def rows(
    source: Any,
    table: str | type[Any] | FromClause,
    *,
    where: str | None = None,
    params: Params = None,
    schema: str | None = None,
) -> StateProbe[int] | AsyncStateProbe[int]:
    """Count the rows of a table: the cheapest probe, one statement and one number.

    A concurrent writer changes the count too. `where="tenant = :tenant"` scopes it to what the action is
    about, and `where="causal_tag = :causal_tag"` to what this run has written, which attributes the check.

    Args:
        source: where to read; see the module.
        table: its name, unquoted; `schema.table` where it has a dot in it and no `schema` is given. Or a
            class that is mapped to a table, or a `Table`.
        where: a condition in SQL, with `:name` for parameters.
        params: values of parameters, by name; those not given are the action's arguments.
        schema: the schema of the table.

    Returns:
        A probe of the number of rows. It needs the permission to SELECT from the table.

    Raises:
        DefinitionTypeError: an argument is of another kind.
        DefinitionValueError: `params` gives what `where` does not name.
    """
    given = checked(source)
    of, question = Table(table, schema), Question(given, where, params)
    words = called("rows", source, table, where=where, params=params, schema=schema)
    return asking(given, question, lambda reader, values: count(reader, of, question.sql, values), words)


@overload
def records(
    source: Source | AsyncSource,
    table: str | type[Any] | FromClause,
    *,
    tag: str,
    root: str | None = None,
    key: Names | None = None,
    where: str | None = None,
    params: Params = None,
    schema: str | None = None,
    limit: int = MOST_ROWS,
) -> Tagged: ...
@overload
def records(
    source: AsyncSource,
    table: str | type[Any] | FromClause,
    *,
    key: Names | None = None,
    columns: Names | None = None,
    where: str | None = None,
    params: Params = None,
    schema: str | None = None,
    limit: int = MOST_ROWS,
) -> AsyncStateProbe[Rows]: ...
@overload
def records(
    source: Source,
    table: str | type[Any] | FromClause,
    *,
    key: Names | None = None,
    columns: Names | None = None,
    where: str | None = None,
    params: Params = None,
    schema: str | None = None,
    limit: int = MOST_ROWS,
) -> StateProbe[Rows]: ...
def records(
    source: Any,
    table: str | type[Any] | FromClause,
    *,
    key: Names | None = None,
    columns: Names | None = None,
    tag: str | None = None,
    root: str | None = None,
    where: str | None = None,
    params: Params = None,
    schema: str | None = None,
    limit: int = MOST_ROWS,
) -> StateProbe[Rows] | AsyncStateProbe[Rows] | Tagged:
    """Read the rows of a table, by key: rows that were added, removed or modified are told apart.

    It is one statement, of one moment, that sends every row it covers: narrow it by `where` and `columns`.
    The primary key is asked for once, at the first read.

    Values are those of the driver: numbers, texts, dates, UUIDs, nested JSON and arrays. Binary beyond 64
    bytes is its size and digest; what is no plain value is text. What the driver rounds is compared rounded:
    MySQL sends a FLOAT in six digits. What the driver returns alike is compared alike: the `null` of JSON and
    NULL (both are None with psycopg), an interval of `1 month` and one of `30 days` (both are a timedelta),
    `1.0` and `1.00`, `0.0` and `-0.0`, one instant in two time zones, with MySQL a date of zeros and NULL. So
    it is in `scalar` and `query` too. `database` tells these apart on PostgreSQL; or cast the column to
    text in a statement of your own, `doc::text`.

    Args:
        source: where to read; see the module.
        table: its name, as for `rows`.
        key: the column, or columns, that tell rows apart; the primary key if not given. A row of several is
            known by a tuple.
        columns: the columns that are compared, and shown. All are compared if it is not given, and then rows
            are content: reports name what changed by key and column, and show values if the check says
            `.showing()`.
        tag: the column that holds the causal tag of whoever wrote the row, as `deltaspan.stamps.sqlalchemy`
            writes it. The probe becomes `tagged`: the check holds against the rows that are this run's. With
            `.keeping_others()` the rows of others must stay as they were.
        root: with `tag`, the column that holds the tag of the outermost run.
        where: a condition in SQL, as for `rows`.
        params: values of its parameters, as for `rows`.
        schema: the schema of the table.
        limit: how many rows there may be.

    Returns:
        A probe of key → row, a row being column → value. It needs the permission to SELECT these columns.

    Raises:
        DefinitionTypeError: an argument is of another kind.
        DefinitionValueError: arguments contradict each other, or there is no telling the primary key.

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
    given = checked(source)
    if tag is not None and columns is not None:
        raise DefinitionValueError(
            "records() takes columns= or tag=: rows that are told apart by tag are not compared"
        )
    if root is not None and tag is None:
        raise DefinitionValueError("records() takes root= with tag= only")
    checked_limit(limit)
    of, question = Table(table, schema), Question(given, where, params)
    named, shown = names_of(key, "key"), names_of(columns, "columns")
    found: list[tuple[str, ...]] = [] if named is None else [named]

    def key_by(reader: Reader) -> tuple[str, ...]:
        if not found:
            primary = reader.primary_key(of.name, of.schema)
            if not primary:
                raise ProbeError(f"{of.name} has no primary key: name what is unique among its rows, key=...")
            found.append(primary)
        return found[0]

    words = called(
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
        return asking(
            given,
            question,
            lambda reader, values: rows_of(reader, of, key_by(reader), shown, question.sql, values, limit),
            words,
            content=columns is None,
        )
    tags = (tag,) if root is None else (tag, root)
    probe = asking(
        given,
        question,
        lambda reader, values: tags_of(reader, of, key_by(reader), tags, question.sql, values, limit),
        words,
    )
    whole = asking(
        given,
        question,
        lambda reader, values: whole_rows_of(reader, of, key_by(reader), tags, question.sql, values, limit),
        words,
    )
    probe.table = of.name  # what `tagged` calls it
    return tagged_rows(probe, 0, 1, None if root is None else 2, whole, words)
