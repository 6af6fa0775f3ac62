"""An agent that orders in the shop over HTTP: `python _customer.py SHOP`. Prints the tags in use there."""

from __future__ import annotations

import json
import sys

import httpx
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor

from deltaspan import change, configure_telemetry, current_causal_tag, expects

configure_telemetry()
HTTPXClientInstrumentor().instrument()
shop = httpx.Client(base_url=sys.argv[1], timeout=60)

one_more_order = change("orders", lambda: shop.get("/orders").json()).by(1)


@expects(one_more_order)
def place_order() -> dict[str, str | None]:
    """Order tea."""
    return {
        "here": current_causal_tag(),
        "undecorated": shop.get("/whose").json(),
        "decorated": shop.post("/orders", json="tea").json(),
    }


@expects(one_more_order)
def place_it_again() -> dict[str, str | None]:
    """Order it again."""
    return {"here": current_causal_tag(), "decorated": shop.post("/orders/repeat").json()}


said = {action.__name__: action() for action in (place_order, place_it_again)}
print(json.dumps(said))  # noqa: T201  # for the test to read
