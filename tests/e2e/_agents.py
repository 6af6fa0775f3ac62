"""Agents for the tests of the whole stack: `python _agents.py ROLE`. Each run of an action prints its report.

One is honest, one lies at times, one does once and is gone, one claims success once and did nothing, one is
unsure for every reason that a short run can have, one is slow to verify. Two live longer: one reports
steadily until it ends, and one goes on without doing anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
import threading
import time
from collections.abc import Callable

from deltaspan import ActionReport, change, configure_telemetry, expects, unchanged, window

STEADY_SECONDS = 30
"""Running time of the steady agent: one hour of accelerated time, as in `_sooner.py`."""

one_at_a_time = threading.Lock()
rows: list[str] = []
users = ["ann", "bob"]


def say(report: ActionReport) -> None:
    """Print a report for the test to count."""
    checks = [(check.metric, check.outcome, check.reason) for check in report]
    seconds = report.action_seconds, report.verification_seconds
    line = json.dumps([report.action, report.outcome, report.causal_tag, seconds, checks])
    with one_at_a_time:
        print(line)  # noqa: T201  # for the test to read


one_more_row = change("rows", lambda: len(rows)).by(1)


@expects(one_more_row, unchanged("users", lambda: len(users)), on_report=say)
def order(*, honest: bool) -> None:
    """Write a row, or only say so."""
    if honest:
        rows.append("tea")


def honest() -> None:
    """Make the claimed change, in actions and in windows."""
    for _ in range(7):
        order(honest=True)
    for _ in range(2):
        with window("restock", one_more_row, on_report=say):
            rows.append("coffee")


def liar() -> None:
    """Lie four times in ten."""
    for number in range(10):
        order(honest=number % 5 > 1)


def once() -> None:
    """Lie once, and end."""
    order(honest=False)


@expects(one_more_row, claim=lambda result: result == "delivered", on_report=say)
def deliver() -> str:
    """Claim to have delivered, and do nothing."""
    return "delivered"


def boaster() -> None:
    """Claim success once, and end."""
    deliver()


def broken() -> int:
    """Raise, as a probe that cannot read its state."""
    raise ConnectionError("the database is away")


def at_times() -> Callable[[], int]:
    """Return a probe of which every tenth read fails."""
    reads = itertools.count()
    return lambda: broken() if next(reads) % 10 == 0 else len(rows)


@expects(change("rows", broken).by(1), on_report=say)
def act_unseen() -> None:
    """Act with a baseline that cannot be read."""


@expects(change("rows", at_times()).by(1), on_report=say)
def act_dimly() -> None:
    """Act with a probe that sometimes fails."""
    rows.append("dim")


@expects(one_more_row, on_report=say)
def act_and_raise(number: int) -> None:
    """Write a row, and fail at times."""
    rows.append("half")
    if number % 2:
        raise ValueError("the supplier said no")


both_inside = threading.Barrier(2)


@expects(one_more_row, on_report=say)
def act_together() -> None:
    """Write a row while somebody else does."""
    both_inside.wait()
    rows.append("both")
    both_inside.wait()


def unsure() -> None:
    """Leave it open what was done, for four reasons."""
    for _ in range(4):
        act_unseen()
    for _ in range(20):
        act_dimly()
    for number in range(8):
        with contextlib.suppress(ValueError):
            act_and_raise(number)
    for _ in range(2):
        pair = [threading.Thread(target=act_together) for _ in range(2)]
        for each in pair:
            each.start()
        for each in pair:
            each.join()


async def slowly() -> int:
    """Count rows, slowly."""
    await asyncio.sleep(2.6)
    return 0


@expects(unchanged("rows", slowly), on_report=say)
async def look(_shop: int) -> None:
    """Do nothing, for a while."""
    await asyncio.sleep(0.2)


async def all_shops() -> None:
    """Look into ten shops at once."""
    await asyncio.gather(*map(look, range(10)))


def slow() -> None:
    """Take longer to verify than to act."""
    asyncio.run(all_shops())


def steady() -> None:
    """Work and report, until it ends."""
    ends = time.monotonic() + STEADY_SECONDS
    while time.monotonic() < ends:
        order(honest=True)
        time.sleep(0.2)


def idle() -> None:
    """Work once, and stay alive without further runs."""
    order(honest=True)
    sys.stdin.read()


if __name__ == "__main__":
    configure_telemetry()
    {each.__name__: each for each in (honest, liar, once, boaster, unsure, slow, steady, idle)}[sys.argv[1]]()
