"""Reading a whole database of PostgreSQL: digests are made by the server, and only of what may have changed.

A version of a row is known by its place and by the transaction that wrote it, (ctid, xmin). A committed
transaction writes no more, so as long as these are the same in a table, and its definition is, so are its
rows. To compare them the server reads what it must read to count, and nothing is sent. A transaction that is
still writing proves nothing of that: what it truncates twice has other rows in the same places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from sqlalchemy import TextClause, text

from deltaspan.exceptions import ProbeError
from deltaspan.probes._sql._digests import COLUMNS, Budget, Contents, Scope, collected
from deltaspan.probes._sql._parameters import parsed
from deltaspan.probes._sql._readers import SqlReader
from deltaspan.probes._sql._values import key_of

__all__ = ["Kept", "whole_postgresql"]

# Whether what is kept may be taken, the schema, and then: what a row looks like as text must not depend on
# what the action has set on a connection of the pool.
_PINNED: Final = text(
    "SELECT txid_current_if_assigned() IS NULL AND current_setting('transaction_isolation') IN "
    "('repeatable read', 'serializable'), coalesce(CAST(:schema AS text), current_schema()), "
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
    SELECT c.relname, format('%I.%I', n.nspname, c.relname), c.relkind = 'p',
      EXISTS (SELECT FROM pg_partition_tree(c.oid) t JOIN pg_class f ON f.oid = t.relid AND f.relkind = 'f'),
      a.columns,
      ARRAY(SELECT quote_ident(k.attname) FROM pg_index i
            CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS u(attnum, place)
            JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = u.attnum
            WHERE i.indrelid = c.oid AND i.indisprimary AND u.place <= i.indnkeyatts ORDER BY u.place),
      c.oid, pg_relation_filenode(c.oid), a.definition,
      (SELECT md5(string_agg(format('%s %s', oid, enumlabel), ', ' ORDER BY oid)) FROM pg_enum),
      (SELECT md5(string_agg(format('%s %s %s', m.attrelid, m.attnum, m.atttypid), ', '
                             ORDER BY m.attrelid, m.attnum))
       FROM pg_attribute m JOIN pg_class k ON k.oid = m.attrelid AND k.relkind = 'c')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL (
      SELECT coalesce(string_agg(format('%s %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', '
                                 ORDER BY a.attnum), '') AS columns,
        md5(string_agg(format('%s %s %s', a.attnum, a.atttypid, pg_get_expr(d.adbin, d.adrelid)), ', '
                       ORDER BY a.attnum)) AS definition
      FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    ) a
    WHERE n.nspname = :schema AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
      AND NOT (c.relispartition AND EXISTS (SELECT FROM pg_class r WHERE r.oid = pg_partition_root(c.oid)
                                            AND r.relnamespace = c.relnamespace))
    ORDER BY c.relname
    """
)

_VERSIONS: Final = "sum(hashtextextended(concat(r.tableoid, r.ctid, r.xmin), 0))"

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
        foreign: whether some of its rows are elsewhere, and their versions unknown.
        columns: in words.
        key: the columns of its primary key, quoted.
        fingerprint: what tells its definition and place; later its rows too.
    """

    name: str
    of: str
    foreign: bool
    columns: str
    key: tuple[str, ...]
    fingerprint: tuple[Any, ...]


def whole_postgresql(reader: SqlReader, scope: Scope, kept: Kept) -> Contents:
    """Read the tables that may have changed since the last time; take the others from what is kept."""
    settled, schema = reader.run(_PINNED, {"schema": scope.schema}).rows[0][:2]
    if schema is None:
        raise ProbeError(
            "the connection has no schema, its search_path names none that is there: name schema="
        )
    budget = Budget(scope.limit)
    now = _counted(reader, _tables(reader, scope, schema), budget)
    # A thread that reads meanwhile replaces all of it, and so do we: each finds what one read has left.
    before = kept.contents if settled else {}
    after: dict[str, tuple[tuple[Any, ...], dict[Any, Any]]] = {}
    for table, fingerprint in now:
        last = before.get(table.name)
        if last is None or last[0] != fingerprint:
            last = fingerprint, _rows(reader, table)
        after[table.name] = last
    if settled:
        kept.contents = after
    return {name: rows for name, (_, rows) in after.items()}


def _tables(reader: SqlReader, scope: Scope, schema: str) -> list[_Table]:
    found = []
    listed = reader.run(_TABLES, {"schema": schema}).rows
    for name, place, parted, foreign, columns, key, *definition in listed:
        if scope.takes(name):
            own = place if parted else f"ONLY {place}"  # the rows of a table that inherits are its own
            told = (columns, tuple(key), *definition)
            found.append(_Table(name, own, foreign, columns, tuple(key), told))
    return found


def _counted(
    reader: SqlReader, tables: Sequence[_Table], budget: Budget
) -> Iterable[tuple[_Table, tuple[Any, ...]]]:
    """Return each table with the fingerprint of its rows too."""
    waiting = iter(tables)
    found = []
    while some := list(islice(waiting, _AT_ONCE)):
        asked = " UNION ALL ".join(
            f"SELECT {number}, count(*), {'NULL' if table.foreign else _VERSIONS} FROM {table.of} AS r"  # noqa: S608  # all quoted
            for number, table in enumerate(some)
        )
        for number, rows, told in reader.run(_escaped(asked), {}).rows:
            table = some[number]
            budget.spend(table.name, 1 + int(rows))
            versions = object() if table.foreign else told  # an object is like no other, so it is read again
            found.append((table, (*table.fingerprint, rows, versions)))
    budget.check()
    return found


def _rows(reader: SqlReader, table: _Table) -> dict[Any, Any]:
    key = "".join(f"deltaspan_row.{name}, " for name in table.key)
    statement = f"SELECT {key}md5(deltaspan_row.*::text) FROM {table.of} AS deltaspan_row"  # noqa: S608  # all quoted
    return collected(
        reader.stream(_escaped(statement)),
        lambda row: (key_of(row[:-1]), row[-1]),
        {COLUMNS: table.columns},
        keyed=bool(table.key),
    )


def _escaped(sql: str) -> TextClause:
    return text(parsed(sql)[0])
