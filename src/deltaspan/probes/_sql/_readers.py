"""Run statements over a connection of SQLAlchemy or of a driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.sql import Executable

from deltaspan.probes._sql._drivers import DBAPIConnection, dialect_of

__all__ = ["CursorReader", "Reader", "Result", "SqlReadError", "SqlReader"]


class SqlReadError(Exception):
    """A database answered, but its answer cannot be the state."""


@dataclass(frozen=True, slots=True)
class Result:
    """The rows and column names that a statement returned.

    Attributes:
        names: its columns.
        rows: its rows, one tuple each.
    """

    names: tuple[str, ...]
    rows: Sequence[Sequence[Any]]


class Reader(Protocol):
    """Runs statements on one connection."""

    def run(self, statement: Executable, values: Mapping[str, Any]) -> Result: ...
    def primary_key(self, table: str, schema: str | None) -> tuple[str, ...]: ...


class SqlReader:
    """Reads over a connection of SQLAlchemy.

    Args:
        connection: an open connection. Its opener ends its transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def run(self, statement: Executable, values: Mapping[str, Any]) -> Result:
        """Run a statement and fetch all rows."""
        result = self.connection.execute(statement, dict(values))
        return Result(tuple(result.keys()), result.all())

    def stream(self, statement: Executable) -> Iterator[Sequence[Sequence[Any]]]:
        """Run a statement without parameters, and yield its rows in batches."""
        options = {"stream_results": True, "yield_per": 2000}
        yield from self.connection.execute(statement, execution_options=options).partitions()

    def primary_key(self, table: str, schema: str | None) -> tuple[str, ...]:
        """Return the primary key columns of a table.

        The tuple is empty if the table has no primary key.

        Raises:
            SqlReadError: the table does not exist.
        """
        try:
            return tuple(inspect(self.connection).get_pk_constraint(table, schema)["constrained_columns"])
        except NoSuchTableError:
            pass
        raise SqlReadError(f"there is no table {table!r}" + (f" in the schema {schema!r}" if schema else ""))


class CursorReader:
    """Reads over a connection of a driver.

    Args:
        connection: a connection after PEP 249.
    """

    def __init__(self, connection: DBAPIConnection) -> None:
        self._connection = connection
        self._dialect = dialect_of(connection)

    def run(self, statement: Executable, values: Mapping[str, Any]) -> Result:
        """Run a statement and fetch all rows as tuples."""
        compiled: Any = statement.compile(  # type: ignore[attr-defined]  # every statement of the probes has it
            dialect=self._dialect, compile_kwargs={"render_postcompile": True}
        )
        named_values = compiled.construct_params(dict(values))
        values_in_order = (
            [named_values[name] for name in compiled.positiontup] if compiled.positional else named_values
        )
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(compiled.string, values_in_order)
            names = tuple(str(column[0]) for column in cursor.description or ())
            return Result(names, [_as_tuple(row) for row in cursor.fetchall()])

    def primary_key(self, table: str, schema: str | None) -> tuple[str, ...]:  # noqa: ARG002  # see Reader
        """Raise, because PEP 249 has no way to ask for a primary key.

        Raises:
            SqlReadError: always.
        """
        raise SqlReadError(
            f"a connection of this driver cannot list the primary key of {table!r}; name it in key="
        )


def _as_tuple(row: Any) -> tuple[Any, ...]:
    return tuple(row.values() if isinstance(row, Mapping) else row)
