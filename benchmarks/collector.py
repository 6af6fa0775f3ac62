"""Throughput and memory of an OpenTelemetry Collector per core, in spans.

Run: python benchmarks/collector.py [--seconds N] [--binary PATH]

The collector is the Jaeger of `tools/build jaeger`, which is a distribution of the Collector. It runs on
loopback with pipelines like those of deploy/kubernetes. This process sends batches of real spans of two
checks over gRPC, each in a trace of its own. Only the CPU time of the collector's process is counted, so that
a slow sender or another process on the same core does not change the result.
"""

from __future__ import annotations

import argparse
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import psutil
from wire import BATCH, batch_of

ROOT = Path(__file__).parents[1]
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SENDERS = 3
CHECKS = 2
HOLDING = 60

COMMON = """
receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:%(port)d", max_recv_msg_size_mib: 16}}}}
extensions: {healthcheckv2: {use_v2: true, http: {endpoint: "127.0.0.1:%(health)d"}}%(extensions)s}
processors:
  filter/verdicts:
    error_mode: ignore
    traces:
      span:
        - not IsMatch(attributes["deltaspan.action.outcome"], "^(fail|inconclusive)$")
  tail_sampling:
    decision_wait: %(wait)ds
    num_traces: 10000000
    policies:
      - name: outcome
        type: string_attribute
        string_attribute: {key: deltaspan.action.outcome, values: [fail]}
      - {name: error, type: status_code, status_code: {status_codes: [ERROR]}}
      - {name: slow, type: latency, latency: {threshold_ms: 10000}}
      - {name: rest, type: probabilistic, probabilistic: {sampling_percentage: 1}}
exporters:
  nop: {}
  otlp:
    endpoint: "127.0.0.1:%(next)d"
    tls: {insecure: true}
    sending_queue: {queue_size: 2000, batch: {flush_timeout: 200ms, min_size: 2048, max_size: 4096}}
%(exporters)s
service:
  extensions: [healthcheckv2%(started)s]
  telemetry: {metrics: {level: none}, logs: {level: error}}
  pipelines:
"""
PIPELINES = {
    "sink": "    traces: {receivers: [otlp], exporters: [nop]}\n",
    "gateway": (
        "    traces: {receivers: [otlp], exporters: [otlp]}\n"
        "    traces/verdicts: {receivers: [otlp], processors: [filter/verdicts], exporters: [nop]}\n"
    ),
    "sampler": "    traces: {receivers: [otlp], processors: [tail_sampling], exporters: [nop]}\n",
    "store": "    traces: {receivers: [otlp], exporters: [jaeger_storage_exporter]}\n",
}
STORE = {
    "extensions": ", jaeger_storage: {backends: {memory: {memory: {max_traces: 20000}}}}",
    "started": ", jaeger_storage",
    "exporters": "  jaeger_storage_exporter: {trace_storage: memory}",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def collector(
    binary: Path, role: str, next_port: int = 1, wait: int = 1
) -> Iterator[tuple[int, psutil.Process]]:
    """Run a collector in that role, and yield its port and process."""
    ports = {"port": free_port(), "health": free_port(), "next": next_port, "wait": wait}
    extra = STORE if role == "store" else dict.fromkeys(STORE, "")
    config = COMMON % (ports | extra) + PIPELINES[role]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(config, encoding="utf-8")
        with subprocess.Popen([binary, "--config", path], stdout=sys.stderr) as process:  # noqa: S603  # our own
            try:
                await_health(ports["health"], process)
                yield ports["port"], psutil.Process(process.pid)
            finally:
                process.kill()


def await_health(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/status"):
                return
        except OSError:  # noqa: PERF203  # not yet
            time.sleep(0.1)
    raise SystemExit("the collector did not start: its own words are above")


class Batches:
    """Serialized batches with unique trace ids, which tail sampling keeps in memory."""

    def __init__(self) -> None:
        message, _ = batch_of(CHECKS)
        raw = message.SerializeToString()
        spans = message.resource_spans[0].scope_spans[0].spans
        self._raw = bytearray(raw)
        self._places = [raw.index(span.trace_id) for span in spans]

    def __next__(self) -> bytes:
        raw = bytearray(self._raw)
        fresh = os.urandom(8 * BATCH)
        for n, place in enumerate(self._places):
            raw[place : place + 8] = fresh[8 * n : 8 * n + 8]
        return bytes(raw)


def send(port: int, seconds: float, *, compressed: bool) -> int:
    """Send batches for a number of seconds, and return the acknowledged spans."""
    batches, counts = Batches(), itertools.count()
    until = time.monotonic() + seconds
    options: dict[str, Any] = {"compression": grpc.Compression.Gzip} if compressed else {}

    def run() -> None:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            export = channel.unary_unary(EXPORT)
            while time.monotonic() < until:
                try:
                    export(next(batches), timeout=20, **options)
                except grpc.RpcError:  # noqa: PERF203  # a batch takes milliseconds
                    time.sleep(0.05)  # its queue is full: retry later, as an SDK would
                else:
                    next(counts)

    threads = [threading.Thread(target=run) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return next(counts) * BATCH


def cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def measure(binary: Path, role: str, seconds: float, *, wait: int = 1, compressed: bool = False) -> None:
    with collector(binary, "sink") as (sink, _), collector(binary, role, sink, wait) as (port, process):
        send(port, 1, compressed=compressed)
        idle, before = process.memory_info().rss, cpu(process)
        began = time.monotonic()
        spans = send(port, seconds, compressed=compressed)
        if role == "gateway" or (role == "sampler" and wait < seconds):
            time.sleep(wait + 1)  # queued spans are sent, and held traces are decided
        used, grown = cpu(process) - before, process.memory_info().rss - idle
        rate = spans / (time.monotonic() - began)
    name = role + (", gzip in" if compressed else ", holding" if wait > seconds else "")
    held = f"{grown / spans:>14.0f}" if wait > seconds else f"{'':>14}"
    print(f"{name:18} {spans:>9} {rate:>12.0f} {spans / used:>18.0f} {held}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=6, help="seconds of load for each pipeline")
    parser.add_argument("--binary", type=Path, help="a Jaeger v2 instead of the one of tools/build")
    options = parser.parse_args()
    binary = options.binary
    if binary is None:
        path = subprocess.run(  # noqa: S603  # our own
            [ROOT / "tools" / "build", "--path", "jaeger"], check=True, capture_output=True, text=True
        )
        binary = Path(path.stdout.strip())
    if not binary.exists():
        print(f"{binary} is not there: build it with `tools/build jaeger` (Go; once), then run this again")
        return
    print(f"{'':18} {'spans':>9} {'spans/s here':>12} {'spans/s a core':>18} {'bytes a span':>14}")
    for role in ("sink", "gateway", "sampler", "store"):
        measure(binary, role, options.seconds)
    measure(binary, "gateway", options.seconds, compressed=True)
    measure(
        binary, "sampler", options.seconds, wait=HOLDING
    )  # no trace is decided, so all spans are in memory


if __name__ == "__main__":
    main()
