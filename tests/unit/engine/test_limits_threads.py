"""Threads for probes that may hang: few, used again, and no reason for a process to stay."""

import subprocess
import sys
import threading
import time
from contextvars import ContextVar

import pytest

from deltaspan import _workers as _threads
from deltaspan import change, expects
from deltaspan._workers import MOST_THREADS, Pool
from support.hanging import Hanging, run, threads_of

REQUEST = ContextVar("REQUEST", default="none")


@pytest.fixture
def pool(monkeypatch):
    """Threads of the test's own, few of them."""
    made = Pool(2, f"few-{time.perf_counter_ns()}")
    monkeypatch.setattr(_threads, "_pool", made)
    return made


def test_with_all_threads_hung_further_reads_time_out_too_until_they_come_back(pool):
    hanging = Hanging(1, 2)
    act = expects(change("rows", hanging.read).timeout(0.02))(lambda: None)
    reasons = [run(act)[1]["rows"].reason for _ in range(4)]
    hanging.let_go.set()
    _, after = run(expects(change("rows", lambda: 0).by(0).timeout(5))(lambda: None))

    assert reasons == ["probe_timeout"] * 4
    assert hanging.reads == 2
    assert after.outcome == "pass"


def test_reads_that_gave_up_before_a_thread_was_free_are_forgotten(pool):
    hanging = Hanging(1, 2)
    for _ in range(10):
        run(expects(change("rows", hanging.read).timeout(0.005))(lambda: None))

    assert len(pool._queue) == 0
    hanging.let_go.set()


def test_no_more_threads_are_started_than_there_may_be(pool):
    release = threading.Event()
    futures = [pool.submit(release.wait) for _ in range(20)]
    started = threads_of(pool)
    release.set()

    assert started == 2
    assert [future.result(5) for future in futures] == [True] * 20


def test_a_thread_that_is_idle_is_used_again(pool):
    for _ in range(20):
        pool.submit(lambda: None).result(5)
        time.sleep(0.001)

    assert threads_of(pool) <= 2


def test_a_thread_that_cannot_be_started_leaves_the_check_without_a_verdict(pool, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    found, report = run(expects(change("rows", lambda: 0).timeout(1))(lambda: "acted"))

    assert found == "acted"
    assert report["rows"].explanation == (
        "rows: before the action the probe raised RuntimeError: can't start new thread"
    )
    assert (len(pool._unstarted), len(pool._queue)) == (2, 0)


def test_there_is_a_bound_to_the_threads_of_a_process():
    assert MOST_THREADS == 32


ENDS = """
import time
from deltaspan import change, collect_reports, expects

reads = []

def read():
    reads.append(1)
    if len(reads) == 2:
        time.sleep(3600)
    return 0

with collect_reports() as reports:
    print(expects(change("rows", read).timeout(0.05))(lambda: "acted")(), reports[0]["rows"].reason)
"""


def test_the_process_ends_although_a_probe_hangs():
    ended = subprocess.run(
        [sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=30, check=False
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "acted probe_timeout\n", "")
