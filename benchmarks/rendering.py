"""Cost of rendering states of different sizes for the wire.

A large state costs no more than the part of it that is shown.

Run: python benchmarks/rendering.py
"""

from __future__ import annotations

import statistics
import timeit
from types import MappingProxyType

from deltaspan._state.render._render import wire

MAX_CHARS = 1024
ROUNDS = 7


def document(orders: int) -> object:
    """Return a frozen nested document of orders with three lines each."""
    lines = tuple(MappingProxyType({"sku": f"sku-{n}", "count": n, "price": n * 1.5}) for n in range(3))
    return MappingProxyType(
        {
            "orders": tuple(
                MappingProxyType({"id": n, "status": "open", "lines": lines}) for n in range(orders)
            )
        }
    )


STATES = {
    "an int": 3,
    "a short str": "active",
    "a tuple of 10 ints": tuple(range(10)),
    "a mapping of 10 names": MappingProxyType({f"tenant-{n}": n for n in range(10)}),
    "a document of 1 000 orders": document(1000),
    "a document of 10 000 orders": document(10_000),
    "a set of 10 000 strings (sorted)": frozenset(f"tenant-{n}" for n in range(10_000)),
    "a set of 10 000 mixed members": frozenset(n if n % 2 else f"tenant-{n}" for n in range(10_000)),
    "a set of 1 000 000 strings": frozenset(f"tenant-{n}" for n in range(1_000_000)),
    "a str of 1 MB": "x" * 10**6,
    "a str of 100 MB": "x" * 10**8,
}


def microseconds(state: object) -> float:
    """Return the median time of one `wire()` call."""
    timer = timeit.Timer(lambda: wire(state, MAX_CHARS))
    loops, _ = timer.autorange()
    return statistics.median(timer.repeat(ROUNDS, loops)) / loops * 1e6


def main() -> None:
    print(f"wire(state, {MAX_CHARS}), median of {ROUNDS}")
    for name, state in STATES.items():
        size = len(str(wire(state, MAX_CHARS)))
        print(f"{name:34} {microseconds(state):12.2f} µs {size:6} characters")


if __name__ == "__main__":
    main()
