"""`scalar` and `query`: probes of a statement of the developer's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, overload

from sqlalchemy import SelectBase, text

from deltaspan.exceptions import DefinitionTypeError, ProbeError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._sql._probe import MOST_ROWS, Params, Question, asking, called, checked_limit
from deltaspan.probes._sql._readers import Reader, SqlReader
from deltaspan.probes._sql._sources import AsyncSource, Source, checked
from deltaspan.probes._sql._table_names import Record
from deltaspan.probes._sql._values import plain

__all__ = ["query", "scalar"]

Statement: TypeAlias = str | SelectBase
"""SQL as text, or a `select()`."""


@overload
def scalar(source: AsyncSource, statement: Statement, *, params: Params = None) -> AsyncStateProbe[Any]: ...
@overload
def scalar(source: Source, statement: Statement, *, params: Params = None) -> StateProbe[Any]: ...
def scalar(
    source: Any, statement: Statement, *, params: Params = None
) -> StateProbe[Any] | AsyncStateProbe[Any]:
    """Read one value by a statement of your own: the first column of the only row.

    Where there is no row the value is None, as it is for a subquery in SQL. Several rows or columns are no
    value: the check is inconclusive.

    Args:
        source: where to read; see the module.
        statement: a SELECT as text, with `:name` for parameters, or a `select()` of SQLAlchemy, with
            `bindparam("name")`.
        params: values of parameters, by name; those not given are the action's arguments.

    Returns:
        A probe of the value; how the driver returns it decides which words fit: a `sum()` may be a Decimal.

    Raises:
        DefinitionTypeError: an argument is of another kind.
        DefinitionValueError: `params` gives what the statement does not name.

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
    given = checked(source)
    question = _stated(given, statement, params)

    def read(reader: Reader, values: Mapping[str, Any]) -> Any:
        result = reader.run(_executable(question, reader), values)
        if len(result.rows) > 1 or len(result.names) != 1:
            raise ProbeError(
                f"a scalar is one row of one column, and the statement returned {len(result.rows)} of "
                f"{len(result.names)}: use query()"
            )
        return plain(result.rows[0][0]) if result.rows else None

    return asking(given, question, read, called("scalar", source, statement, params=params))


@overload
def query(
    source: AsyncSource, statement: Statement, *, params: Params = None, limit: int = MOST_ROWS
) -> AsyncStateProbe[tuple[Record, ...]]: ...
@overload
def query(
    source: Source, statement: Statement, *, params: Params = None, limit: int = MOST_ROWS
) -> StateProbe[tuple[Record, ...]]: ...
def query(
    source: Any, statement: Statement, *, params: Params = None, limit: int = MOST_ROWS
) -> StateProbe[tuple[Record, ...]] | AsyncStateProbe[tuple[Record, ...]]:
    """Read rows by a statement of your own, in the order that it gives them.

    It is always rows, of one row and one column too, so that a state does not change its kind with what is in
    the table; a single value is read by `scalar`. Order is part of the state: write ORDER BY.

    Args:
        source: where to read; see the module.
        statement: a SELECT as text, with `:name` for parameters, or a `select()` of SQLAlchemy, with
            `bindparam("name")`.
        params: values of parameters, by name; those not given are the action's arguments.
        limit: how many rows there may be; they are counted when they have come.

    Returns:
        A probe of rows, each column → value. Rows are content: reports say how many came and went, and show
        their values if the check says `.showing()`.

    Raises:
        DefinitionTypeError: an argument is of another kind.
        DefinitionValueError: `params` gives what the statement does not name.
    """
    given = checked(source)
    question = _stated(given, statement, params)
    checked_limit(limit)

    def read(reader: Reader, values: Mapping[str, Any]) -> tuple[Record, ...]:
        result = reader.run(_executable(question, reader), values)
        if len(set(result.names)) < len(result.names):
            raise ProbeError(
                f"two columns have one name, of {', '.join(result.names)}: tell them apart by AS"
            )
        if len(result.rows) > limit:
            raise ProbeError(f"there are more than {limit} rows: narrow the statement, or count them in it")
        return tuple(dict(zip(result.names, map(plain, row), strict=True)) for row in result.rows)

    return asking(given, question, read, called("query", source, statement, params=params), content=True)


def _stated(source: Any, statement: Statement, params: Params) -> Question:
    if not isinstance(statement, SelectBase) and not (isinstance(statement, str) and statement.strip()):
        raise DefinitionTypeError(f"a statement is SQL as text or a select(), not {statement!r}")
    return Question(source, statement, params)


def _executable(question: Question, reader: Reader) -> Any:
    if question.statement is None:
        return text(question.sql)
    if not isinstance(reader, SqlReader):
        raise ProbeError("SQLAlchemy does not know the driver: write the select() as text")
    return question.statement
