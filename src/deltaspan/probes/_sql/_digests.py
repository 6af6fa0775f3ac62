"""Reading a whole database, in the way that every database takes: each row is read, and its digest kept."""

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

from deltaspan.exceptions import ProbeError
from deltaspan.probes._sql._readers import SqlReader
from deltaspan.probes._sql._values import digest_of, key_of

__all__ = ["COLUMNS", "Budget", "Contents", "Scope", "collected", "whole"]

Contents: TypeAlias = dict[str, dict[Any, Any]]
"""Table → key → digest of the row; without a primary key, digest → how many such rows."""

COLUMNS: Final = "(columns)"
"""The key under which a table has its columns, so that an empty one shows too."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What of a database is read.

    Attributes:
        schema: the schema; None for the connection's own.
        exclude: tables to leave out, as patterns.
        limit: how many rows there may be, a table counted as one too.
    """

    schema: str | None
    exclude: tuple[str, ...]
    limit: int

    def takes(self, name: str) -> bool:
        """Return whether a table is read."""
        return not any(fnmatchcase(name, pattern) for pattern in self.exclude)


@dataclass(slots=True)
class Budget:
    """How much has been read, by table.

    Attributes:
        limit: how much may be.
        spent: table → rows.
    """

    limit: int
    spent: dict[str, int] = field(default_factory=dict)

    def counted(self, name: str, batches: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        """Count a table, and its rows as they come."""
        self.spend(name, 1)
        for batch in batches:
            self.spend(name, len(batch))
            self.check()
            yield batch

    def spend(self, name: str, rows: int) -> None:
        """Note rows that were read, or are about to be."""
        self.spent[name] = self.spent.get(name, 0) + rows

    def check(self) -> None:
        """Refuse to go on beyond the limit.

        Raises:
            ProbeError: more has been noted.
        """
        if sum(self.spent.values()) > self.limit:
            largest = max(self.spent, key=self.spent.__getitem__)
            raise ProbeError(
                f"there are more than {self.limit} rows, most of them in {largest!r}: leave that out, "
                f"exclude=[{largest!r}], and count its rows with rows()"
            )


def whole(reader: SqlReader, scope: Scope) -> Contents:
    """Read every table, row by row."""
    asked = inspect(reader.connection)
    names = sorted(name for name in asked.get_table_names(scope.schema) if scope.takes(name))
    if not names:
        return {}
    columns = asked.get_multi_columns(scope.schema, filter_names=names)
    keys = asked.get_multi_pk_constraint(scope.schema, filter_names=names)
    budget = Budget(scope.limit)
    found: Contents = {}
    for name in names:
        own = {str(each["name"]): each["type"] for each in columns[scope.schema, name]}
        order = list(own)
        places = [order.index(each) for each in keys[scope.schema, name]["constrained_columns"]]
        clause = table(name, *[column(each) for each in order], schema=scope.schema)
        shown = [_exact(clause.c[each], kind, reader.connection.dialect) for each, kind in own.items()]
        said = ", ".join(f"{each} {_type_of(kind, reader.connection.dialect)}" for each, kind in own.items())
        found[name] = collected(
            budget.counted(name, reader.stream(select(*shown))),
            lambda row, places=places: (key_of([row[place] for place in places]), digest_of(row)),  # type: ignore[misc]
            {COLUMNS: said},
            keyed=bool(places),
        )
    return found


def collected(
    batches: Iterable[Sequence[Any]],
    told: Callable[[Any], tuple[Any, str]],
    rows: dict[Any, Any],
    *,
    keyed: bool,
) -> dict[Any, Any]:
    """Collect the rows of a table.

    Args:
        batches: its rows, some at a time.
        told: takes a row, and returns its key and its digest.
        rows: takes them, and is returned.
        keyed: whether there is a primary key.
    """
    for batch in batches:
        for row in batch:
            key, digest = told(row)
            if not keyed:
                rows[digest] = rows.get(digest, 0) + 1
            elif key in rows:  # SQLite takes NULL in a key, again and again
                rows[key] = " ".join(sorted([*rows[key].split(), digest]))
            else:
                rows[key] = digest
    return rows


def _exact(each: ColumnElement[Any], kind: TypeEngine[Any], dialect: Dialect) -> ColumnElement[Any]:
    """Return how to ask for a column: MySQL rounds a FLOAT to six digits where it is not calculated with."""
    rounded = dialect.name in {"mysql", "mariadb"} and isinstance(kind, FLOAT)
    return each * literal_column("1e0") if rounded else each


def _type_of(kind: TypeEngine[Any], dialect: Dialect) -> str:
    try:
        return kind.compile(dialect)
    except CompileError:  # a type that SQLAlchemy does not know
        return "?"
