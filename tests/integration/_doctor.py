"""The doctor run in this process, and a server with configurable answers."""

from __future__ import annotations

import datetime as dt
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from deltaspan.cli import main

WELL = {"OTEL_SERVICE_NAME": "agent"}


def doctor_in(monkeypatch, capsys):
    """Return what runs the doctor under some environment, and gives its status and its lines."""

    def run(**environment):
        for name in list(os.environ):
            if name.startswith(("OTEL_", "DELTASPAN_")):
                monkeypatch.delenv(name)
        for name, value in {**WELL, "OTEL_EXPORTER_OTLP_TIMEOUT": "2", **environment}.items():
            monkeypatch.setenv(name, value)
        status = main(["doctor"])
        return status, capsys.readouterr().out.splitlines()

    return run


class Answering(BaseHTTPRequestHandler):
    """Answers every request with the server's status, kind and body, and its idea of the time."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.server.statuses.get(self.path, 200))
        if self.server.kind:
            self.send_header("Content-Type", self.server.kind)
        self.end_headers()
        self.wfile.write(self.server.body)

    def do_GET(self):
        self.do_POST()

    def date_time_string(self, timestamp=None):
        now = dt.datetime.now(dt.timezone.utc) + self.server.skew
        return now.strftime("%a, %d %b %Y %H:%M:%S GMT")

    def log_message(self, *args):
        """Say nothing."""


@contextmanager
def answering():
    """Run an HTTP server whose statuses, answers and clock a test may set."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.statuses, server.skew = {}, dt.timedelta()
        server.kind, server.body = "application/x-protobuf", b""
        server.endpoint = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
