"""Reading a whole database of PostgreSQL: digests are made by the server, and only of what may have changed.

A version of a row is known by its place and by the transaction that wrote it, (ctid, xmin). A committed
transaction writes no more, so as long as these are the same in a table, and its definition is, so are its
rows. To compare them the server reads what it must read to count, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from sqlalchemy import TextClause, text

from deltaspan.probes._sql._readers import SqlReader
from deltaspan.probes._sql._text import parsed
from deltaspan.probes._sql._values import key_of
from deltaspan.probes._sql._whole import COLUMNS, Budget, Contents, Scope, collected

__all__ = ["Kept", "whole_postgresql"]

# What a row looks like as text must not depend on what the action has set on a connection of the pool.
_PINNED: Final = text(
    "SELECT "
    + ", ".join(
        f"set_config('{name}', '{value}', true)"
        for name, value in {
            "TimeZone": "UTC",
            "DateStyle": "ISO",
            "IntervalStyle": "iso_8601",
            "bytea_output": "hex",
            "extra_float_digits": "1",
        }.items()
    )
)

_TABLES: Final = text(
    """
    SELECT c.relname, format('%I.%I', n.nspname, c.relname), c.relkind = 'p', c.oid,
      pg_relation_filenode(c.oid), a.columns, a.definition,
      ARRAY(SELECT quote_ident(k.attname) FROM pg_index i
            CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS u(attnum, place)
            JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = u.attnum
            WHERE i.indrelid = c.oid AND i.indisprimary ORDER BY u.place)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL (
      SELECT coalesce(string_agg(format('%s %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', '
                                 ORDER BY a.attnum), '') AS columns,
        md5(string_agg(format('%s %s %s', a.attnum, a.atttypid, pg_get_expr(d.adbin, d.adrelid)), ', '
                       ORDER BY a.attnum)) AS definition
      FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    ) a
    WHERE n.nspname = coalesce(CAST(:schema AS text), current_schema())
      AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
    ORDER BY c.relname
    """
)

_AT_ONCE: Final = 200
"""How many tables are asked for in one statement."""


@dataclass(slots=True)
class Kept:
    """What was read last, for whoever reads next.

    Attributes:
        contents: table → what told that it was as it was, and its rows.
    """

    contents: dict[str, tuple[tuple[Any, ...], dict[Any, Any]]]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table.

    Attributes:
        name: its name.
        of: how a statement names it, without the tables that inherit from it.
        columns: in words.
        key: the columns of its primary key, quoted.
        fingerprint: what tells its definition and place; later its rows too.
    """

    name: str
    of: str
    columns: str
    key: tuple[str, ...]
    fingerprint: tuple[Any, ...]


def whole_postgresql(reader: SqlReader, scope: Scope, kept: Kept) -> Contents:
    """Read the tables that may have changed since the last time; take the others from what is kept."""
    reader.run(_PINNED, {})
    budget = Budget(scope.limit)
    now = _counted(reader, _tables(reader, scope), budget)
    # A thread that reads meanwhile replaces all of it, and so do we: each finds what one read has left.
    before = kept.contents
    after: dict[str, tuple[tuple[Any, ...], dict[Any, Any]]] = {}
    for table, fingerprint in now:
        last = before.get(table.name)
        if last is None or last[0] != fingerprint:
            last = fingerprint, _rows(reader, table)
        after[table.name] = last
    kept.contents = after
    return {name: rows for name, (_, rows) in after.items()}


def _tables(reader: SqlReader, scope: Scope) -> list[_Table]:
    found = []
    listed = reader.run(_TABLES, {"schema": scope.schema}).rows
    for name, place, parted, oid, file, columns, definition, key in listed:
        if scope.takes(name):
            own = place if parted else f"ONLY {place}"  # the rows of a table that inherits are its own
            found.append(_Table(name, own, columns, tuple(key), (oid, file, definition)))
    return found


def _counted(
    reader: SqlReader, tables: Sequence[_Table], budget: Budget
) -> Iterable[tuple[_Table, tuple[Any, ...]]]:
    """Return each table with the fingerprint of its rows too."""
    waiting = iter(tables)
    found = []
    while some := list(islice(waiting, _AT_ONCE)):
        asked = " UNION ALL ".join(
            f"SELECT {number}, count(*), "  # noqa: S608  # all quoted
            "sum(hashtextextended(concat(r.tableoid, r.ctid, r.xmin), 0)) "
            f"FROM {table.of} AS r"
            for number, table in enumerate(some)
        )
        for number, rows, told in reader.run(_escaped(asked), {}).rows:
            table = some[number]
            budget.spend(table.name, 1 + int(rows))
            found.append((table, (*table.fingerprint, rows, told)))
    budget.check()
    return found


def _rows(reader: SqlReader, table: _Table) -> dict[Any, Any]:
    key = "".join(f"deltaspan_row.{name}, " for name in table.key)
    statement = f"SELECT {key}md5(deltaspan_row::text) FROM {table.of} AS deltaspan_row"  # noqa: S608  # all quoted
    return collected(
        reader.stream(_escaped(statement)),
        lambda row: (key_of(row[:-1]), row[-1]),
        {COLUMNS: table.columns},
        keyed=bool(table.key),
    )


def _escaped(sql: str) -> TextClause:
    return text(parsed(sql)[0])
