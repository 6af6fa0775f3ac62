"""A web server and a database for the tests of probes."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest


class Answering(BaseHTTPRequestHandler):
    """Gives each request to the server's function, and answers with what that returns."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.server.asked.append((parts.path, query, dict(self.headers)))
        status, headers, body = self.server.answer(parts.path, query)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def api():
    """Run a server that answers with `api.answer`, or `api.document`, and records requests in `api.asked`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        server.asked = []
        server.document = {"data": [1, 2], "total": 2}
        server.answer = lambda path, query: (200, {}, server.document)
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def path(tmp_path, request):
    """Return the path of an SQLite database with the SCHEMA of the test's module."""
    found = str(tmp_path / "shop.sqlite")
    with closing(sqlite3.connect(found)) as connection:
        connection.executescript(request.module.SCHEMA)
    return found


@pytest.fixture
def engine(path):
    from sqlalchemy import create_engine  # noqa: PLC0415  # not needed by the other tests

    made = create_engine(f"sqlite:///{path}")
    yield made
    made.dispose()
