"""Cost of freezing and differencing, compared with a hand-written check.

Run it with `python benchmarks/differencing.py`. It exits with 1 if a target is missed.
"""

from __future__ import annotations

import copy
import gc
import json
import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

from deltaspan._state.diff import difference
from deltaspan._state.snapshot import freeze

if TYPE_CHECKING:
    from collections.abc import Callable

MEMBERS = 1_000_000
ORDERS = 1_000
REPEATS = 15
SCALAR_CALLS = 200_000


def best_of(*actions: Callable[[], object]) -> list[float]:
    """Return the best time of each action, in seconds.

    The actions take turns, so that noise affects all alike.
    """
    best = [float("inf")] * len(actions)
    gc.collect()
    gc.disable()
    try:
        for _ in range(REPEATS):
            for index, action in enumerate(actions):
                started = perf_counter()
                kept = action()
                best[index] = min(best[index], perf_counter() - started)
                del kept
    finally:
        gc.enable()
    return best


def sets(before: set[Any], after: set[Any]) -> tuple[float, float]:
    def ours() -> object:
        return difference(freeze(before), freeze(after))

    def by_hand() -> object:
        pre, post = before.copy(), after.copy()
        return post - pre, pre - post

    ours_s, by_hand_s = best_of(ours, by_hand)
    return ours_s, by_hand_s


def document() -> dict[str, Any]:
    """Return 1000 orders, about 2 MB as JSON."""
    return {
        "orders": {
            f"order-{number:06}": {
                "id": number,
                "status": "open" if number % 3 else "shipped",
                "customer": {"name": f"Customer {number}", "mail": f"c{number}@example.com", "vip": False},
                "note": "x" * 900,
                "tags": ["new", f"region-{number % 7}"],
                "lines": [
                    {
                        "sku": f"SKU-{number}-{line}",
                        "quantity": line + 1,
                        "price": 9.5 * (line + 1),
                        "gift": None,
                    }
                    for line in range(12)
                ],
            }
            for number in range(ORDERS)
        }
    }


def documents() -> tuple[float, float, float, int]:
    text = json.dumps(document())
    # Two separate readings, as from a database. They share no objects.
    before, after = json.loads(text), json.loads(text)
    after["orders"]["order-000500"]["status"] = "cancelled"
    pre = freeze(before)

    # Every action returns all that it created, so that freeing memory is not timed.
    def once() -> object:
        post = freeze(after)
        return post, difference(pre, post)

    def twice() -> object:
        first, post = freeze(before), freeze(after)
        return first, post, difference(first, post)

    once_s, twice_s, deep_s = best_of(once, twice, lambda: copy.deepcopy(before))
    return once_s, twice_s, deep_s, len(text)


def scalars() -> tuple[float, float]:
    def ours() -> None:
        for _ in range(SCALAR_CALLS):
            difference(freeze(1000), freeze(1003))

    def bare() -> None:
        pre, post = 1000, 1003
        for _ in range(SCALAR_CALLS):
            _ = post - pre

    ours_s, bare_s = best_of(ours, bare)
    return ours_s / SCALAR_CALLS * 1e9, bare_s / SCALAR_CALLS * 1e9


def main() -> int:
    met = []

    def row(what: str, ours: str, other: str, ratio: float, target: float | None) -> None:
        met.append(target is None or ratio <= target)
        wanted = "-" if target is None else f"{target:.2f}"
        verdict = "ok" if met[-1] else "MISSED"
        print(f"{what:<56} {ours:>10} {other:>10} {ratio:>7.2f} {wanted:>7}  {verdict}")

    print(f"{'':<56} {'ours':>10} {'by hand':>10} {'ratio':>7} {'target':>7}")
    integers = set(range(MEMBERS))
    texts = {f"row-{number}" for number in range(MEMBERS)}
    for name, members, new in (("int", integers, -1), ("str", texts, "row-new")):
        ours, by_hand = sets(members, {*members, new})
        row(
            f"set of {MEMBERS} {name}: freeze x2 + difference",
            f"{ours * 1e3:.1f} ms",
            f"{by_hand * 1e3:.1f} ms",
            ours / by_hand,
            1.3,
        )
    once, twice, deep, size = documents()
    # The second row has no target, because it compares two copies and a comparison with one copy.
    for name, ours, target in (("freeze + difference", once, 1.0), ("freeze x2 + difference", twice, None)):
        row(
            f"document, {size / 1e6:.1f} MB: {name} / deepcopy",
            f"{ours * 1e3:.1f} ms",
            f"{deep * 1e3:.1f} ms",
            ours / deep,
            target,
        )
    ours_ns, bare_ns = scalars()
    row(
        "two ints: freeze x2 + difference / 1 us",
        f"{ours_ns:.0f} ns",
        f"{bare_ns:.0f} ns",
        ours_ns / 1000,
        1.0,
    )
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
