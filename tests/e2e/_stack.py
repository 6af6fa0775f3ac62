"""The servers of `deploy/` with the configuration that ships, on free loopback ports; they can be killed."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import yaml

from e2e._servers import HOST, Jaeger, binary, free_ports, running

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self

DEPLOY = Path(__file__).parents[2] / "deploy"


class Server:
    """A server with ports and a folder of its own, which outlive the process.

    Args:
        folder: where it stores what it stores, and its logs.
        command: the program and its arguments.
        healthy: the port and path that answer 200 once it is ready.
        environment: what is added to ours.
    """

    def __init__(
        self, folder: Path, command: list[str], healthy: tuple[int, str], environment: Mapping[str, str]
    ) -> None:
        self.folder = folder
        self._command = command
        self._healthy = healthy
        self._environment = environment
        self._starts = 0
        self._running = contextlib.ExitStack()
        self._process: subprocess.Popen[bytes]

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    def start(self) -> None:
        """Start it, again if it was stopped or killed, and wait until it is ready."""
        self._starts += 1
        log = self.folder / f"{type(self).__name__.lower()}-{self._starts}.log"
        env = os.environ | self._environment
        self._process = self._running.enter_context(
            running(self._command, log, healthy=self._healthy, env=env)
        )

    def stop(self) -> None:
        """Ask it to end, and wait for that."""
        self._running.close()

    def kill(self) -> None:
        """End it without a warning, as a lack of memory would."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._running.close()

    def log(self) -> str:
        """Return what it has logged, over all its starts."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("*.log")))


class Collector(Server):
    """The collector with `deploy/collector/config.yaml`.

    Args:
        folder: for its queues and its log.
        jaeger: host and port of OTLP over gRPC; nobody is there by default.
        prometheus: the URL of Prometheus; nobody is there by default.
        **settings: what config.yaml reads from the environment: KEEP_PERCENT, DECISION_WAIT, SLOW_MS, ...

    Attributes:
        grpc_endpoint: where it takes OTLP over gRPC.
        http_endpoint: where it takes OTLP over HTTP.
        metrics_port: where it tells of itself, at `/metrics`.
        health_port: where it says whether it is well, to any request.
    """

    def __init__(
        self,
        folder: Path,
        *,
        jaeger: str = f"{HOST}:1",
        prometheus: str = f"http://{HOST}:1",
        **settings: str,
    ) -> None:
        health, grpc, over_http, metrics = free_ports(4)
        self.health_port = health
        self.grpc_endpoint = f"http://{HOST}:{grpc}"
        self.http_endpoint = f"http://{HOST}:{over_http}"
        environment = {
            "HEALTH_ENDPOINT": f"{HOST}:{health}",
            "OTLP_GRPC_ENDPOINT": f"{HOST}:{grpc}",
            "OTLP_HTTP_ENDPOINT": f"{HOST}:{over_http}",
            "METRICS_HOST": HOST,
            "METRICS_PORT": str(metrics),
            "STORAGE_DIRECTORY": str(folder),
            "JAEGER_ENDPOINT": jaeger,
            "PROMETHEUS_ENDPOINT": f"{prometheus}/api/v1/otlp",
            **settings,
        }
        self.metrics_port = int(environment["METRICS_PORT"])
        command = [str(binary("collector")), "--config", str(DEPLOY / "collector" / "config.yaml")]
        super().__init__(folder, command, (health, "/"), environment)

    @property
    def refused_spans(self) -> float:
        """Return the number of spans refused since the start."""
        return self.metric("otelcol_receiver_refused_spans(?:_total)?")

    def metric(self, name: str) -> float:
        """Return the sum of one of its own metrics over all labels; 0 when there is none."""
        found = re.findall(
            rf"^{name}(?:{{[^\n]*}})? (\S+)$", get(self.metrics_port, "/metrics"), re.MULTILINE
        )
        return sum(map(float, found))


class StoringJaeger(Server):
    """Jaeger with `deploy/jaeger/config.yaml`, storing on disk.

    Attributes:
        api: the same Jaeger, to be asked.
        endpoint: host and port of OTLP over gRPC.
        metrics_port: where it tells of itself, at `/metrics`.
    """

    def __init__(self, folder: Path) -> None:
        health, grpc, query, query_grpc, self.metrics_port = free_ports(5)
        self.endpoint = f"{HOST}:{grpc}"
        self.api = Jaeger(f"http://{self.endpoint}", "", query)
        environment = {
            "HEALTH_ENDPOINT": f"{HOST}:{health}",
            "OTLP_GRPC_ENDPOINT": self.endpoint,
            "QUERY_HTTP_ENDPOINT": f"{HOST}:{query}",
            "QUERY_GRPC_ENDPOINT": f"{HOST}:{query_grpc}",
            "METRICS_HOST": HOST,
            "METRICS_PORT": str(self.metrics_port),
            "STORAGE_DIRECTORY": str(folder / "badger"),
            "UI_CONFIG": str(DEPLOY / "jaeger" / "ui.json"),
        }
        command = [str(binary("jaeger")), "--config", str(DEPLOY / "jaeger" / "config.yaml")]
        super().__init__(folder, command, (health, "/status"), environment)


class Prometheus(Server):
    """Prometheus with `deploy/prometheus/`, its rules and the options of compose.yaml.

    Args:
        folder: for its configuration, with the addresses of here, and its storage.
        addresses: of the services in prometheus.yml, such as `{"alertmanager:9093": "127.0.0.1:123"}`;
            one that is not given is not there.

    Attributes:
        url: where it is.
    """

    def __init__(self, folder: Path, addresses: Mapping[str, str] | None = None) -> None:
        [self._port] = free_ports(1)
        self.url = f"http://{HOST}:{self._port}"
        shutil.copytree(DEPLOY / "prometheus", folder / "prometheus")
        config = folder / "prometheus" / "prometheus.yml"
        ours = {"localhost:9090": f"{HOST}:{self._port}", **(addresses or {})}
        config.write_text(
            re.sub(
                r'targets: \["([^"]+)"\]',
                lambda found: f"targets: {json.dumps([ours[found[1]]] if found[1] in ours else [])}",
                config.read_text(),
            )
        )
        shipped = re.findall(r"^ +- (--web\.enable\S+|--enable-feature\S+)$", compose(), re.MULTILINE)
        command = [
            str(binary("prometheus")),
            *shipped,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={HOST}:{self._port}",
        ]
        super().__init__(folder, command, (self._port, "/-/ready"), {})

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Return labels and value of each series that an instant query gives."""
        answer = self.get("query", query=expression)
        return [(each["metric"], float(each["value"][1])) for each in answer["result"]]

    def get(self, path: str, **parameters: str) -> Any:
        """Return the data of an answer of its API, such as `get("rules")`."""
        return json.loads(get(self._port, f"/api/v1/{path}?{urlencode(parameters)}"))["data"]


