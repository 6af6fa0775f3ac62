"""Reading tables: how many rows, which rows, and which rows are whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import column, func, inspect, select, table, text
from sqlalchemy.sql import FromClause, TableClause
from sqlalchemy.sql.selectable import Select

from deltaspan._state.snapshot import MAX_NODES
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes._sql._readers import Reader
from deltaspan.probes._sql._values import key_of, plain

__all__ = ["Record", "Rows", "Table", "count", "names_of", "rows_of", "tags_of", "whole_rows_of"]

Record: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Mapping[Any, Record]


class Table:
    """A table, as the developer names it.

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
            raise DefinitionValueError(f"{name!r} names no table")

    def clause(self, columns: Sequence[str] = ()) -> TableClause:
        """Return the table with columns, for a statement; SQLAlchemy quotes what needs it."""
        return table(self.name, *[column(name) for name in dict.fromkeys(columns)], schema=self.schema)


def _table_of(named: Any) -> TableClause:
    if isinstance(named, TableClause):
        return named
    mapper: Any = inspect(named, raiseerr=False) if isinstance(named, type) else None
    table = getattr(mapper, "local_table", None)
    if mapper is None or not isinstance(table, TableClause):
        raise DefinitionTypeError(
            f"a table is named by text, or by a class that is mapped to one, not {named!r}"
        )
    if mapper.single:
        raise DefinitionValueError(
            f"{named.__name__} shares the table {table.name!r} with other classes: name the table, and say "
            f"by where= which rows are meant"
        )
    return table


def names_of(value: str | Sequence[str] | None, role: str) -> tuple[str, ...] | None:
    """Return the names of columns, of which one may come bare; None for None.

    Raises:
        DefinitionTypeError: they are no names.
    """
    names = (value,) if isinstance(value, str) else value
    if names is None:
        return None
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise DefinitionTypeError(f"{role}= takes the name of a column, or several, not {value!r}")
    return tuple(names)


def count(reader: Reader, of: Table, where: str, values: Mapping[str, Any]) -> int:
    """Return how many rows there are."""
    statement = select(func.count()).select_from(of.clause())
    return int(reader.run(_narrowed(statement, where), values).rows[0][0])


def rows_of(
    reader: Reader,
    of: Table,
    key: tuple[str, ...],
    columns: tuple[str, ...] | None,
    where: str,
    values: Mapping[str, Any],
    limit: int,
) -> Rows:
    """Return key → row.

    Raises:
        ProbeError: there are too many, or two have the same key.
    """
    if columns is None:
        statement = select(text("*")).select_from(of.clause())
    else:
        clause = of.clause((*key, *columns))
        statement = select(*clause.columns)
    result = reader.run(_narrowed(statement, where).limit(limit + 1), values)
    _check_size(result.rows, len(columns or result.names), of, limit)
    missing = [name for name in key if name not in result.names]
    if missing:
        raise ProbeError(f"{of.name} has no column {missing[0]!r} (it has {', '.join(result.names)})")
    places = [result.names.index(name) for name in key]
    shown = [(name, result.names.index(name)) for name in columns or result.names]
    found: dict[Any, Record] = {}
    for row in result.rows:
        name = key_of([row[place] for place in places])
        if name in found:
            raise ProbeError(
                f"two rows of {of.name} have the same {', '.join(key)}: let key= name what is unique"
            )
        found[name] = {column: plain(row[place]) for column, place in shown}
    return found


def tags_of(
    reader: Reader,
    of: Table,
    key: tuple[str, ...],
    tags: tuple[str, ...],
    where: str,
    values: Mapping[str, Any],
    limit: int,
) -> list[tuple[Any, ...]]:
    """Return (key, tag) of each row, or (key, tag, root)."""
    clause = of.clause((*key, *tags))
    statement = select(*[clause.columns[name] for name in (*key, *tags)])
    result = reader.run(_narrowed(statement, where).limit(limit + 1), values)
    _check_size(result.rows, 0, of, limit)
    return [(key_of(row[: len(key)]), *row[len(key) :]) for row in result.rows]


def whole_rows_of(
    reader: Reader,
    of: Table,
    key: tuple[str, ...],
    tags: tuple[str, ...],
    where: str,
    values: Mapping[str, Any],
    limit: int,
) -> list[tuple[Any, ...]]:
    """Return the same with the whole row behind: (key, tag, row), or (key, tag, root, row).

    Raises:
        ProbeError: as `rows_of`, or the table lacks a column that holds a tag.
    """
    rows = rows_of(reader, of, key, None, where, values, limit)
    for row in rows.values():
        missing = [name for name in tags if name not in row]
        if missing:
            raise ProbeError(f"{of.name} has no column {missing[0]!r} (it has {', '.join(row)})")
        break  # all rows of one answer have the same columns
    return [(name, *(row[tag] for tag in tags), row) for name, row in rows.items()]


def _narrowed(statement: Select[Any], where: str) -> Select[Any]:
    return statement.where(text(where)) if where else statement


def _check_size(rows: Sequence[Any], columns: int, of: Table, limit: int) -> None:
    if len(rows) > limit:
        raise ProbeError(
            f"{of.name} has more than {limit} rows: narrow them by where=, or count them with rows()"
        )
    if len(rows) * (columns + 1) > MAX_NODES:
        raise ProbeError(
            f"{of.name} has more than {MAX_NODES} values: name fewer columns=, narrow the rows by where=, or "
            f"count them with rows()"
        )
