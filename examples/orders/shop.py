"""A shared SQLite table whose rows have the tag of their last writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def open_shop() -> Iterator[str]:
    """Yield the path of a database with two orders of others.

    One is by another agent, one is from before there were tags.
    """
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "shop.sqlite")
        write(path, "CREATE TABLE orders (id INTEGER PRIMARY KEY, tenant TEXT, item TEXT, causal_tag TEXT)")
        write(path, "INSERT INTO orders VALUES (1, 'acme', 'ink', 'of another agent')")
        write(path, "INSERT INTO orders VALUES (2, 'acme', 'paper', NULL)")
        yield path


def write(path: str, statement: str, *values: object) -> None:
    """Run one statement and commit it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)
