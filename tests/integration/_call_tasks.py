"""Calls the tasks of `_tasks` in an action of an action, then outside any; prints what they saw as JSON."""

from __future__ import annotations

import json
import sys

from celery.result import AsyncResult

from deltaspan import collect_reports, expects, observe
from integration._tasks import app, see, see_at_last, see_below

NOTHING = observe("nothing", lambda: 0)
TIMEOUT = 60


@expects(NOTHING)
def inner():
    """Call each task."""
    below = see_below.delay().get(timeout=TIMEOUT)
    return {
        "called": see.delay().get(timeout=TIMEOUT),
        "sent by name": app.send_task("integration._tasks.see").get(timeout=TIMEOUT),
        "run again": see_at_last.delay().get(timeout=TIMEOUT),
        "by": below["by"],
        "below": AsyncResult(below["delegated"][0], app=app).get(timeout=TIMEOUT),
    }


@expects(NOTHING)
def outer():
    """Be the root."""
    return inner()


with collect_reports() as reports:
    seen = outer()
seen["tags"] = [report.causal_tag for report in reports]
seen["nobody"] = see.delay().get(timeout=TIMEOUT)
json.dump(seen, sys.stdout)
