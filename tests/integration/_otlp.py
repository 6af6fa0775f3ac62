"""OTLP receivers on loopback, over HTTP and gRPC, and collectors that never answer."""

from __future__ import annotations

import gzip
import socket
import subprocess
import sys
import textwrap
import threading
import time
from concurrent import futures
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

REQUESTS = {
    "/v1/traces": trace_service_pb2.ExportTraceServiceRequest,
    "/v1/metrics": metrics_service_pb2.ExportMetricsServiceRequest,
    "/v1/logs": logs_service_pb2.ExportLogsServiceRequest,
}


class Received:
    """Received requests, by protocol and signal."""

    def __init__(self):
        self.requests = []
        self.protocol = None

    def add(self, protocol, request):
        self.protocol = protocol
        self.requests.append(request)

    def _resources(self, name):
        return [each for request in self.requests for each in getattr(request, f"resource_{name}", ())]

    @property
    def spans(self):
        scopes = [scope for resource in self._resources("spans") for scope in resource.scope_spans]
        return [span for scope in scopes for span in scope.spans]

    @property
    def span_names(self):
        return [span.name for span in self.spans]

    @property
    def metric_names(self):
        scopes = [scope for resource in self._resources("metrics") for scope in resource.scope_metrics]
        names = {metric.name for scope in scopes for metric in scope.metrics}
        return {name for name in names if not name.startswith("otel.sdk.")}  # some SDKs count themselves

    @property
    def logs(self):
        scopes = [scope for resource in self._resources("logs") for scope in resource.scope_logs]
        return [record for scope in scopes for record in scope.log_records]

    @property
    def log_names(self):
        return [record.event_name for record in self.logs]

    @property
    def service_names(self):
        resources = [each.resource for name in ("spans", "metrics", "logs") for each in self._resources(name)]
        return {attributes_of(resource).get("service.name") for resource in resources}


def attributes_of(holder):
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in holder.attributes}


@contextmanager
def http_receiver(status=200):
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            received.add("http", REQUESTS[self.path].FromString(body))
            self.send_response(status)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def grpc_receiver(*signals):
    """Take these signals over gRPC, `Trace`, `Metrics` or `Logs`; all of them unless some are named."""
    received = Received()

    def servicer(base, response):
        def export(self, request, context):
            received.add("grpc", request)
            return response

        return type("Servicer", (base,), {"Export": export})()

    server = grpc.server(futures.ThreadPoolExecutor(3))
    for module, module_grpc, name in (
        (trace_service_pb2, trace_service_pb2_grpc, "Trace"),
        (metrics_service_pb2, metrics_service_pb2_grpc, "Metrics"),
        (logs_service_pb2, logs_service_pb2_grpc, "Logs"),
    ):
        if signals and name not in signals:
            continue
        response = getattr(module, f"Export{name}ServiceResponse")()
        its = servicer(getattr(module_grpc, f"{name}ServiceServicer"), response)
        getattr(module_grpc, f"add_{name}ServiceServicer_to_server")(its, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}", received
    finally:
        server.stop(None).wait()


@contextmanager
def closed_port():
    """An address without a listener: bound, so that no other process takes it, but not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}", Received()


@contextmanager
def black_hole():
    """An address that accepts connections, reads nothing and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(50)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", Received()


RECEIVERS = {"http/protobuf": http_receiver, "grpc": grpc_receiver}
PRELUDE = """
    import logging, os, signal, sys, time
    import deltaspan

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    flows = []

    @deltaspan.expects(deltaspan.change("flows", lambda: len(flows)).by(1))
    def create_flow():
        flows.append("new")

"""


class Program:
    """A script that verifies an action, in a process of its own."""

    def __init__(self, body, **environ):
        script = textwrap.dedent(PRELUDE) + textwrap.dedent(body)
        self.started = time.monotonic()
        self.process = subprocess.Popen(  # this interpreter with a script of ours
            [sys.executable, "-W", "error", "-c", script],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def line(self):
        """Wait for the next line that it prints."""
        return self.process.stdout.readline().strip()

    def exits_within(self, seconds):
        """Raise TimeoutError unless it exits in time."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError from error

    def end(self, timeout=120):
        """Wait for its end; its output, errors, exit status and duration are attributes from then on."""
        try:
            self.out, self.err = self.process.communicate(timeout=timeout)
        finally:
            self.process.kill()
            self.process.wait()
        self.seconds = time.monotonic() - self.started
        self.status = self.process.returncode
        return self
