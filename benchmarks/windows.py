"""Time and memory of a window among ten and among ten thousand.

Run with `make bench` or `python benchmarks/windows.py [--most N]`. The windows are async, with one check each
and telemetry into an SDK that discards it. In the first row each run has its own scope. In the second all
share one. In the third they have one of 5 000 scopes beside one window without a scope, which may overlap
with any of them. All are open before the first one closes. If the cost grew with the number of windows, the
ratio to ten would show it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import time
import tracemalloc
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from deltaspan import change, expects
from deltaspan._process import reset
from deltaspan._telemetry import Instruments, install

SIZES = (10, 100, 1_000, 10_000)
ROWS: dict[int, int] = {}


class Gate:
    """Lets all windows close when the last one is open."""

    def __init__(self, parties: int) -> None:
        self.missing = parties
        self.all_open = asyncio.Event()
        self.may_close = asyncio.Event()

    async def wait(self) -> None:
        self.missing -= 1
        if self.missing == 0:
            self.all_open.set()
        await self.may_close.wait()


async def bare(tenant: int, gate: Gate) -> None:
    await gate.wait()
    ROWS[tenant] += 1


scoped = expects(change("rows", lambda tenant: ROWS[tenant]).by(1))(bare)
shared = expects(change("rows", lambda: 0), on_contention="ignore")(bare)
scoped_beside = expects(
    change("rows", lambda tenant: ROWS[tenant]).by(1), name="beside", on_contention="ignore"
)(bare)


async def beside(tenant: int, gate: Gate) -> None:
    """Open the first window without a scope, all others with their own."""
    await (shared if tenant == 0 else scoped_beside)(tenant % 5_000, gate)


async def opened(action: Any, windows: int) -> tuple[float, int]:
    """Open, hold and close that many windows.

    Returns:
        Seconds of this process in all, and the bytes that were allocated when all were open; 0 unless they
        are traced.
    """
    gate = Gate(windows)
    ROWS.update(dict.fromkeys(range(windows), 0))
    before = tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0
    began = time.process_time()
    tasks = [asyncio.ensure_future(action(tenant, gate)) for tenant in range(windows)]
    await gate.all_open.wait()
    held = tracemalloc.get_traced_memory()[0] - before if tracemalloc.is_tracing() else 0
    gate.may_close.set()
    await asyncio.gather(*tasks)
    return time.process_time() - began, held


def cost(action: Any, windows: int, rounds: int) -> float:
    """Return the microseconds that one window adds to a task."""
    found = []
    for _ in range(rounds):
        gc.collect()
        ours = asyncio.run(opened(action, windows))[0]
        gc.collect()
        theirs = asyncio.run(opened(bare, windows))[0]
        found.append((ours - theirs) / windows * 1e6)
    return statistics.median(found)


def memory(action: Any, windows: int) -> float:
    """Return the KiB that one open window adds to a task."""
    tracemalloc.start()
    ours, theirs = (asyncio.run(opened(each, windows))[1] for each in (action, bare))
    tracemalloc.stop()
    return (ours - theirs) / windows / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the largest number of windows at once")
    sizes = [size for size in SIZES if size <= parser.parse_args().most]
    install(Instruments(TracerProvider(), MeterProvider([InMemoryMetricReader()]), LoggerProvider()))
    print(f"{'scope':10}{'windows':>9}{'µs each':>10}{'KiB each':>10}{'ratio':>8}")
    for name, action in (("own", scoped), ("shared", shared), ("beside", beside)):
        cost(action, sizes[0], 20)  # warm up
        first = 0.0
        for windows in sizes:
            each = cost(action, windows, max(5, min(200, 5_000 // windows)))
            first = first or each
            held = memory(action, windows)
            print(f"{name:10}{windows:>9}{each:>10.1f}{held:>10.2f}{each / first:>8.2f}")
    reset()


if __name__ == "__main__":
    main()
