"""Check agents that write to a shared table: `python examples/orders`.

Each of five agents reports `ordered`, while another agent writes rows of its own. One is honest. The exit
status is 0 if only the honest one passed.
"""

from __future__ import annotations

import sqlite3
import sys
import textwrap
from collections.abc import Callable

from agents import careless, honest, idle, repeating, tidy
from shop import open_shop, write

from deltaspan import change, collect_reports, expects
from deltaspan.probes import sql


def main() -> int:
    """Give each agent its own shop, and return the exit status."""
    believed = []
    for agent in (honest, idle, repeating, careless, tidy):
        with open_shop() as path, collect_reports() as reports:
            orders = sql.records(
                lambda path=path: sqlite3.connect(path),
                "orders",
                key="id",
                tag="causal_tag",
                where="tenant = :tenant",
            )

            @expects(change("orders", orders).adding(count=1).keeping_others())
            def order(tenant: str, agent: Callable[[str, str], str] = agent, path: str = path) -> str:
                """Let an agent order sand for a tenant, and return its report."""
                write(path, "INSERT INTO orders (tenant, item, causal_tag) VALUES ('acme', 'wax', 'another')")
                return agent(path, tenant)

            print(f"{agent.__name__}: “{order('acme')}”")
            check = reports[0]["orders"]
            if check.passed:
                believed.append(agent)
            words = f"{check.outcome}: {check.explanation}"
            print(textwrap.fill(words, 100, initial_indent=" " * 4, subsequent_indent=" " * 10))
    return 0 if believed == [honest] else 1


if __name__ == "__main__":
    sys.exit(main())
