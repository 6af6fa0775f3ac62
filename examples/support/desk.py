"""The support desk's database, in a schema of its own, and what each tool may change in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, create_engine, text

from deltaspan import change, unchanged
from deltaspan.checks import Check
from deltaspan.probes import sql

DROP = "DROP SCHEMA IF EXISTS support_example CASCADE"
CREATE = """
    CREATE SCHEMA support_example;
    CREATE TABLE customers (id int PRIMARY KEY, name text);
    CREATE TABLE notes (id int PRIMARY KEY, customer int REFERENCES customers, note text);
    CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customers, total numeric, status text);
    CREATE TABLE refunds (id serial PRIMARY KEY, order_id int REFERENCES orders, amount numeric);
    CREATE TABLE tickets (id int PRIMARY KEY, customer int REFERENCES customers, status text);
    INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bo');
    INSERT INTO notes VALUES (1, 1, 'prefers mail'), (2, 2, 'calls at night');
    INSERT INTO orders VALUES
      (10, 1, 25, 'paid'), (11, 1, 40, 'paid'), (12, 1, 7, 'paid'), (20, 2, 900, 'paid');
    INSERT INTO tickets VALUES (100, 1, 'open'), (101, 1, 'open');
"""


@contextmanager
def opened(url: str) -> Iterator[Engine]:
    """Make the desk's schema in a database of PostgreSQL, and drop it in the end."""
    engine = create_engine(url, connect_args={"options": "-c search_path=support_example"})
    with engine.begin() as connection:
        connection.execute(text(DROP))
        connection.execute(text(CREATE))
    try:
        yield engine
    finally:
        with engine.begin() as connection:
            connection.execute(text(DROP))
        engine.dispose()


def refunding(engine: Engine) -> tuple[Check, ...]:
    """Demand the status of this order, and one refund of it; nothing else."""
    return (
        change("orders", sql.records(engine, "orders"))
        .modifying(lambda order_id: [f"{order_id}/status"])
        .showing(),
        change("refunds", sql.rows(engine, "refunds", where="order_id = :order_id")).by(1),
        unchanged("everything_else", sql.database(engine, exclude=["orders", "refunds"])),
    )


def closing(engine: Engine) -> tuple[Check, ...]:
    """Demand that this ticket is closed, and no other row of the database written."""
    status = sql.scalar(engine, "SELECT status FROM tickets WHERE id = :ticket_id")
    return (
        change("status", status).from_("open").to("closed"),
        change("database", sql.database(engine)).only(lambda ticket_id: [f"tickets/{ticket_id}"]),
    )
