"""`scalar` and `query`: probes of the user's own statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, overload

from sqlalchemy import SelectBase, text

from deltaspan.exceptions import DefinitionTypeError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._sql._probe import MAX_ROWS, Params, SqlQuery, check_limit, render_call, sql_probe
from deltaspan.probes._sql._readers import Reader, SqlReader, SqlReadError
from deltaspan.probes._sql._sources import AsyncSource, Source, check_source
from deltaspan.probes._sql._table_reads import Record
from deltaspan.probes._sql._values import to_python

Statement: TypeAlias = str | SelectBase
"""SQL as text, or a `select()`."""


@overload
def scalar(source: AsyncSource, statement: Statement, *, params: Params = None) -> AsyncStateProbe[Any]: ...
@overload
def scalar(source: Source, statement: Statement, *, params: Params = None) -> StateProbe[Any]: ...
def scalar(
    source: Any, statement: Statement, *, params: Params = None
) -> StateProbe[Any] | AsyncStateProbe[Any]:
    """Read one value: the first column of the only row.

    The value is None if there is no row, as with a subquery in SQL. If there are several rows or columns,
    the check is inconclusive.

    Args:
        source: the source; see the module.
        statement: a SELECT as text, with `:name` for parameters, or a `select()` of SQLAlchemy, with
            `bindparam("name")`.
        params: values of parameters, by name. The others are the action's arguments.

    Returns:
        A probe of the value. Its type is that of the driver: a `sum()` may be a Decimal.

    Raises:
        DefinitionTypeError: an argument has the wrong type.
        DefinitionValueError: `params` has a name that the statement does not have.

    Example:
        >>> import sqlite3
        >>> from deltaspan import change, expects
        >>> from deltaspan.probes import sql
        >>> db = sqlite3.connect(":memory:")
        >>> _ = db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT)")
        >>> _ = db.execute("INSERT INTO orders (status) VALUES ('paid')")
        >>> status = sql.scalar(db, "SELECT status FROM orders WHERE id = :order_id")
        >>> @expects(change("status", status).from_("paid").to("refunded"), on_failure="raise")
        ... def refund(order_id):
        ...     db.execute("UPDATE orders SET status = 'refunded' WHERE id = ?", [order_id])
        >>> refund(1)
        >>> db.close()
    """
    checked_source = check_source(source)
    query = _make_query(checked_source, statement, params)

    def read(reader: Reader, values: Mapping[str, Any]) -> Any:
        result = reader.run(_executable(query, reader), values)
        if len(result.rows) > 1 or len(result.names) != 1:
            raise SqlReadError(
                f"a scalar is one row of one column, but the statement returned {len(result.rows)} rows of "
                f"{len(result.names)} columns; use query()"
            )
        return to_python(result.rows[0][0]) if result.rows else None

    return sql_probe(checked_source, query, read, render_call("scalar", source, statement, params=params))


@overload
def query(
    source: AsyncSource, statement: Statement, *, params: Params = None, limit: int = MAX_ROWS
) -> AsyncStateProbe[tuple[Record, ...]]: ...
@overload
def query(
    source: Source, statement: Statement, *, params: Params = None, limit: int = MAX_ROWS
) -> StateProbe[tuple[Record, ...]]: ...
def query(
    source: Any, statement: Statement, *, params: Params = None, limit: int = MAX_ROWS
) -> StateProbe[tuple[Record, ...]] | AsyncStateProbe[tuple[Record, ...]]:
    """Read the rows of a statement, in their order.

    The state is a tuple of rows, even for one row of one column, so that its type does not depend on the
    data. For a single value use `scalar`. The order of rows is part of the state: write ORDER BY.

    Args:
        source: the source; see the module.
        statement: a SELECT as text, with `:name` for parameters, or a `select()` of SQLAlchemy, with
            `bindparam("name")`.
        params: values of parameters, by name. The others are the action's arguments.
        limit: the most rows. They are counted after they have arrived.

    Returns:
        A probe of rows, each column → value. Rows are content: reports count added and removed rows, and show
        values if the check has `.showing()`.

    Raises:
        DefinitionTypeError: an argument has the wrong type.
        DefinitionValueError: `params` has a name that the statement does not have.
    """
    checked_source = check_source(source)
    query = _make_query(checked_source, statement, params)
    check_limit(limit)

    def read(reader: Reader, values: Mapping[str, Any]) -> tuple[Record, ...]:
        result = reader.run(_executable(query, reader), values)
        if len(set(result.names)) < len(result.names):
            raise SqlReadError(
                f"two columns have the same name ({', '.join(result.names)}); rename one by AS"
            )
        if len(result.rows) > limit:
            raise SqlReadError(f"there are more than {limit} rows: narrow the statement, or count them in it")
        return tuple(dict(zip(result.names, map(to_python, row), strict=True)) for row in result.rows)

    return sql_probe(
        checked_source, query, read, render_call("query", source, statement, params=params), content=True
    )


def _make_query(source: Any, statement: Statement, params: Params) -> SqlQuery:
    if not isinstance(statement, SelectBase) and not (isinstance(statement, str) and statement.strip()):
        raise DefinitionTypeError(f"a statement is SQL as text or a select(), not {statement!r}")
    return SqlQuery(source, statement, params)


def _executable(query: SqlQuery, reader: Reader) -> Any:
    if query.statement is None:
        return text(query.sql)
    if not isinstance(reader, SqlReader):
        raise SqlReadError("SQLAlchemy does not know the driver: write the select() as text")
    return query.statement
