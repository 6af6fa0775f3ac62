"""The tasks of a Celery worker, run as `celery -A integration._tasks worker`; set up as the document says.

`TRACED=yes` leaves carrying the tag to OpenTelemetry's instrumentation instead.
"""

from __future__ import annotations

import os

from celery import Celery
from celery.signals import worker_process_init
from opentelemetry.instrumentation.celery import CeleryInstrumentor

from deltaspan import collect_reports, current_causal_tag, expects, observe
from deltaspan.causal_tag import current_causal_root
from integration._recipes import recipe


def by_opentelemetry() -> Celery:
    """Instrument this process, and each one that a worker forks."""
    CeleryInstrumentor().instrument()
    worker_process_init.connect(lambda **_: CeleryInstrumentor().instrument(), weak=False)
    return Celery("shop")


by_hand = None if os.environ.get("TRACED") else recipe("task_cls=")  # kept: signals hold receivers weakly
app = by_opentelemetry() if by_hand is None else by_hand["app"]
app.conf.update(
    broker_url=os.environ["REDIS_URL"],
    result_backend=os.environ["REDIS_URL"],
    broker_connection_retry_on_startup=True,
)


@expects(observe("nothing", lambda: 0))
def _act() -> None:
    pass


@app.task
def see() -> dict[str, list[str | None]]:
    """Return the current tag and root of a task, and the tags of an action in it."""
    with collect_reports() as reports:
        _act()
    [report] = reports
    return {
        "outside": [current_causal_tag(), current_causal_root()],
        "action": [report.causal_tag, report.parent_tag, report.root_tag],
    }


@app.task(bind=True)
def see_at_last(self) -> dict[str, list[str | None]]:
    """Ask to be run again once."""
    if not self.request.retries:
        raise self.retry(countdown=0)
    return see()


@app.task
def see_below() -> dict[str, list[str | None]]:
    """Call another task, and wait for it in an action of its own."""

    @expects(observe("nothing", lambda: 0))
    def delegate() -> None:
        see_later.append(see.delay().id)

    see_later: list[str] = []
    with collect_reports() as reports:
        delegate()
    return {"delegated": see_later, "by": [reports[0].causal_tag]}
