"""Tasks with a soft time limit, run as `celery -A integration._limited_tasks worker`."""

from __future__ import annotations

import os
import time
from typing import Any

from celery import Celery
from celery.exceptions import SoftTimeLimitExceeded

from deltaspan import change, collect_reports, expects
from deltaspan._attribution import _contention

app = Celery("limited")
app.conf.update(
    broker_url=os.environ["REDIS_URL"],
    result_backend=os.environ["REDIS_URL"],
    broker_connection_retry_on_startup=True,
)
LIMIT = 1
rows: list[int] = []
seen: list[BaseException] = []


def read(seconds: float) -> int:
    """Read for so long that the limit arrives meanwhile. Keep the exception that arrives."""
    try:
        time.sleep(seconds)
    except BaseException as error:
        seen.append(error)
        raise
    return len(rows)


@expects(change("rows", lambda reading: read(reading)).by(1))
def act(reading: float, acting: float) -> None:
    """Write a row, then wait."""
    rows.append(1)
    try:
        time.sleep(acting)
    except BaseException as error:
        seen.append(error)
        raise


@app.task(soft_time_limit=LIMIT)
def limited(reading: float, acting: float) -> dict[str, Any]:
    """Tell what arrived in the task when its limit ended an action."""
    rows.clear()
    seen.clear()
    arrived: BaseException | None = None
    with collect_reports() as reports:
        try:
            act(reading, acting)
        except SoftTimeLimitExceeded as error:
            arrived = error
    return {
        "arrived": type(arrived).__name__,
        "is_same": bool(seen) and arrived is seen[0],
        "rows": len(rows),
        "reports": [[report["rows"].outcome, report["rows"].reason] for report in reports],
        "open": len(_contention._metrics),
    }


@app.task(soft_time_limit=60)
def afterwards() -> list[str]:
    """Tell whether the next action of the same process passes."""
    with collect_reports() as reports:
        act(0, 0)
    return [report["rows"].outcome for report in reports]
