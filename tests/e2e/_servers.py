"""The real servers of the end-to-end tests, on loopback."""

from __future__ import annotations

import base64
import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

HERE = Path(__file__).parent
TOOLS = HERE.parents[1] / "tools" / "build"
HOST = "127.0.0.1"
_FIRST_PORT, _PORTS_COUNT = 20_000, 12_000
# Two processes that run these tests begin at different places.
_PORTS = (_FIRST_PORT + (os.getpid() * 101 + number) % _PORTS_COUNT for number in itertools.count())


class ServerMissingError(Exception):
    """A server has not been built; the message says what to run."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a span.

    Attributes:
        name: the event's name.
        fields: its attributes, with the types that were sent.
    """

    name: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """One span, as the server stored it.

    Attributes:
        name: the span's name.
        service: `service.name` of the process that sent it.
        trace_id: 32 hexadecimal digits.
        span_id: 16 hexadecimal digits.
        parent_id: the parent's span id, empty for a root.
        scope: the name of the instrumentation scope.
        kind: OTLP's number; 1 internal, 2 server, 3 client.
        status: UNSET, OK or ERROR.
        status_message: the sentence beside an ERROR.
        tags: its attributes, with the types that were sent.
        events: its events, in order.
    """

    name: str
    service: str
    trace_id: str
    span_id: str
    parent_id: str
    scope: str
    kind: int
    status: str
    status_message: str
    tags: Mapping[str, Any]
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """The spans of one trace."""

    trace_id: str
    spans: tuple[Span, ...]

    def span(self, name: str, service: str | None = None) -> Span:
        """Return the one span of that name (and service), or fail telling which there are."""
        found = [s for s in self.spans if s.name == name and service in (None, s.service)]
        if len(found) != 1:
            there = [(s.service, s.name) for s in self.spans]
            raise AssertionError(f"expected one span {name!r}, found {len(found)} among {there}")
        return found[0]


@dataclass(frozen=True, slots=True)
class Jaeger:
    """A running Jaeger.

    Attributes:
        grpc_endpoint: where it takes OTLP over gRPC.
        http_endpoint: where it takes OTLP over HTTP; signals are under `/v1/...`.
        query_port: the port of its query API.
    """

    grpc_endpoint: str
    http_endpoint: str
    query_port: int

    def environment(self, protocol: str = "grpc", **variables: str) -> dict[str, str]:
        """Return the environment of a process that sends its traces here, and nothing else anywhere.

        Args:
            protocol: `grpc` or `http/protobuf`.
            **variables: what else is set in it.
        """
        inherited = {
            key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DELTASPAN_"))
        }
        return inherited | {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.grpc_endpoint if protocol == "grpc" else self.http_endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            **variables,
        }

    def services(self) -> list[str]:
        """Return the services that have sent spans."""
        return sorted(self._get("/api/services")["data"] or [])

    def find_traces(
        self, service: str, *, tags: Mapping[str, str] | None = None, at_least: int = 1, timeout: float = 60
    ) -> list[Trace]:
        """Search as Jaeger's UI does, until there are enough traces.

        Args:
            service: `service.name` of a process in the trace.
            tags: attributes that a span of that service must have, in their text form.
            at_least: how many traces there must be.
            timeout: seconds to wait for them.

        Raises:
            AssertionError: when time is up.
        """
        query = urlencode({"service": service, "limit": 1000, "tags": json.dumps(dict(tags or {}))})
        deadline = time.monotonic() + timeout
        while True:
            found = self._get(f"/api/traces?{query}")["data"]
            if len(found) >= at_least:
                return [self.trace(trace["traceID"]) for trace in found]
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"expected at least {at_least} traces of {service!r} with {tags}, found {len(found)} in "
                    f"{timeout} s; services: {self.services()}"
                )
            time.sleep(0.05)

    def trace_ids(self, service: str) -> set[str]:
        """Return the traces that a service is in, up to 100,000 of them."""
        query = urlencode({"service": service, "limit": 100_000})
        return {trace["traceID"] for trace in self._get(f"/api/traces?{query}")["data"]}

    def trace(self, trace_id: str) -> Trace:
        """Return one trace, read over the API that keeps attribute types."""
        result = self._get(f"/api/v3/traces/{trace_id}?raw_traces=true")["result"]
        return Trace(trace_id, tuple(_spans(result)))

    def _get(self, path: str) -> Any:
        connection = http.client.HTTPConnection(HOST, self.query_port, timeout=60)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise AssertionError(f"GET {path} answered {response.status}: {body[:500]!r}")
        return json.loads(body)


