"""Compute the table of docs/scaling.md: spans, bytes, machines and series.

Run: python benchmarks/scaling.py            print the table
     python benchmarks/scaling.py --write    write it into docs/scaling.md

MEASURED is the output of benchmarks/wire.py, benchmarks/collector.py and benchmarks/hiding.py. ASSUMED is
specific to a deployment. Change either, and write the table again. A test compares it with the document.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "scaling.md"
BEGIN, END = "<!-- table: benchmarks/scaling.py -->\n", "<!-- end of table -->"
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured values for an action of two checks.

    Attributes:
        span_bytes: its span as OTLP protobuf.
        span_gzip_bytes: its share of a gzipped batch of 512.
        metric_gzip_bytes: what one action in one process adds to a gzipped export of metrics.
        event_bytes: the log event of one failed check whose span is not recorded, as OTLP protobuf.
        event_gzip_bytes: its share of a gzipped batch of 512.
        series: time series of one action in one process while all checks pass.
        histogram_series: series of one histogram: its buckets, its sum and its count.
        action_cpu_us: CPU time of a decorated call, in microseconds.
        gateway_spans: spans a second of one core that takes them, filters them and sends them on.
        hiding_us: CPU time of the gateway for hiding credentials in a span, in microseconds, on top of that.
        sampler_spans: spans a second of one core that holds them and decides.
        store_spans: spans a second of one core of Jaeger, which takes them and keeps them in memory.
        held_bytes: resident memory of one waiting span, with the garbage collector's share.
    """

    span_bytes: int = 1708
    span_gzip_bytes: int = 184
    metric_gzip_bytes: int = 333
    event_bytes: int = 763
    event_gzip_bytes: int = 113
    series: int = 44
    histogram_series: int = 17
    action_cpu_us: int = 300
    gateway_spans: int = 16_000
    hiding_us: int = 300
    sampler_spans: int = 22_500
    store_spans: int = 23_000
    held_bytes: int = 7_700


@dataclass(frozen=True, slots=True)
class Assumed:
    """Values that depend on the deployment.

    Attributes:
        head_sampled: share of traces that the agents record at all.
        kept: share of what arrives that tail sampling keeps whatever its policies say of the rest: failed,
            inconclusive, erroneous and slow.
        rest_kept: share of the rest that it keeps.
        unproven: share of actions that failed or are inconclusive, each by one of its checks.
        decision_wait: seconds for which it holds a trace.
        utilisation: share of a core that is planned for.
        pod_cores: cores of one pod of the gateway or of the sampling tier.
        pod_memory: bytes of memory of one pod of the sampling tier that spans may fill.
        actions_a_process: actions a second of one process.
        actions: different actions in one process.
        export_interval: seconds between two exports of metrics.
        copies: of a span in the store, replicas included.
    """

    head_sampled: float = 1.0
    kept: float = 0.02
    rest_kept: float = 0.1
    unproven: float = 0.01
    decision_wait: int = 10
    utilisation: float = 0.6
    pod_cores: int = 2
    pod_memory: float = 0.7 * 8 * 2**30
    actions_a_process: int = 50
    actions: int = 20
    export_interval: int = 60
    copies: int = 2


MEASURED: Final = Measured()
ASSUMED: Final = Assumed()


