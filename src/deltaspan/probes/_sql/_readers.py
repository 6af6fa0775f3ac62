"""Run statements over a connection of SQLAlchemy or of a driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, String, inspect
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.sql import Executable
from sqlalchemy.types import NullType

from deltaspan.probes._sql._conversion import check_warnings, converts, with_plain_numbers
from deltaspan.probes._sql._drivers import DBAPIConnection, dialect_of


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
        """Run a statement and fetch all rows.

        Raises:
            SqlReadError: the database compared a text with a number.
        """
        dialect = self.connection.dialect
        bound = _bound_values(statement, values, dialect)
        result = self.connection.execute(statement, bound)
        found = Result(tuple(result.keys()), result.all())
        if converts(dialect) and any(isinstance(value, str) for value in bound.values()):
            with self.connection.exec_driver_sql("SHOW WARNINGS") as warnings:
                _check(warnings.all(), bound)
        return found

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
        """Run a statement and fetch all rows as tuples.

        Raises:
            SqlReadError: the database compared a text with a number.
        """
        values = _bound_values(statement, values, self._dialect)
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
            found = Result(names, [_as_tuple(row) for row in cursor.fetchall()])
            if converts(self._dialect) and any(isinstance(value, str) for value in values.values()):
                cursor.execute("SHOW WARNINGS")
                _check([_as_tuple(row) for row in cursor.fetchall()], values)
            return found

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


def _bound_values(statement: Executable, values: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Return the values as the database must compare them."""
    if not values or not converts(dialect):
        return dict(values)
    compiled: Any = statement.compile(dialect=dialect)  # type: ignore[attr-defined]  # as above
    # A column of a select() gives its parameter a type. Only text is compared with a number by mistake.
    is_text = {name: isinstance(bound.type, String | NullType) for name, bound in compiled.binds.items()}
    texts = {name: value for name, value in values.items() if is_text.get(name, True)}
    return {**values, **with_plain_numbers(compiled.string, texts)}


def _check(warnings: Sequence[Sequence[Any]], values: Mapping[str, Any]) -> None:
    problem = check_warnings(warnings, values)
    if problem is not None:
        raise SqlReadError(problem)