@contextlib.contextmanager
def running_jaeger(folder: Path) -> Iterator[Jaeger]:
    """Start Jaeger with its log in `folder`, wait until it is healthy, stop it at the end."""
    names = ("HEALTH", "OTLP_GRPC", "OTLP_HTTP", "QUERY_GRPC", "QUERY_HTTP")
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    environment = os.environ | {f"{name}_PORT": str(port) for name, port in ports.items()}
    command = [str(binary("jaeger")), "--config", str(HERE / "jaeger.yaml")]
    with running(command, folder / "jaeger.log", healthy=(ports["HEALTH"], "/status"), env=environment):
        yield Jaeger(
            grpc_endpoint=f"http://{HOST}:{ports['OTLP_GRPC']}",
            http_endpoint=f"http://{HOST}:{ports['OTLP_HTTP']}",
            query_port=ports["QUERY_HTTP"],
        )


def binary(name: str) -> Path:
    """Return where `make tools` has put a server.

    Raises:
        ServerMissingError: when it has not been built.
    """
    found = subprocess.run([TOOLS, "--path", name], check=True, capture_output=True, text=True)
    path = Path(found.stdout.strip())
    if not path.exists():
        raise ServerMissingError(f"{name} is not built ({path}); run: make tools")
    return path


def free_ports(count: int) -> list[int]:
    """Return free ports of the loopback interface, each of them once in this process.

    They are below the range from which the system takes the ports of outgoing connections. So no connection
    takes one before its server listens on it.
    """
    return list(itertools.islice(filter(_is_free, _PORTS), count))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def required(name: str) -> Path:
    """Return where a server is. If it is not built, skip the test, or fail it in CI."""
    try:
        return binary(name)
    except ServerMissingError as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))


def until(question: Callable[[], Any], timeout: float = 120) -> Any:
    """Ask until the answer is not empty or time is up, and return it."""
    deadline = time.monotonic() + timeout
    while not (answer := question()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return answer


@contextlib.contextmanager
def running(
    command: Sequence[str],
    log: Path,
    *,
    healthy: tuple[int, str],
    env: Mapping[str, str],
    timeout: float = 120,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server in a process group of its own, and stop the whole group at the end.

    Args:
        command: the program and its arguments.
        log: where its output goes.
        healthy: the port and path that answer 200 once it is ready.
        env: its environment.
        timeout: seconds it may take to become healthy.

    Raises:
        AssertionError: when it ends or does not become healthy; with the last lines of its log.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(  # the tests' own servers
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=env,
            start_new_session=True,
        )
    try:
        _wait_until_healthy(process, healthy, time.monotonic() + timeout, log)
        yield process
    finally:
        _stop(process)


def _wait_until_healthy(
    process: subprocess.Popen[bytes], healthy: tuple[int, str], deadline: float, log: Path
) -> None:
    while not _answers(*healthy):
        ended = process.poll() is not None
        if ended or time.monotonic() > deadline:
            what = f"ended with {process.returncode}" if ended else "did not become healthy"
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
            raise AssertionError(f"{process.args!r} {what}; the end of its log:\n{tail}")
        time.sleep(0.05)


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=60)


def _spans(data: Mapping[str, Any]) -> Iterator[Span]:
    for resource in data["resourceSpans"]:
        service = _attributes(resource["resource"]).get("service.name", "")
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                yield Span(
                    name=span["name"],
                    service=service,
                    trace_id=span["traceId"],
                    span_id=span["spanId"],
                    parent_id=span.get("parentSpanId", ""),
                    scope=scope.get("scope", {}).get("name", ""),
                    kind=span.get("kind", 0),
                    status=("UNSET", "OK", "ERROR")[span["status"].get("code", 0)],
                    status_message=span["status"].get("message", ""),
                    tags=_attributes(span),
                    events=tuple(Event(e["name"], _attributes(e)) for e in span.get("events", ())),
                )


def _attributes(holder: Mapping[str, Any]) -> dict[str, Any]:
    return {each["key"]: _value(each["value"]) for each in holder.get("attributes", ())}


def _value(value: Mapping[str, Any]) -> Any:
    """Turn a value of OTLP's JSON into Python's: `{"intValue": "3"}` is 3, `{"doubleValue": 3}` is 3.0."""
    kind, content = next(iter(value.items()), ("nullValue", None))
    match kind:
        case "intValue":
            return int(content)
        case "doubleValue":
            return float(content)
        case "bytesValue":
            return base64.b64decode(content)
        case "arrayValue":
            return [_value(each) for each in content.get("values", ())]
        case "kvlistValue":
            return {each["key"]: _value(each["value"]) for each in content.get("values", ())}
        case _:
            return content
