"""A support agent on PostgreSQL whose claims are checked against the database.

    python examples/support postgresql+psycopg://user:password@localhost:5432/database

It works in its own schema, `support_example`, which it creates and drops.
"""

from __future__ import annotations

from argparse import ArgumentParser

import tools
from desk import closing, opened, refunding

from deltaspan import collect_reports, expects


def main(url: str) -> int:
    """Let the agent work, and return the number of its false claims."""
    caught = 0
    with opened(url) as engine, collect_reports() as reports:
        refund = expects(*refunding(engine), name="refund_order")
        close = expects(*closing(engine), name="close_ticket")
        for tool, number in [
            (refund(tools.refund_order), 10),
            (refund(tools.refund_order_and_forget), 11),
            (refund(tools.refund_order_of_another), 12),
            (close(tools.close_ticket), 100),
            (close(tools.close_ticket_and_tidy), 101),
        ]:
            print(f"\nagent     {tool(engine, number)}")
            report = reports[-1]
            caught += not report.passed
            for check in report:
                print(f"{check.outcome:<9} {check.explanation.partition(' ({')[0]}")
    print(f"\n{len(reports)} calls, {caught} of them not what the agent said.")
    return caught


if __name__ == "__main__":
    parser = ArgumentParser(
        "examples/support",
        description="A support agent on PostgreSQL, in a schema of its own, which is dropped in the end.",
        epilog="example: python examples/support postgresql+psycopg://user:password@localhost:5432/database",
    )
    parser.add_argument("url", help="of a database of PostgreSQL, as SQLAlchemy writes it")
    given = parser.parse_args().url
    if not given.startswith("postgresql"):
        parser.error("the example needs PostgreSQL: a URL that begins with postgresql+psycopg://")
    main(given)
