"""Running a statement and taking its rows, over a connection of SQLAlchemy or of a driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.sql import Executable

from deltaspan.exceptions import ProbeError
from deltaspan.probes._sql._drivers import DBAPIConnection, dialect_of

__all__ = ["CursorReader", "Reader", "Result", "SqlReader"]


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement returned.

    Attributes:
        names: its columns.
        rows: a tuple each.
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
        connection: ready to read; whoever opened it ends its transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def run(self, statement: Executable, values: Mapping[str, Any]) -> Result:
        """Run a statement and take all of its rows."""
        result = self.connection.execute(statement, dict(values))
        return Result(tuple(result.keys()), result.all())

    def stream(self, statement: Executable) -> Iterator[Sequence[Sequence[Any]]]:
        """Run a statement without parameters, and take its rows a few at a time."""
        options = {"stream_results": True, "yield_per": 2000}
        yield from self.connection.execute(statement, execution_options=options).partitions()

    def primary_key(self, table: str, schema: str | None) -> tuple[str, ...]:
        """Return the columns of the primary key of a table; none if it has none.

        Raises:
            ProbeError: there is no such table.
        """
        try:
            return tuple(inspect(self.connection).get_pk_constraint(table, schema)["constrained_columns"])
        except NoSuchTableError:
            pass
        raise ProbeError(f"there is no table {table!r}" + (f" in the schema {schema!r}" if schema else ""))


class CursorReader:
    """Reads over a connection of a driver.

    Args:
        connection: a connection after PEP 249.
    """

    def __init__(self, connection: DBAPIConnection) -> None:
        self._connection = connection
        self._dialect = dialect_of(connection)

    def run(self, statement: Executable, values: Mapping[str, Any]) -> Result:
        """Run a statement and take all of its rows, as tuples."""
        compiled: Any = statement.compile(  # type: ignore[attr-defined]  # every statement that we make has it
            dialect=self._dialect, compile_kwargs={"render_postcompile": True}
        )
        named = compiled.construct_params(dict(values))
        given = [named[name] for name in compiled.positiontup] if compiled.positional else named
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(compiled.string, given)
            names = tuple(str(column[0]) for column in cursor.description or ())
            return Result(names, [_as_tuple(row) for row in cursor.fetchall()])

    def primary_key(self, table: str, schema: str | None) -> tuple[str, ...]:  # noqa: ARG002  # see Reader
        """Refuse: PEP 249 has no way to ask.

        Raises:
            ProbeError: always.
        """
        raise ProbeError(
            f"a connection of this driver does not tell the primary key of {table!r}: name it, key=..."
        )


def _as_tuple(row: Any) -> tuple[Any, ...]:
    return tuple(row.values() if isinstance(row, Mapping) else row)
