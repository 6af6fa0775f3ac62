"""Cost of checking a whole database: 100 tables, a million rows.

One row is changed.

Run it with `python benchmarks/sql_database.py [URL ...]`: SQLite in a file, and each database
of the URLs, in which it creates the tables `deltaspan_000` to `deltaspan_099` and drops them.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

from sqlalchemy import Engine, create_engine, insert, table, text
from sqlalchemy import column as named

from deltaspan import unchanged, window
from deltaspan.probes import sql

TABLES = [f"deltaspan_{number:03}" for number in range(100)]
ROWS = 9_990  # a table counts as a row, and there may be a million
COLUMNS = ("id", "customer", "status", "note", "amount")


def fill(engine: Engine) -> None:
    rows = [
        {"id": i, "customer": f"c-{i % 97}", "status": "open", "note": f"note {i} " * 5, "amount": i}
        for i in range(ROWS)
    ]
    with engine.begin() as connection:
        for name in TABLES:
            connection.execute(
                text(
                    f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, customer VARCHAR(20), status VARCHAR(20), "
                    f"note TEXT, amount INTEGER)"
                )
            )
            connection.execute(insert(table(name, *map(named, COLUMNS))), rows)


def drop(engine: Engine) -> None:
    with engine.begin() as connection:
        for name in TABLES:
            connection.execute(text(f"DROP TABLE IF EXISTS {name}"))


def timed(what: str, act: Callable[[], object]) -> None:
    began, worked = perf_counter(), process_time()
    kept = act()
    took, work = perf_counter() - began, process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  {what:<62} {took:>8.2f} s, of CPU here {work:>6.2f} s, peak {peak:>6.0f} MB")
    del kept


def measure(engine: Engine) -> None:
    probe = sql.database(engine)
    timed("database(), first read", probe)
    timed("database(), nothing changed since", probe)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {TABLES[50]} SET status = 'lost' WHERE id = 7"))  # noqa: S608  # ours
    timed("database(), one row changed since", probe)

    def verify() -> None:
        with window("collateral", unchanged("db", probe)) as w, engine.begin() as connection:
            connection.execute(text(f"DELETE FROM {TABLES[3]} WHERE id = 11"))  # noqa: S608  # ours
        print(f"    {w.report['db'].explanation.partition(' (')[0]}")

    timed("a window that claims unchanged(), in which one row is deleted", verify)
    timed("rows() of one table", sql.rows(engine, TABLES[0]))
    timed("records() of one table", sql.records(engine, TABLES[0]))


def main(urls: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for url in [f"sqlite:///{Path(folder, 'bench.sqlite')}", *urls]:
            engine = create_engine(url)
            print(f"{engine.dialect.name}: {len(TABLES)} tables, {len(TABLES) * ROWS} rows")
            drop(engine)
            try:
                fill(engine)
                measure(engine)
            finally:
                drop(engine)
                engine.dispose()


if __name__ == "__main__":
    main(sys.argv[1:])