class Alertmanager(Server):
    """Alertmanager with `deploy/alertmanager/alertmanager.yml`.

    Args:
        folder: for its configuration and its storage.
        webhooks: where the addresses of the receivers are, in files of their own; nowhere by default.
        change: what changes the configuration before it is used.

    Attributes:
        address: its host and port.
    """

    def __init__(
        self,
        folder: Path,
        webhooks: Path = Path("/nowhere"),
        change: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        [self._port] = free_ports(1)
        self.address = f"{HOST}:{self._port}"
        shipped = (DEPLOY / "alertmanager" / "alertmanager.yml").read_text()
        config = yaml.safe_load(shipped.replace("/etc/alertmanager/secrets", str(webhooks)))
        change(config)
        (folder / "alertmanager.yml").write_text(yaml.safe_dump(config))
        command = [
            str(binary("alertmanager")),
            f"--config.file={folder / 'alertmanager.yml'}",
            f"--storage.path={folder / 'data'}",
            "--cluster.listen-address=",
            f"--web.listen-address={self.address}",
        ]
        super().__init__(folder, command, (self._port, "/-/ready"), {})

    def alerts(self) -> Any:
        """Return the alerts that it holds."""
        return json.loads(get(self._port, "/api/v2/alerts"))


def compose() -> str:
    """Return the text of compose.yaml."""
    return (DEPLOY / "compose.yaml").read_text()


def get(port: int, path: str) -> str:
    """Return the body of a page on loopback."""
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read().decode()
    finally:
        connection.close()
    if response.status != http.client.OK:
        raise AssertionError(f"GET {path} answered {response.status}: {body[:500]}")
    return body
