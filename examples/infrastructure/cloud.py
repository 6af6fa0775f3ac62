"""A small cloud with an HTTP API for the servers and firewalls of teams."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAGE = 2
"""The number of servers on a page of a list."""


class Cloud(ThreadingHTTPServer):
    """Answers `/teams/{team}/servers` and `/teams/{team}/firewall`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Api)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.teams: dict[str, dict[str, Any]] = {
            team: {"servers": [f"{team}-{n}" for n in range(3)], "firewall": {"open": [443]}}
            for team in ("blue", "red")
        }


class _Api(BaseHTTPRequestHandler):
    server: Cloud

    def do_GET(self) -> None:
        team, what, page = self._asked()
        if what == "firewall":
            self._answer(200, team["firewall"])
            return
        servers = team["servers"][page * PAGE :][:PAGE]
        more = len(team["servers"]) > (page + 1) * PAGE
        self._answer(200, {"servers": servers, "next": f"{page + 1}" if more else None})

    def do_POST(self) -> None:
        team, _, _ = self._asked()
        team["servers"].append(self._sent()["name"])
        self._answer(202, {"accepted": True})

    def do_PUT(self) -> None:
        team, _, _ = self._asked()
        team["firewall"] = self._sent()
        self._answer(200, team["firewall"])

    def _asked(self) -> tuple[dict[str, Any], str, int]:
        path, _, query = self.path.partition("?")
        _, _, team, what = path.split("/")
        return self.server.teams[team], what, int(query.partition("=")[2] or 0)

    def _sent(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def running_cloud() -> Iterator[Cloud]:
    """Run a cloud on the loopback interface."""
    with Cloud() as cloud:
        threading.Thread(target=cloud.serve_forever, daemon=True).start()
        try:
            yield cloud
        finally:
            cloud.shutdown()
