"""The whole stack of `deploy/`, connected as in compose.yaml, with a webhook instead of a pager."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from e2e._servers import HOST, free_ports
from e2e._sooner import hasten_prometheus, hasten_routes
from e2e._stack import Alertmanager, Collector, Prometheus, StoringJaeger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from e2e._servers import Jaeger


class Webhook(ThreadingHTTPServer):
    """A webhook that receives Alertmanager's notifications.

    Attributes:
        received: the receiver (`page` or `ticket`) and an alert of it, in the order of their arrival.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Receiving)
        self.received: list[tuple[str, dict[str, Any]]] = []

    def write_urls(self, folder: Path) -> None:
        """Write the addresses of both receivers into the files that alertmanager.yml names."""
        for receiver in ("page", "ticket"):
            (folder / f"{receiver}_url").write_text(f"http://{HOST}:{self.server_port}/{receiver}")

    def alerts(self, status: str, **labels: str) -> list[tuple[str, dict[str, Any]]]:
        """Return what was received of a status (`firing` or `resolved`) with these labels."""
        return [
            (receiver, alert)
            for receiver, alert in list(self.received)
            if alert["status"] == status and labels.items() <= alert["labels"].items()
        ]


class _Receiving(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.received += [(self.path.strip("/"), alert) for alert in body["alerts"]]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The running stack.

    Attributes:
        collector: where agents send everything.
        jaeger: where the collector sends traces.
        prometheus: where the collector sends metrics.
        webhook: where Alertmanager sends alerts.
        began: when it was up, in seconds since the epoch.
    """

    collector: Collector
    jaeger: Jaeger
    prometheus: Prometheus
    webhook: Webhook
    began: float = field(default_factory=time.time)

    def seen(self, expression: str) -> list[tuple[dict[str, str], list[float]]]:
        """Return labels and all values, since it is up, of each series that an expression gives."""
        answer = self.prometheus.get(
            "query_range", query=expression, start=f"{self.began:.3f}", end=f"{time.time():.3f}", step="0.5"
        )
        return [(each["metric"], [float(value) for _, value in each["values"]]) for each in answer["result"]]


@contextlib.contextmanager
def running_whole(folder: Path) -> Iterator[Whole]:
    """Start everything in the order in which one needs the other, and stop it in the reverse."""

    def place(name: str) -> Path:
        (folder / name).mkdir()
        return folder / name

    with contextlib.ExitStack() as stack:
        webhook = stack.enter_context(Webhook())
        threading.Thread(target=webhook.serve_forever, daemon=True).start()
        stack.callback(webhook.shutdown)
        webhook.write_urls(place("webhooks"))
        alertmanager = stack.enter_context(
            Alertmanager(place("alertmanager"), folder / "webhooks", hasten_routes)
        )
        jaeger = stack.enter_context(StoringJaeger(place("jaeger")))
        [metrics_port] = free_ports(1)  # of the collector, to be scraped
        addresses = {
            "alertmanager:9093": alertmanager.address,
            "collector:8888": f"{HOST}:{metrics_port}",
            "jaeger:8888": f"{HOST}:{jaeger.metrics_port}",
        }
        prometheus = Prometheus(place("prometheus"), addresses)
        hasten_prometheus(folder / "prometheus" / "prometheus")
        stack.enter_context(prometheus)
        settings = {"DECISION_WAIT": "1s", "METRICS_PORT": str(metrics_port)}
        collector = stack.enter_context(
            Collector(place("collector"), jaeger=jaeger.endpoint, prometheus=prometheus.url, **settings)
        )
        yield Whole(collector, jaeger.api, prometheus, webhook)
