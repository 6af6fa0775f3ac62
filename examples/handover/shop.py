"""The SQLite state, and the checks that both ends of the window use."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from deltaspan import change, unchanged

WINDOW = "restock"


def create(database: str) -> None:
    """Create a shop with one order and one customer."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executescript(
            "DROP TABLE IF EXISTS orders; DROP TABLE IF EXISTS customers;"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, causal_tag TEXT);"
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
            "INSERT INTO orders (item) VALUES ('ink');"
            "INSERT INTO customers (name) VALUES ('Ada');"
        )


def count_orders(database: str) -> int:
    """Count the orders."""
    with closing(sqlite3.connect(database)) as connection:
        return int(connection.execute("SELECT count(*) FROM orders").fetchone()[0])


def read_customers(database: str) -> dict[int, str]:
    """Read all customers, by id."""
    with closing(sqlite3.connect(database)) as connection:
        return dict(connection.execute("SELECT id, name FROM customers"))


CHECKS = (
    # `result` is the claim of the worker. It is compared with the state.
    change("orders", count_orders).by(lambda result: result["placed"]),
    unchanged("customers", read_customers),
)
