"""`scalar` and `query`: probes of a statement of the developer's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from sqlalchemy import text

from deltaspan.exceptions import DefinitionTypeError, ProbeError
from deltaspan.probes._sql._asking import MOST_ROWS, Params, Question, asking, called, checked_limit
from deltaspan.probes._sql._readers import Reader
from deltaspan.probes._sql._sources import AsyncSource, Source, checked
from deltaspan.probes._sql._tables import Record
from deltaspan.probes._sql._values import plain
from deltaspan.probes._state_probe import AsyncStateProbe, StateProbe

__all__ = ["query", "scalar"]


@overload
def scalar(source: AsyncSource, statement: str, *, params: Params = None) -> AsyncStateProbe[Any]: ...
@overload
def scalar(source: Source, statement: str, *, params: Params = None) -> StateProbe[Any]: ...
def scalar(source: Any, statement: str, *, params: Params = None) -> StateProbe[Any] | AsyncStateProbe[Any]:
    """Read one value by a statement of your own: the first column of the only row.

    Where there is no row the value is None, as it is for a subquery in SQL. Several rows or columns are no
    value: the check is inconclusive.

    Args:
        source: where to read; see the module.
        statement: a SELECT, with `:name` for parameters.
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
        result = reader.run(text(question.sql), values)
        if len(result.rows) > 1 or len(result.names) != 1:
            raise ProbeError(
                f"a scalar is one row of one column, and the statement returned {len(result.rows)} of "
                f"{len(result.names)}: use query()"
            )
        return plain(result.rows[0][0]) if result.rows else None

    return asking(given, question, read, called("scalar", source, statement, params=params))


@overload
def query(
    source: AsyncSource, statement: str, *, params: Params = None, limit: int = MOST_ROWS
) -> AsyncStateProbe[tuple[Record, ...]]: ...
@overload
def query(
    source: Source, statement: str, *, params: Params = None, limit: int = MOST_ROWS
) -> StateProbe[tuple[Record, ...]]: ...
def query(
    source: Any, statement: str, *, params: Params = None, limit: int = MOST_ROWS
) -> StateProbe[tuple[Record, ...]] | AsyncStateProbe[tuple[Record, ...]]:
    """Read rows by a statement of your own, in the order that it gives them.

    It is always rows, of one row and one column too, so that a state does not change its kind with what is in
    the table; a single value is read by `scalar`. Order is part of the state: write ORDER BY.

    Args:
        source: where to read; see the module.
        statement: a SELECT, with `:name` for parameters.
        params: values of parameters, by name; those not given are the action's arguments.
        limit: how many rows there may be; they are counted when they have come.

    Returns:
        A probe of rows, each column → value.

    Raises:
        DefinitionTypeError: an argument is of another kind.
        DefinitionValueError: `params` gives what the statement does not name.
    """
    given = checked(source)
    question = _stated(given, statement, params)
    checked_limit(limit)

    def read(reader: Reader, values: Mapping[str, Any]) -> tuple[Record, ...]:
        result = reader.run(text(question.sql), values)
        if len(set(result.names)) < len(result.names):
            raise ProbeError(
                f"two columns have one name, of {', '.join(result.names)}: tell them apart by AS"
            )
        if len(result.rows) > limit:
            raise ProbeError(f"there are more than {limit} rows: narrow the statement, or count them in it")
        return tuple(dict(zip(result.names, map(plain, row), strict=True)) for row in result.rows)

    return asking(given, question, read, called("query", source, statement, params=params))


def _stated(source: Any, statement: str, params: Params) -> Question:
    if not isinstance(statement, str) or not statement.strip():
        raise DefinitionTypeError(f"a statement is SQL as text, not {statement!r}")
    return Question(source, statement, params)
