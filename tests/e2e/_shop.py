"""A web shop whose handlers are verified actions: `python _shop.py PORT`."""

from __future__ import annotations

import sys

import uvicorn
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from deltaspan import change, configure_telemetry, current_causal_tag, expects

orders: list[str] = []
one_more_order = change("orders", lambda: len(orders)).by(1)


@expects(one_more_order)
async def create_order(request: Request) -> JSONResponse:
    """Take an order, on the event loop."""
    orders.append(await request.json())
    return JSONResponse(current_causal_tag())


@expects(one_more_order)
def repeat_order(_request: Request) -> JSONResponse:
    """Take the last order once more, in a thread."""
    orders.append(orders[-1])
    return JSONResponse(current_causal_tag())


async def count_orders(_request: Request) -> JSONResponse:
    """Say how many orders there are; not an action."""
    return JSONResponse(len(orders))


async def whose(_request: Request) -> JSONResponse:
    """Say which causal tag an effect here would belong to; not an action either."""
    return JSONResponse(current_causal_tag())


routes = [
    Route("/orders", create_order, methods=["POST"]),
    Route("/orders/repeat", repeat_order, methods=["POST"]),
    Route("/orders", count_orders),
    Route("/whose", whose),
]

if __name__ == "__main__":
    configure_telemetry()
    uvicorn.run(OpenTelemetryMiddleware(Starlette(routes=routes)), host="127.0.0.1", port=int(sys.argv[1]))
