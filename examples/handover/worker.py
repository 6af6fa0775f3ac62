"""Place two orders and report them. With `--lie`, place none.

The causal tag of the window is in the environment. deltaspan reads it at the first action, so that this
script need not mention it, and the rows can be stamped with it.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from shop import count_orders
from spans import write_spans

from deltaspan import current_causal_tag, expects, observe

ITEMS = ("paper", "quills")


@expects(observe("orders", count_orders))
def place_orders(database: str, *, honest: bool) -> dict[str, int]:
    """Place an order for each item."""
    if honest:
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.executemany(
                "INSERT INTO orders (item, causal_tag) VALUES (?, ?)",
                [(item, current_causal_tag()) for item in ITEMS],
            )
    return {"placed": len(ITEMS)}


if __name__ == "__main__":
    provider = write_spans("worker", Path(sys.argv[1]))
    print(json.dumps(place_orders(sys.argv[2], honest="--lie" not in sys.argv)))
    provider.shutdown()
