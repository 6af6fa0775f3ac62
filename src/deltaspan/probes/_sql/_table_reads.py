"""Statements over one table: row counts, rows, and rows with their tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import column, func, inspect, select, table, text
from sqlalchemy.sql import FromClause, TableClause
from sqlalchemy.sql.selectable import Select

from deltaspan._state.snapshot import MAX_NODES
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._sql._readers import Reader, SqlReadError
from deltaspan.probes._sql._values import row_key, to_python

Record: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Mapping[Any, Record]


class Table:
    """A table, named by text, a mapped class or a `Table`.

    Args:
        name: its name, as it is and unquoted; with a dot in it, and no schema given, `schema.table`. Or a
            class that is mapped to a table, or a `Table`.
        schema: the schema that it is in; None for the connection's own.

    Raises:
        DefinitionTypeError: it is neither text nor a mapped class nor a table.
        DefinitionValueError: it is empty, or a class that shares its table with others.
    """

    def __init__(self, name: str | type[Any] | FromClause, schema: str | None = None) -> None:
        if not isinstance(name, str):
            found = _table_of(name)
            self.schema, self.name = schema or found.schema, found.name
            return
        if not isinstance(schema, str | None):
            raise DefinitionTypeError(f"a schema is named by text, not {schema!r}")
        before, _, after = name.rpartition(".")
        self.schema, self.name = (before or None, after) if schema is None else (schema, name)
        if not self.name:
            raise DefinitionValueError(f"{name!r} names no table; write 'table' or 'schema.table'")

    def clause(self, columns: Sequence[str] = ()) -> TableClause:
        """Return the table with its columns, for use in a statement.

        SQLAlchemy quotes the names.
        """
        return table(self.name, *[column(name) for name in dict.fromkeys(columns)], schema=self.schema)


def _table_of(model: Any) -> TableClause:
    if isinstance(model, TableClause):
        return model
    mapper: Any = inspect(model, raiseerr=False) if isinstance(model, type) else None
    table = getattr(mapper, "local_table", None)
    if mapper is None or not isinstance(table, TableClause):
        raise DefinitionTypeError(f"a table is a str, a mapped class or a Table, not {model!r}")
    if mapper.single:
        raise DefinitionValueError(
            f"{model.__name__} shares the table {table.name!r} with other classes: name the table, and "
            f"select its rows by where="
        )
    return table


def column_names(value: str | Sequence[str] | None, role: str) -> tuple[str, ...] | None:
    """Validate one or several column names, or pass None through.

    Raises:
        DefinitionTypeError: they are not names.
    """
    names = (value,) if isinstance(value, str) else value
    if names is None:
        return None
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise DefinitionTypeError(f"{role}= takes the name of a column, or several, not {value!r}")
    return tuple(names)


def count_rows(reader: Reader, target: Table, where: str, values: Mapping[str, Any]) -> int:
    """Return the number of rows."""
    statement = select(func.count()).select_from(target.clause())
    return int(reader.run(_narrow(statement, where), values).rows[0][0])


def read_rows(
    reader: Reader,
    target: Table,
    key: tuple[str, ...],
    columns: tuple[str, ...] | None,
    where: str,
    values: Mapping[str, Any],
    limit: int,
) -> Rows:
    """Return key → row.

    Raises:
        SqlReadError: there are too many, or two have the same key.
    """
    if columns is None:
        statement = select(text("*")).select_from(target.clause())
    else:
        clause = target.clause((*key, *columns))
        statement = select(*clause.columns)
    result = reader.run(_narrow(statement, where).limit(limit + 1), values)
    _check_size(result.rows, len(columns or result.names), target, limit)
    missing = [name for name in key if name not in result.names]
    if missing:
        raise SqlReadError(f"{target.name} has no column {missing[0]!r} (it has {', '.join(result.names)})")
    key_positions = [result.names.index(name) for name in key]
    positions = [(name, result.names.index(name)) for name in columns or result.names]
    rows: dict[Any, Record] = {}
    for row in result.rows:
        name = row_key([row[position] for position in key_positions])
        if name in rows:
            raise SqlReadError(
                f"two rows of {target.name} have the same {', '.join(key)}; name unique columns in key="
            )
        rows[name] = {column: to_python(row[position]) for column, position in positions}
    return rows


def read_tags(
    reader: Reader,
    target: Table,
    key: tuple[str, ...],
    tags: tuple[str, ...],
    where: str,
    values: Mapping[str, Any],
    limit: int,
) -> list[tuple[Any, ...]]:
    """Return (key, tag) of each row, or (key, tag, root)."""
    clause = target.clause((*key, *tags))
    statement = select(*[clause.columns[name] for name in (*key, *tags)])
    result = reader.run(_narrow(statement, where).limit(limit + 1), values)
    _check_size(result.rows, 0, target, limit)
    return [(row_key(row[: len(key)]), *row[len(key) :]) for row in result.rows]


def read_whole_rows(
    reader: Reader,
    target: Table,
    key: tuple[str, ...],
    tags: tuple[str, ...],
    where: str,
    values: Mapping[str, Any],
    limit: int,
) -> list[tuple[Any, ...]]:
    """Return the tags of each row, followed by the whole row.

    An item is (key, tag, row), or (key, tag, root, row).

    Raises:
        SqlReadError: as `rows_of`, or the table lacks a column that holds a tag.
    """
    rows = read_rows(reader, target, key, None, where, values, limit)
    for row in rows.values():
        missing = [name for name in tags if name not in row]
        if missing:
            raise SqlReadError(f"{target.name} has no column {missing[0]!r} (it has {', '.join(row)})")
        break  # all rows of one answer have the same columns
    return [(name, *(row[tag] for tag in tags), row) for name, row in rows.items()]


def _narrow(statement: Select[Any], where: str) -> Select[Any]:
    return statement.where(text(where)) if where else statement


def _check_size(rows: Sequence[Any], columns: int, target: Table, limit: int) -> None:
    if len(rows) > limit:
        raise SqlReadError(
            f"{target.name} has more than {limit} rows: narrow them by where=, or count them with rows()"
        )
    if len(rows) * (columns + 1) > MAX_NODES:
        raise SqlReadError(
            f"{target.name} has more than {MAX_NODES} values: name fewer columns=, narrow the rows by "
            f"where=, or count them with rows()"
        )
