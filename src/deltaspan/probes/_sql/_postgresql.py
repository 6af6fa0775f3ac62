"""Read a whole PostgreSQL database: the server digests the tables that may have changed.

The version of a row is its place and the transaction that wrote it, (ctid, xmin). A committed transaction
writes no more. So the rows of a table have not changed if these versions and the definition of the table have
not changed. To compare versions, the server scans the table as for a count, and sends no rows. Versions prove
nothing while the reading transaction itself still writes: if it truncates a table twice, other rows may get
the same versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from sqlalchemy import TextClause, text

from deltaspan.probes._sql._digests import COLUMNS, Contents, RowBudget, TableSelection, collect_rows
from deltaspan.probes._sql._parameters import parse_parameters
from deltaspan.probes._sql._readers import SqlReader, SqlReadError
from deltaspan.probes._sql._values import row_key

# Returns whether the cache may be used, and the schema. It also pins the settings that determine the text
# of a row, since the action may have changed them on a connection of the pool.
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

_BATCH_SIZE: Final = 200
"""The most tables in one statement."""


@dataclass(slots=True)
class DigestCache:
    """The digests of the last read, kept for the next one.

    Attributes:
        contents: table → the fingerprint of its rows, and the rows.
    """

    contents: dict[str, tuple[tuple[Any, ...], dict[Any, Any]]]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table, and the fingerprint of its definition.

    Attributes:
        name: its name.
        source_name: its source in a statement, without the tables that inherit from it.
        is_foreign: whether some rows are foreign, so that their versions are unknown.
        columns: the description of its columns.
        key: the quoted columns of its primary key.
        fingerprint: values that change with its definition or storage.
    """

    name: str
    source_name: str
    is_foreign: bool
    columns: str
    key: tuple[str, ...]
    fingerprint: tuple[Any, ...]


def read_postgresql(reader: SqlReader, selection: TableSelection, cache: DigestCache) -> Contents:
    """Read the tables that may have changed, and take the others from the cache."""
    is_settled, schema = reader.run(_PINNED, {"schema": selection.schema}).rows[0][:2]
    if schema is None:
        raise SqlReadError(
            "the connection has no schema: its search_path names no existing schema; write schema="
        )
    budget = RowBudget(selection.limit)
    now = _with_row_versions(reader, _tables(reader, selection, schema), budget)
    # Threads replace the contents as a whole, so each finds the complete result of one read.
    before = cache.contents if is_settled else {}
    after: dict[str, tuple[tuple[Any, ...], dict[Any, Any]]] = {}
    for table, fingerprint in now:
        last = before.get(table.name)
        if last is None or last[0] != fingerprint:
            last = fingerprint, _rows(reader, table)
        after[table.name] = last
    if is_settled:
        cache.contents = after
    return {name: rows for name, (_, rows) in after.items()}


def _tables(reader: SqlReader, selection: TableSelection, schema: str) -> list[_Table]:
    tables = []
    listed = reader.run(_TABLES, {"schema": schema}).rows
    for name, qualified_name, is_partitioned, is_foreign, columns, key, *definition in listed:
        if selection.takes(name):
            # ONLY, since the rows of an inheriting table belong to that table.
            source_name = qualified_name if is_partitioned else f"ONLY {qualified_name}"
            fingerprint = (columns, tuple(key), *definition)
            tables.append(_Table(name, source_name, is_foreign, columns, tuple(key), fingerprint))
    return tables


def _with_row_versions(
    reader: SqlReader, tables: Sequence[_Table], budget: RowBudget
) -> Iterable[tuple[_Table, tuple[Any, ...]]]:
    """Return each table with a fingerprint of its rows."""
    remaining = iter(tables)
    fingerprints = []
    while batch := list(islice(remaining, _BATCH_SIZE)):
        statement = " UNION ALL ".join(
            f"SELECT {number}, count(*), {'NULL' if table.is_foreign else _VERSIONS} "  # noqa: S608  # all quoted
            f"FROM {table.source_name} AS r"
            for number, table in enumerate(batch)
        )
        for number, rows, versions in reader.run(_escaped(statement), {}).rows:
            table = batch[number]
            budget.spend(table.name, 1 + int(rows))
            # A new object equals no other, so a foreign table is read again.
            row_versions = object() if table.is_foreign else versions
            fingerprints.append((table, (*table.fingerprint, rows, row_versions)))
    budget.check()
    return fingerprints


def _rows(reader: SqlReader, table: _Table) -> dict[Any, Any]:
    key = "".join(f"deltaspan_row.{name}, " for name in table.key)
    statement = f"SELECT {key}md5(deltaspan_row.*::text) FROM {table.source_name} AS deltaspan_row"  # noqa: S608  # all quoted
    return collect_rows(
        reader.stream(_escaped(statement)),
        lambda row: (row_key(row[:-1]), row[-1]),
        {COLUMNS: table.columns},
        has_key=bool(table.key),
    )


def _escaped(sql: str) -> TextClause:
    return text(parse_parameters(sql)[0])
