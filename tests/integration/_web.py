"""A real web service on loopback that returns the headers it received, traced by OpenTelemetry.

Imported inside tests and fixtures: what it needs is installed for them alone.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route

from deltaspan import adopt, collect_reports, current_causal_tag, expects, observe
from deltaspan.causal_tag import current_causal_root

_START_SECONDS = 120.0


@expects(observe("nothing", lambda: 0))
async def _act() -> None:
    pass


async def _seen(request: Request) -> dict[str, Any]:
    with collect_reports() as reports:
        await _act()
    [report] = reports
    return {
        "baggage": request.headers.get("baggage"),
        "outside": [current_causal_tag(), current_causal_root()],
        "action": [report.causal_tag, report.parent_tag, report.root_tag],
    }


async def _traced(request: Request) -> JSONResponse:
    return JSONResponse(await _seen(request))


async def _by_hand(request: Request) -> JSONResponse:
    with adopt(request.headers):
        return JSONResponse(await _seen(request))


async def _elsewhere(request: Request) -> RedirectResponse:
    return RedirectResponse(request.query_params["to"], 302)


def _application() -> Starlette:
    routes = [Route("/by-hand", _by_hand), Route("/redirect", _elsewhere)]
    application = Starlette(routes=routes)
    traced: Any = OpenTelemetryMiddleware(Starlette(routes=[Route("/traced", _traced)]))
    application.mount("/", traced)
    return application


@contextlib.contextmanager
def serving(port: int) -> Iterator[None]:
    """Serve on every loopback address until the block ends."""
    server = uvicorn.Server(uvicorn.Config(_application(), "127.0.0.1", port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    ends = time.monotonic() + _START_SECONDS
    while not server.started:
        if time.monotonic() > ends:
            raise TimeoutError("uvicorn did not start")
        time.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(_START_SECONDS)
