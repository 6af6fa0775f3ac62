"""Read a whole database on any dialect: digest every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

from sqlalchemy import ColumnElement, column, inspect, literal_column, select, table
from sqlalchemy.dialects.mysql import FLOAT
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import CompileError
from sqlalchemy.types import TypeEngine

from deltaspan.probes._sql._readers import SqlReader, SqlReadError
from deltaspan.probes._sql._values import row_digest, row_key

Contents: TypeAlias = dict[str, dict[Any, Any]]
"""Table → key → digest of the row; without a primary key, digest → how many such rows."""

COLUMNS: Final = "(columns)"
"""The key of a table's columns, so that an empty table is seen too."""


@dataclass(frozen=True, slots=True)
class TableSelection:
    """The tables of a database that are read.

    Attributes:
        schema: the schema; None for the connection's own.
        exclude: patterns of tables that are not read.
        limit: the most rows. Each table counts as one row too.
    """

    schema: str | None
    exclude: tuple[str, ...]
    limit: int

    def takes(self, name: str) -> bool:
        """Return whether a table is selected."""
        return not any(fnmatchcase(name, pattern) for pattern in self.exclude)


@dataclass(slots=True)
class RowBudget:
    """The number of rows read so far, by table, and its limit.

    Attributes:
        limit: the most rows.
        spent: table → rows read so far.
    """

    limit: int
    spent: dict[str, int] = field(default_factory=dict)

    def count_batches(self, name: str, batches: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        """Count a table, and its rows as they arrive."""
        self.spend(name, 1)
        for batch in batches:
            self.spend(name, len(batch))
            self.check()
            yield batch

    def spend(self, name: str, rows: int) -> None:
        """Add rows that were read, or that are about to be read."""
        self.spent[name] = self.spent.get(name, 0) + rows

    def check(self) -> None:
        """Raise if the limit is exceeded.

        Raises:
            SqlReadError: more has been noted.
        """
        if sum(self.spent.values()) > self.limit:
            largest = max(self.spent, key=self.spent.__getitem__)
            raise SqlReadError(
                f"there are more than {self.limit} rows, most of them in {largest!r}: leave that out, "
                f"exclude=[{largest!r}], and count its rows with rows()"
            )


def read_tables(reader: SqlReader, selection: TableSelection) -> Contents:
    """Read every table, row by row."""
    inspector = inspect(reader.connection)
    names = sorted(name for name in inspector.get_table_names(selection.schema) if selection.takes(name))
    if not names:
        return {}
    columns = inspector.get_multi_columns(selection.schema, filter_names=names)
    keys = inspector.get_multi_pk_constraint(selection.schema, filter_names=names)
    budget = RowBudget(selection.limit)
    contents: Contents = {}
    for name in names:
        types = {str(info["name"]): info["type"] for info in columns[selection.schema, name]}
        order = list(types)
        places = [order.index(part) for part in keys[selection.schema, name]["constrained_columns"]]
        clause = table(name, *map(column, order), schema=selection.schema)
        dialect = reader.connection.dialect
        expressions = [_exact(clause.c[part], kind, dialect) for part, kind in types.items()]
        description = ", ".join(f"{part} {_type_of(kind, dialect)}" for part, kind in types.items())
        contents[name] = collect_rows(
            budget.count_batches(name, reader.stream(select(*expressions))),
            lambda row, places=places: (row_key([row[place] for place in places]), row_digest(row)),  # type: ignore[misc]
            {COLUMNS: description},
            has_key=bool(places),
        )
    return contents


def collect_rows(
    batches: Iterable[Sequence[Any]],
    key_and_digest: Callable[[Any], tuple[Any, str]],
    rows: dict[Any, Any],
    *,
    has_key: bool,
) -> dict[Any, Any]:
    """Collect the rows of a table.

    Args:
        batches: its rows, some at a time.
        key_and_digest: takes a row, and returns its key and its digest.
        rows: receives the rows, and is returned.
        has_key: whether there is a primary key.
    """
    for batch in batches:
        for row in batch:
            key, digest = key_and_digest(row)
            if not has_key:
                rows[digest] = rows.get(digest, 0) + 1
            elif key in rows:  # SQLite accepts several NULL keys
                rows[key] = " ".join(sorted([*rows[key].split(), digest]))
            else:
                rows[key] = digest
    return rows


def _exact(column: ColumnElement[Any], kind: TypeEngine[Any], dialect: Dialect) -> ColumnElement[Any]:
    """Return a column expression that loses no digits.

    MySQL rounds a FLOAT to six digits, unless it is part of a calculation.
    """
    rounded = dialect.name in {"mysql", "mariadb"} and isinstance(kind, FLOAT)
    return column * literal_column("1e0") if rounded else column


def _type_of(kind: TypeEngine[Any], dialect: Dialect) -> str:
    try:
        return kind.compile(dialect)
    except CompileError:  # a type that SQLAlchemy does not know
        return "?"
