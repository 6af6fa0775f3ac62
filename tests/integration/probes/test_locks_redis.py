"""A lock that several processes take: redis-py's, on a real Redis server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from deltaspan import change, collect_reports, expects
from integration._redis import redis_server
from integration._services import HOST

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with redis_server(tmp_path_factory) as number:
        yield number


@pytest.fixture
def client(port):
    import redis  # noqa: PLC0415  # likewise

    with redis.Redis(HOST, port) as connected:
        connected.flushall()
        yield connected


def count(client):
    return int(client.get("rows") or 0)


def add(client):
    """Add one in a way that only a lock makes safe."""
    before = count(client)
    time.sleep(0.002)
    client.set("rows", before + 1)


def test_threads_that_take_the_lock_do_not_contend(client):
    lock = client.lock("rows-lock", timeout=30, sleep=0.002)
    check = change("rows", lambda: count(client)).by(1).exclusively(lock)
    act = expects(check, on_failure="raise", on_inconclusive="raise")(lambda: add(client))
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(act) for _ in range(20)]:
            done.result(30)

    assert count(client) == 20
    assert client.exists("rows-lock") == 0


WRITER = """
import sys, time
import redis
from deltaspan import change, expects

client = redis.Redis("127.0.0.1", int(sys.argv[1]))
count = lambda: int(client.get("rows") or 0)

@expects(
    change("rows", count).by(1).exclusively(client.lock("rows-lock", timeout=30, sleep=0.002)),
    on_failure="raise", on_inconclusive="raise",
)
def add():
    before = count()
    time.sleep(0.002)
    client.set("rows", before + 1)

for _ in range(20):
    add()
"""


def test_processes_that_take_the_lock_see_only_their_own_delta(client, port):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(port)], stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    ended = [(writer.communicate(timeout=60)[1], writer.returncode) for writer in writers]

    assert ended == [("", 0)] * 3
    assert count(client) == 60


async def test_async_actions_wait_for_a_blocking_lock_off_the_event_loop(client):
    ticks = []

    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.005)

    # Its token belongs to the thread that took it, so one thread must take and release it.
    lock = client.lock("rows-lock", timeout=30, sleep=0.002, thread_local=True)

    @expects(change("rows", lambda: count(client)).by(1).exclusively(lock))
    async def act():
        before = count(client)
        await asyncio.sleep(0.005)
        client.set("rows", before + 1)

    ticking = asyncio.ensure_future(tick())
    with collect_reports() as reports:
        await asyncio.gather(*[act() for _ in range(10)])
    ticking.cancel()

    assert [report.outcome for report in reports] == ["pass"] * 10
    assert len(ticks) >= 10
    assert client.exists("rows-lock") == 0


async def test_async_actions_await_an_async_lock(client, port):
    import redis.asyncio  # noqa: PLC0415  # likewise

    async with redis.asyncio.Redis(host=HOST, port=port) as connected:
        lock = connected.lock("rows-lock", timeout=30, sleep=0.002)

        async def count_later():
            return int(await connected.get("rows") or 0)

        @expects(change("rows", count_later).by(1).exclusively(lock))
        async def act():
            before = await count_later()
            await asyncio.sleep(0.002)
            await connected.set("rows", before + 1)

        with collect_reports() as reports:
            await asyncio.gather(*[act() for _ in range(10)])

    assert [report.outcome for report in reports] == ["pass"] * 10
    assert client.exists("rows-lock") == 0


async def test_a_task_that_is_cancelled_releases_an_async_lock_over_the_network(client, port):
    import redis.asyncio  # noqa: PLC0415  # likewise

    async with redis.asyncio.Redis(host=HOST, port=port) as connected:
        inside = asyncio.Event()

        @expects(change("rows", lambda: 0).exclusively(connected.lock("rows-lock", timeout=30)))
        async def act():
            inside.set()
            await asyncio.sleep(60)

        task = asyncio.ensure_future(act())
        await inside.wait()
        held = client.exists("rows-lock")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert (held, client.exists("rows-lock")) == (1, 0)


def test_a_lock_held_too_long_by_another_makes_the_check_inconclusive(client):
    client.set("rows-lock", "another's")
    lock = client.lock("rows-lock", timeout=30, blocking_timeout=0.05, sleep=0.01)
    with collect_reports() as reports:
        expects(change("rows", lambda: count(client)).by(1).exclusively(lock))(lambda: add(client))()

    assert count(client) == 1
    assert reports[0]["rows"].reason == "baseline_failed"
    assert reports[0]["rows"].explanation.startswith(
        "rows: its lock could not be taken: LockError: Unable to acquire"
    )


def test_a_lock_that_expired_before_its_release_is_reported_and_breaks_nothing(client, caplog):
    lock = client.lock("rows-lock", timeout=0.05)
    with collect_reports() as reports:
        found = expects(change("rows", lambda: 0).by(0).exclusively(lock))(
            lambda: time.sleep(0.1) or "slept"
        )()

    assert found == "slept"
    assert reports[0]["rows"].outcome == "pass"
    assert "the release of a lock raised and was ignored" in caplog.text


def test_a_nested_action_does_not_wait_for_the_lock_of_its_caller(client):
    lock = client.lock("rows-lock", timeout=30, blocking_timeout=1)
    check = change("rows", lambda: count(client)).by(1).exclusively(lock)
    inner = expects(check, name="inner")(lambda: add(client))
    with collect_reports() as reports:
        expects(check, name="outer")(inner)()

    assert [report.outcome for report in reports] == ["pass", "pass"]


def test_the_wait_for_the_lock_is_reported(client):
    lock = client.lock("rows-lock", timeout=30, sleep=0.002)
    client.set("rows-lock", "another's")
    threading.Timer(0.05, client.delete, ["rows-lock"]).start()
    with collect_reports() as reports:
        expects(change("rows", lambda: 0).by(0).exclusively(lock))(lambda: None)()

    assert reports[0]["rows"].timing.lock_seconds >= 0.03
