"""Advisory locks of a real PostgreSQL server, taken by several processes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deltaspan import change, collect_reports, expects
from integration._services import HOST, free_port, postgresql

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def address():
    with postgresql() as found:
        yield found


@pytest.fixture
def connect(address):
    import psycopg  # noqa: PLC0415  # installed for these tests alone

    def to_server():
        return psycopg.connect(address, autocommit=True)

    with to_server() as connection:
        connection.execute("DROP TABLE IF EXISTS flows")
        connection.execute("CREATE TABLE flows (tenant text, number int)")
    return to_server


@pytest.fixture
def advisory(connect):
    @contextlib.contextmanager
    def hold(tenant):
        with connect() as connection:
            connection.execute("SELECT pg_advisory_lock(hashtext(%s))", [tenant])
            yield
            connection.execute("SELECT pg_advisory_unlock(hashtext(%s))", [tenant])

    return hold


@pytest.fixture
def count(connect):
    def count_flows(tenant):
        with connect() as connection:
            return connection.execute("SELECT count(*) FROM flows WHERE tenant = %s", [tenant]).fetchone()[0]

    return count_flows


def test_writers_that_take_the_advisory_lock_do_not_contend(connect, advisory, count):
    @expects(change("flows", count).by(1).exclusively(advisory), on_failure="raise", on_inconclusive="raise")
    def create(tenant):
        with connect() as connection:
            connection.execute("INSERT INTO flows VALUES (%s, %s)", [tenant, count(tenant)])

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(create, tenant) for tenant in ["acme", "other"] * 10]:
            done.result(30)

    with connect() as connection:
        rows = connection.execute("SELECT number FROM flows WHERE tenant = 'acme' ORDER BY number").fetchall()
    assert rows == [(number,) for number in range(10)]


def test_a_check_waits_for_a_writer_that_holds_the_lock(connect, advisory, count):
    held, let_go = threading.Event(), threading.Event()

    def another():
        with advisory("acme"):
            held.set()
            let_go.wait(10)
            with connect() as connection:
                connection.execute("INSERT INTO flows VALUES ('acme', 7)")

    writer = threading.Thread(target=another)
    writer.start()
    held.wait(10)
    threading.Timer(0.05, let_go.set).start()

    @expects(change("flows", count).by(0).exclusively(advisory))
    def act(tenant):
        return count(tenant)

    with collect_reports() as reports:
        found = act("acme")
    writer.join()

    assert found == 1
    assert (reports[0]["flows"].outcome, reports[0]["flows"].pre_state) == ("pass", 1)
    assert reports[0]["flows"].timing.lock_seconds >= 0.03


async def test_async_actions_take_the_advisory_lock_off_the_event_loop(connect, advisory, count):
    @expects(change("flows", count).by(1).exclusively(advisory))
    async def create(tenant):
        before = count(tenant)
        await asyncio.sleep(0.002)
        with connect() as connection:
            connection.execute("INSERT INTO flows VALUES (%s, %s)", [tenant, before])

    with collect_reports() as reports:
        await asyncio.gather(*[create("acme") for _ in range(8)])

    assert [report.outcome for report in reports] == ["pass"] * 8
    assert count("acme") == 8


async def test_an_async_advisory_lock_is_awaited(address, connect, count):
    import psycopg  # noqa: PLC0415  # likewise

    @contextlib.asynccontextmanager
    async def advisory_later():
        async with await psycopg.AsyncConnection.connect(address, autocommit=True) as connection:
            await connection.execute("SELECT pg_advisory_lock(7)")
            yield

    @expects(change("flows", count).by(1).exclusively(advisory_later))
    async def create(tenant):
        await asyncio.sleep(0.002)
        with connect() as connection:
            connection.execute("INSERT INTO flows VALUES (%s, 0)", [tenant])

    with collect_reports() as reports:
        await asyncio.gather(*[create("acme") for _ in range(5)])

    assert [report.outcome for report in reports] == ["pass"] * 5


def test_the_lock_is_given_back_when_the_action_raises(advisory, count):
    @expects(change("flows", count).exclusively(advisory))
    def act(tenant):
        raise LookupError(tenant)

    with pytest.raises(LookupError):
        act("acme")
    with advisory("acme"):
        pass


def test_an_unreachable_lock_server_makes_the_check_inconclusive(address):
    import psycopg  # noqa: PLC0415  # likewise

    gone = (
        address.replace(f"host={HOST}", "host=127.0.0.1 connect_timeout=1").split(" port=")[0]
        + f" port={free_port()}"
    )

    def connection():
        return psycopg.connect(gone, user="postgres", dbname="postgres")

    with collect_reports() as reports:
        found = expects(change("flows", lambda: 0).exclusively(connection))(lambda: "acted")()

    assert found == "acted"
    assert reports[0]["flows"].reason == "baseline_failed"
    assert reports[0]["flows"].explanation.startswith("flows: its lock could not be taken: OperationalError:")
