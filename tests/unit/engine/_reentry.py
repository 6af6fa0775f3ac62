"""A program that calls actions at every line of deltaspan's, as a signal handler or a finalizer may."""

# Run as a script: a deadlock ends it by the watchdog, with the stack of every thread.
import asyncio
import faulthandler
import sys
import threading
from functools import partial

faulthandler.dump_traceback_later(60, exit=True)

import opentelemetry.sdk  # noqa: E402
from opentelemetry.sdk.metrics import MeterProvider  # noqa: E402
from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402

import deltaspan  # noqa: E402
from deltaspan import change, expects, tagged, window  # noqa: E402
from deltaspan._telemetry import Instruments, install  # noqa: E402
from deltaspan.probes import files  # noqa: E402
from deltaspan.probes._prometheus._totals import CounterTotal  # noqa: E402

PLACES = (deltaspan.__path__[0],)
n = [0]
rows = [{"id": 1, "tag": None}]
lock = threading.Lock()
log = sys.argv[2]
LEAST = 10
MOST = 3000  # actions that go on in a thread fire there again


def count():
    return n[0]


def add():
    n[0] += 1


def count_on():
    counted.add(counted.last_read(), 1.0, {"series": [1.0]})


def generate():
    add()
    yield


def by_hand():
    opened = window("by hand", change("n", count).by(1))
    opened.capture_baseline()
    add()
    opened.verify()


counted = CounterTotal()
iterators = tagged(lambda: iter(rows), key="id", tag="tag")
appended = files.lines("{path}")
generators = tagged(lambda: (row for row in rows), key="id", tag="tag")
plain = expects(change("n", count).by(1))(add)
ACTIONS = {
    "plain": plain,
    "scoped": partial(expects(change("n", lambda who: n[0]).by(1))(lambda who: add()), "acme"),
    "nested": expects(change("n", count))(plain),
    "locked": expects(change("n", count).by(1).exclusively(lock))(add),
    "limited": expects(change("n", count).by(1).timeout(10))(add),
    "deferred": expects(change("n", count).by(1), deferred=True)(add),
    "polled": expects(change("n", count).by(2).eventually(0.002, every=0.001))(add),
    "generator": lambda: list(expects(change("n", count).by(1))(generate)()),
    "window": by_hand,
    "iterators": iterators,
    "generators": generators,
    "log": lambda: appended(path=log),
    "counted": count_on,
    "recorded": plain,
    "hook": expects(change("n", count).by(1).exclusively(lock), on_report=lambda _: locked_again())(add),
}
locked_again = expects(change("n", count).by(1).exclusively(lock))(add)
act = ACTIONS[sys.argv[1]]

if sys.argv[1] == "recorded":
    PLACES += (opentelemetry.sdk.__path__[0],)
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
    meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
    install(Instruments(tracers, meters))

firing = threading.local()
fired = [0]


def trace(frame, event, _):
    if not frame.f_code.co_filename.startswith(PLACES):
        return None
    if event == "line" and fired[0] < MOST and not getattr(firing, "now", False):
        firing.now = True
        fired[0] += 1
        try:
            act()
        finally:
            firing.now = False
    return trace


def run():
    threading.settrace(trace)  # a finalizer runs in whatever thread drops the last reference
    sys.settrace(trace)
    act()
    sys.settrace(None)
    threading.settrace(None)


async def run_on_a_loop():
    run()


if sys.argv[1] == "polled":
    asyncio.run(run_on_a_loop())
else:
    act()  # one-time work of the process is not traced
    run()
deltaspan._engine._deferred.drain(30)
sys.stdout.write("ended\n" if fired[0] > LEAST else f"{fired[0]}\n")