@dataclass(frozen=True, slots=True)
class Load:
    """A number of actions per second, and the load that follows."""

    rate: int
    measured: Measured = MEASURED
    assumed: Assumed = ASSUMED

    @property
    def processes(self) -> int:
        return math.ceil(self.rate / self.assumed.actions_a_process)

    @property
    def agent_cores(self) -> float:
        return self.rate * self.measured.action_cpu_us / 1e6

    @property
    def spans(self) -> float:
        return self.rate * self.assumed.head_sampled

    @property
    def wire_bytes(self) -> float:
        return self.spans * self.measured.span_bytes

    @property
    def events(self) -> float:
        """Log events per second: bad verdicts whose span is not recorded."""
        return self.rate * (1 - self.assumed.head_sampled) * self.assumed.unproven

    @property
    def network_bytes(self) -> float:
        """Gzipped bytes per second from the agents to the gateway, for all signals."""
        points = self.processes * self.assumed.actions * self.measured.metric_gzip_bytes
        logs = self.events * self.measured.event_gzip_bytes
        return self.spans * self.measured.span_gzip_bytes + logs + points / self.assumed.export_interval

    def _cores(self, spans: float, rate: int) -> float:
        return spans / rate / self.assumed.utilisation

    @property
    def gateway_cores(self) -> float:
        taken = self.spans + self.events  # an event goes the same way, and counts as a span
        hiding = taken * self.measured.hiding_us / 1e6 / self.assumed.utilisation
        return self._cores(taken, self.measured.gateway_spans) + hiding

    @property
    def gateway_pods(self) -> int:
        return max(3, math.ceil(self.gateway_cores / self.assumed.pod_cores))

    @property
    def sampler_cores(self) -> float:
        return self._cores(self.spans, self.measured.sampler_spans)

    @property
    def sampler_memory(self) -> float:
        return self.assumed.decision_wait * self.spans * self.measured.held_bytes

    @property
    def sampler_pods(self) -> int:
        by_memory = self.sampler_memory / self.assumed.pod_memory
        return max(3, math.ceil(max(by_memory, self.sampler_cores / self.assumed.pod_cores)))

    @property
    def kept_spans(self) -> float:
        return self.spans * (self.assumed.kept + (1 - self.assumed.kept) * self.assumed.rest_kept)

    @property
    def jaeger_cores(self) -> float:
        return self._cores(self.kept_spans, self.measured.store_spans)

    @property
    def stored_bytes_a_day(self) -> float:
        return self.kept_spans * self.measured.span_bytes * self.assumed.copies * DAY

    @property
    def event_bytes_a_day(self) -> float:
        """Uncompressed bytes of log events per day, stored once."""
        return self.events * self.measured.event_bytes * DAY

    @property
    def series(self) -> int:
        """Series in Prometheus, once each action has failed.

        A second outcome is a second histogram.
        """
        each = self.measured.series + self.measured.histogram_series
        return self.processes * (self.assumed.actions * each + 1)  # and target_info

    @property
    def samples(self) -> float:
        return self.series / self.assumed.export_interval


LOADS: Final = {
    "1": Load(1),
    "100": Load(100),
    "10 k": Load(10_000),
    "1 M": Load(1_000_000),
    "1 M, 1 % at the head": Load(1_000_000, assumed=replace(ASSUMED, head_sampled=0.01)),
}

ROWS: Final[dict[str, Callable[[Load], str]]] = {
    "processes of agents": lambda load: count(load.processes),
    "CPU of verifying in them, cores": lambda load: cores(load.agent_cores),
    "spans/s": lambda load: count(load.spans),
    "spans as OTLP, unpacked": lambda load: size(load.wire_bytes) + "/s",
    "log events/s": lambda load: count(load.events),
    "network to the gateway, gzip": lambda load: size(load.network_bytes) + "/s",
    "gateway, cores": lambda load: cores(load.gateway_cores),
    "gateway, pods of 2 cores": lambda load: count(load.gateway_pods),
    "sampling tier, cores": lambda load: cores(load.sampler_cores),
    "sampling tier, memory of held spans": lambda load: size(load.sampler_memory),
    "sampling tier, pods of 2 cores, 8 GiB": lambda load: count(load.sampler_pods),
    "spans/s kept": lambda load: count(load.kept_spans),
    "Jaeger's collectors, cores": lambda load: cores(load.jaeger_cores),
    "store, a day": lambda load: size(load.stored_bytes_a_day),
    "log events, a day": lambda load: size(load.event_bytes_a_day),
    "Prometheus, series": lambda load: count(load.series),
    "Prometheus, samples/s": lambda load: count(load.samples),
}


def scaled(value: float, units: str) -> str:
    """Format two significant digits, the precision of the inputs, with a unit."""
    value = float(f"{value:.1e}")
    step = 0
    while value >= 1000 and step < len(units) - 1:
        value, step = value / 1000, step + 1
    return f"{value:.3f}".rstrip("0").rstrip(".") + " " + units[step]


def count(value: float) -> str:
    if value < 1000 and value == int(value):
        return str(int(value))
    return scaled(value, " kM").rstrip()


def size(value: float) -> str:
    return scaled(value, " kMGT") + "B" if value >= 1000 else scaled(value, "B")


def cores(value: float) -> str:
    return "under 0.01" if value < 0.01 else count(value)


def table() -> str:
    """Return the table as Markdown."""
    lines = [
        "| actions/s | " + " | ".join(LOADS) + " |",
        "| --- |" + " ---: |" * len(LOADS),
        *(
            f"| {name} | " + " | ".join(show(load) for load in LOADS.values()) + " |"
            for name, show in ROWS.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the table into docs/scaling.md")
    if parser.parse_args().write:
        text = DOCUMENT.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        _, _, after = rest.partition(END)
        DOCUMENT.write_text(before + BEGIN + table() + END + after, encoding="utf-8")
    print(table(), end="")


if __name__ == "__main__":
    main()
