"""SQL probes against a real PostgreSQL server, over psycopg and asyncpg."""

from __future__ import annotations

import asyncio
import contextlib
import re

import pytest
from sqlalchemy import create_engine, event, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool

from deltaspan import change, collect_reports, current_causal_tag, expects, observe, unchanged, window
from deltaspan.exceptions import DefinitionValueError, ProbeError
from deltaspan.probes import sql
from deltaspan.probes._sql import _postgresql
from integration._services import HOST, postgresql

pytestmark = pytest.mark.services

SCHEMA = """
    CREATE TABLE flows (id serial PRIMARY KEY, tenant text, causal_tag uuid);
    CREATE TABLE "order" ("Group" text, id int, PRIMARY KEY ("Group", id));
    CREATE TABLE "we""ird%x" ("a%b:c" int PRIMARY KEY, "t" text);
    CREATE TABLE things (id int PRIMARY KEY, at timestamptz, data jsonb, tags text[], price numeric,
                         photo bytea, span int4range, wait interval, home inet, key uuid);
    CREATE TABLE log (entry text);
    CREATE TABLE empty ();
    CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
    CREATE TABLE parent (id int PRIMARY KEY);
    CREATE TABLE child (id int PRIMARY KEY) INHERITS (parent);
    CREATE TYPE mood AS ENUM ('fine');
    CREATE TYPE pair AS (a int, b int);
    CREATE TABLE kinds (id int PRIMARY KEY, mood mood, pair pair, code varchar(9), deltaspan_row int);
    CREATE TABLE including (id int, n int, PRIMARY KEY (id) INCLUDE (n));
    INSERT INTO flows (tenant) VALUES ('acme'), ('acme'), ('globex');
    INSERT INTO "order" VALUES ('a', 1), ('b', 1);
    INSERT INTO "we""ird%x" VALUES (7, 'x');
    INSERT INTO things VALUES (1, '2026-11-30 12:00+01', '{"a": [1, null]}', '{x,y}', 1.50, '\\x00',
                               '[1,3)', '1 day', '10.0.0.1', '00000000-0000-0000-0000-000000000007');
    INSERT INTO log VALUES ('x'), ('x'), (NULL), ('');
    INSERT INTO parted VALUES (1);
    INSERT INTO child VALUES (1);
    INSERT INTO kinds VALUES (1, 'fine', (1, 2), 'x');
    INSERT INTO including VALUES (1, 1);
"""


@pytest.fixture(scope="module")
def port():
    with postgresql() as address:
        yield int(address.split("port=")[1].split()[0])


@pytest.fixture
def url(port):
    """A database of the test's own."""
    address = f"postgresql+psycopg://postgres:s3cr%2Ft@{HOST}:{port}/"
    admin = create_engine(f"{address}postgres", isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql("DROP DATABASE IF EXISTS shop WITH (FORCE)")
        connection.exec_driver_sql("CREATE DATABASE shop")
    admin.dispose()
    return f"{address}shop"


@pytest.fixture
def engine(url):
    made = create_engine(url)
    run(made, SCHEMA)
    yield made
    made.dispose()


@pytest.fixture
async def later(engine, url):
    made = create_async_engine(url.replace("psycopg", "asyncpg"))
    yield made
    await made.dispose()


@pytest.fixture
def statements(engine):
    seen = []
    event.listen(engine, "before_cursor_execute", lambda c, cursor, statement, *_: seen.append(statement))
    return seen


def run(engine, statement, **values):
    with engine.begin() as connection:
        if values:
            connection.execute(text(statement), values)
        else:
            connection.exec_driver_sql(statement.replace("%", "%%"))


def said(probe, **given):
    """Return what a probe says that cannot read."""
    with pytest.raises(ProbeError) as caught:
        probe(**given)
    assert caught.value.__context__ is None
    assert "s3cr" not in str(caught.value)
    return str(caught.value).partition(" could not be read: ")[2]


# rows, records, scalar, query -----------------------------------------------------------------------------


def test_a_count_is_one_statement(engine, statements):
    assert sql.rows(engine, "flows", where="tenant = :tenant")(tenant="acme") == 2
    assert len(statements) == 1


@pytest.mark.parametrize("table", ["order", 'we"ird%x', "public.flows"])
def test_names_are_quoted(engine, table):
    assert len(sql.records(engine, table)()) == sql.rows(engine, table)()


def test_values_are_plain_and_freeze(engine):
    with window("act", unchanged("things", sql.records(engine, "things")).showing()) as w:
        pass
    row = w.report["things"].pre_state[1]

    assert w.report["things"].outcome == "pass"
    assert (row["photo"], row["span"], row["tags"]) == (b"\0", "[1, 3)", ("x", "y"))
    assert (str(row["price"]), str(row["key"])[-1], row["data"]["a"]) == ("1.50", "7", (1, None))


def test_casts_literals_and_percent_signs_are_kept_unchanged(engine):
    where = "tenant = :tenant::text AND id % 2 = 1 AND 'not :x' <> tenant AND tenant LIKE 'a%'"

    assert sql.rows(engine, "flows", where=where)(tenant="acme") == 1


def test_the_tag_of_the_run_attributes(engine):
    @expects(
        change("of_tag", sql.rows(engine, "flows", where="causal_tag = :causal_tag")).by(1),
        change("tagged", sql.records(engine, "flows", tag="causal_tag")).by(1),
    )
    def create(tenant):
        insert = "INSERT INTO flows (tenant, causal_tag) VALUES (:tenant, :tag)"
        run(engine, insert, tenant=tenant, tag=current_causal_tag())
        run(engine, "INSERT INTO flows (tenant) VALUES ('somebody else')")

    with collect_reports() as reports:
        create("acme")

    found = [(check.outcome, check.attribution) for check in reports[0]]
    assert found == [("pass", "causal_tag")] * 2


def test_uncommitted_rows_are_not_counted(engine):
    with Session(engine) as session:
        with window("create", change("flows", sql.rows(engine, "flows")).by(1)) as w:
            session.execute(text("INSERT INTO flows (tenant) VALUES ('new')"))
        session.commit()

    assert (w.report["flows"].outcome, w.report["flows"].actual_delta) == ("fail", 0)


@pytest.mark.parametrize("options", [{}, {"isolation_level": "AUTOCOMMIT"}])
def test_a_probe_cannot_write_and_restores_the_connection(engine, options):
    engine = engine.execution_options(**options)
    refused = said(sql.query(engine, "DELETE FROM flows RETURNING id"))
    sql.database(engine)()

    assert refused == "ReadOnlySqlTransaction: cannot execute DELETE in a read-only transaction"
    run(engine, "DELETE FROM flows")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"


# Inside the caller's transaction --------------------------------------------------------------------------


def test_a_read_that_fails_inside_a_session_does_not_end_its_transaction(engine):
    with Session(engine) as session, session.begin():
        session.execute(text("INSERT INTO flows (tenant) VALUES ('new')"))
        assert 'relation "nope" does not exist' in said(sql.rows(session, "nope"))
        assert sql.rows(session, "flows")() == 4

    assert sql.rows(engine, "flows")() == 4


def test_statements_after_a_read_are_not_inside_a_savepoint_of_the_probe(engine):
    with engine.begin() as connection:
        connection.execute(text("UPDATE flows SET tenant = 'new' WHERE id = 1"))
        sql.rows(connection, "flows")()
        connection.execute(text("UPDATE flows SET tenant = 'new' WHERE id = 2"))

    # A transaction within one has a number of its own.
    assert sql.scalar(engine, "SELECT count(DISTINCT xmin::text) FROM flows WHERE tenant = 'new'")() == 1


def test_rows_that_the_caller_is_streaming_are_left_to_it(engine):
    with engine.connect() as connection:
        streaming = connection.execution_options(stream_results=True, max_row_buffer=1)
        numbers = streaming.execute(text("SELECT generate_series(1, 5000)"))
        numbers.fetchone()
        assert sql.rows(streaming, "flows")() == 3

        assert len(numbers.all()) == 4999


def test_a_session_outside_a_transaction_is_read_without_a_savepoint(engine):
    auto = engine.execution_options(isolation_level="AUTOCOMMIT")
    with Session(auto) as session, session.begin():
        session.execute(text("INSERT INTO flows (tenant) VALUES ('new')"))
        assert sql.rows(session, "flows")() == 4
        assert 'relation "nope" does not exist' in said(sql.rows(session, "nope"))


@pytest.mark.parametrize("factory", ["tuple_row", "dict_row"])
def test_a_psycopg_connection_is_read_inside_its_transaction(engine, port, factory):
    import psycopg  # noqa: PLC0415  # installed for these tests alone
    from psycopg import rows  # noqa: PLC0415  # likewise

    factory = getattr(rows, factory)
    with psycopg.connect(
        f"host={HOST} port={port} user=postgres dbname=shop", row_factory=factory
    ) as connection:
        assert sql.rows(connection, "flows")() == 3
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        connection.execute("INSERT INTO flows (tenant) VALUES ('new')")
        assert "does not exist" in said(sql.rows(connection, "nope"))
        assert sql.records(connection, "flows", key="id", where="id % 2 = :odd")(odd=0)[4]["tenant"] == "new"

    assert sql.rows(engine, "flows")() == 4


def test_a_function_that_opens_connections_of_psycopg(engine, port):
    import psycopg  # noqa: PLC0415  # installed for these tests alone
    from psycopg.rows import dict_row  # noqa: PLC0415  # likewise

    def connect():
        return psycopg.connect(f"host={HOST} port={port} user=postgres dbname=shop", row_factory=dict_row)

    assert sql.records(connect, "flows")() == sql.records(engine, "flows")()
    assert sql.database(connect)() == sql.database(engine)()


# Whole databases ------------------------------------------------------------------------------------------


def test_the_state_is_a_digest_by_table_and_key(engine):
    state = sql.database(engine)()

    assert list(state) == sorted(
        [
            "flows",
            "order",
            'we"ird%x',
            "things",
            "log",
            "empty",
            "parted",
            "parent",
            "child",
            "kinds",
            "including",
        ]
    )
    assert list(state["order"]) == ["(columns)", ("a", 1), ("b", 1)]
    assert state["empty"] == {"(columns)": ""}
    assert sorted(list(state["log"].values())[1:]) == [1, 1, 2]
    assert list(state["parted"]) == ["(columns)", 1]
    assert (list(state["parent"]), list(state["child"])) == (["(columns)"], ["(columns)", 1])


@pytest.mark.parametrize(
    ("statement", "damage"),
    [
        ("SELECT 1", {}),
        ("VACUUM FULL flows", {}),
        ("DELETE FROM flows WHERE id = 2", {"removed": ["flows/2"]}),
        ("UPDATE flows SET tenant = NULL WHERE id = 2", {"modified": ["flows/2"]}),
        ("UPDATE things SET photo = '\\x01'", {"modified": ["things/1"]}),
        ("UPDATE things SET data = '{\"a\": [1, 2]}'", {"modified": ["things/1"]}),
        ("UPDATE parted SET id = 2", {"added": ["parted/2"], "removed": ["parted/1"]}),
        ("DELETE FROM parent", {"removed": ["child/1"]}),
        ('TRUNCATE "order"', {"removed": ["order/('a', 1)", "order/('b', 1)"]}),
        ("DROP TABLE empty", {"removed": ["empty"]}),
        ("CREATE TABLE new ()", {"added": ["new"]}),
        ("ALTER TABLE empty ADD x int", {"modified": ["empty/(columns)"]}),
        ("ALTER TABLE parted ADD x int DEFAULT 3", {"modified": ["parted/(columns)", "parted/1"]}),
        ("ALTER TABLE flows RENAME tenant TO owner", {"modified": ["flows/(columns)"]}),
        ("ALTER TABLE kinds ALTER code TYPE varchar(20)", {"modified": ["kinds/(columns)"]}),
        ("ALTER TYPE mood RENAME VALUE 'fine' TO 'well'", {"modified": ["kinds/1"]}),
        ("ALTER TYPE pair DROP ATTRIBUTE b", {"modified": ["kinds/1"]}),
        ("UPDATE kinds SET code = 'y'", {"modified": ["kinds/1"]}),
        ("UPDATE including SET n = 2", {"modified": ["including/1"]}),
        (
            "ALTER TABLE things DROP CONSTRAINT things_pkey, ADD PRIMARY KEY (price)",
            {"added": ["things/1.50"], "removed": ["things/1"]},
        ),
        # The same rows once more: written again, by another transaction.
        ("UPDATE flows SET tenant = tenant", {}),
        # On a connection that the pool gives to the probe next.
        ("SET TimeZone = 'Asia/Tokyo'; SET bytea_output = 'escape'; UPDATE things SET price = price", {}),
    ],
)
def test_only_changes_of_the_data_or_the_schema_are_detected(engine, statement, damage):
    auto = engine.execution_options(isolation_level="AUTOCOMMIT")
    with window("act", unchanged("db", sql.database(engine))) as w, auto.connect() as connection:
        connection.exec_driver_sql(statement.replace("%", "%%"))
    delta = w.report["db"].actual_delta or {}

    assert w.report["db"].outcome == ("fail" if damage else "pass")
    assert {kind: sorted(map(str, changes)) for kind, changes in delta.items() if changes} == damage


def test_a_column_recreated_with_another_default_is_detected(engine):
    probe = sql.database(engine)
    run(engine, "ALTER TABLE flows ADD x int DEFAULT 1")
    with window("act", unchanged("db", probe)) as w:
        run(engine, "ALTER TABLE flows DROP x; ALTER TABLE flows ADD x int DEFAULT 2")

    assert len(w.report["db"].actual_delta["modified"]) == 3


def test_a_second_truncate_in_one_transaction_is_detected(engine):
    with Session(engine) as session, session.begin():
        session.execute(text("TRUNCATE log"))
        session.execute(text("INSERT INTO log VALUES ('x')"))
        with window("act", unchanged("db", sql.database(session))) as w:
            session.execute(text("TRUNCATE log"))  # in place, as it is new in this transaction
            session.execute(text("INSERT INTO log VALUES ('y')"))

    assert w.report["db"].outcome == "fail"


def test_a_partition_is_read_that_is_elsewhere_or_whose_table_is(engine, tmp_path):
    for folder in (tmp_path, *tmp_path.parents):  # the server, which is another user, reads the file
        folder.chmod(0o777)
        if folder.name.startswith("pytest-of-"):
            break
    file = tmp_path / "far.csv"
    file.write_text("1\n")
    run(engine, "CREATE TABLE wide (id int) PARTITION BY RANGE (id)")
    run(engine, "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw")
    far = f"PARTITION OF wide FOR VALUES FROM (0) TO (9) SERVER files OPTIONS (filename '{file}')"
    run(engine, f"CREATE FOREIGN TABLE far {far}")
    run(engine, "CREATE SCHEMA other; CREATE TABLE other.whole (id int PRIMARY KEY) PARTITION BY RANGE (id)")
    run(engine, "CREATE TABLE part PARTITION OF other.whole FOR VALUES FROM (0) TO (9)")
    with window("act", unchanged("db", sql.database(engine))) as w:
        file.write_text("2\n")
        run(engine, "INSERT INTO part VALUES (7)")

    assert [str(path).split("/")[0] for path in w.report["db"].actual_delta["added"]] == ["part", "wide"]


def test_a_table_that_did_not_change_is_not_read_again(engine, statements):
    probe = sql.database(engine)
    probe()
    run(engine, "DELETE FROM log")
    statements.clear()
    probe()

    assert [s for s in statements if "md5(deltaspan_row" in s] == [
        "SELECT md5(deltaspan_row.*::text) FROM ONLY public.log AS deltaspan_row"
    ]


def test_all_tables_are_read_at_one_moment(engine, monkeypatch):
    rows_of = _postgresql._rows

    def interrupted(*args):
        found = rows_of(*args)
        run(engine, "INSERT INTO flows (tenant) VALUES ('late'); INSERT INTO \"order\" VALUES ('late', 1)")
        run(engine, "DELETE FROM flows WHERE tenant = 'late'; DELETE FROM \"order\" WHERE \"Group\" = 'late'")
        run(engine, "UPDATE things SET price = price + 1")
        return found

    before = sql.database(engine)()
    monkeypatch.setattr(_postgresql, "_rows", interrupted)

    assert sql.database(engine)() == before


def test_more_rows_than_the_limit_name_the_largest_table_before_any_is_read(engine, statements):
    assert "most of them in 'log': leave that out, exclude=['log']" in said(sql.database(engine, limit=10))
    assert not [s for s in statements if "md5(deltaspan_row" in s]


def test_a_schema_can_be_named_and_must_exist(engine):
    run(engine, 'CREATE SCHEMA "o\'ther"; CREATE TABLE "o\'ther".flows (id int PRIMARY KEY)')

    assert sql.database(engine, schema="o'ther")() == {"flows": {"(columns)": "id integer"}}
    assert said(sql.database(engine, schema="nope")) == "there is no schema 'nope'"


def test_a_connection_without_a_schema_is_not_read_as_an_empty_one(engine, url):
    other = create_engine(f"{url}?options=-csearch_path%3Dnope")

    assert said(sql.database(other)).startswith("the connection has no schema")
    other.dispose()


# Read errors ----------------------------------------------------------------------------------------------


def test_permission_is_denied_in_the_databases_words(engine, url):
    run(engine, "DROP ROLE IF EXISTS ann; CREATE ROLE ann LOGIN PASSWORD 's3cr'")
    other = create_engine(url.replace("postgres:", "ann:"))

    assert said(sql.rows(other, "flows")) == "InsufficientPrivilege: permission denied for table flows"
    other.dispose()


def test_an_unreachable_server_is_inconclusive_and_reveals_no_password(recorded):
    engine = create_engine(f"postgresql+psycopg://ann:s3cr%2Ft@{HOST}:1/shop?connect_timeout=5")
    with window("act", change("flows", sql.rows(engine, "flows")).by(1)) as w:
        pass
    check = w.report["flows"]

    assert (check.outcome, check.reason) == ("inconclusive", "baseline_failed")
    assert "Connection refused" in check.explanation
    everything = f"{w.report}{w.report!r}{check.to_dict()}{recorded.span.to_json()}{recorded.metrics()}"
    assert "s3cr" not in everything


@pytest.mark.parametrize(
    "dsn",
    ["host=localhost password=my s3cret", f"postgresql://ann:pw@s3cret@{HOST}:1/shop", "password='s3cret"],
)
def test_a_part_of_a_dsn_that_the_driver_misreads_is_hidden(dsn):
    import psycopg  # noqa: PLC0415  # installed for these tests alone

    assert said(sql.rows(lambda: psycopg.connect(dsn), "flows"))


PERSONAL = [
    "zoe@example.com",
    "zoe  example",
    "zoe\nexample",
    "O'Hara \\ zoe",
    60 * "x" + "zoe",
    '{"zoe": zoe}',
]


@pytest.mark.parametrize("who", PERSONAL)
@pytest.mark.parametrize("kind", ["int", "date", "json"])
def test_a_parameter_value_in_a_database_error_is_hidden(engine, who, kind):
    words = said(sql.scalar(engine, f"SELECT CAST(:who AS {kind})"), who=who)

    assert f"invalid input syntax for type {kind}" in words
    assert not re.search("zoe|xxx|Hara|example", words)


@pytest.mark.parametrize("who", PERSONAL)
@pytest.mark.parametrize("value", [":who", "CAST(:who AS text)"])
async def test_a_parameter_value_in_an_asyncpg_error_is_hidden(later, who, value):
    with pytest.raises(ProbeError, match="invalid input") as caught:
        await sql.scalar(later, f"SELECT CAST({value} AS int)")(who=who)

    assert not re.search("zoe|xxx|Hara|example", str(caught.value))


# Async sources --------------------------------------------------------------------------------------------


async def test_an_async_engine_reads_the_same(later, engine):
    assert await sql.rows(later, "flows", where="tenant = :tenant")(tenant="acme") == 2
    assert await sql.database(later)() == sql.database(engine)()
    assert list(await sql.records(later, "things")()) == [1]
    with pytest.raises(ProbeError, match='UndefinedTableError: relation "nope" does not exist'):
        await sql.rows(later, "nope")()
    with pytest.raises(ProbeError, match="cannot execute DELETE in a read-only transaction"):
        await sql.query(later, "DELETE FROM flows RETURNING id")()


async def test_a_read_that_fails_inside_an_async_session_does_not_end_its_transaction(later):
    async with AsyncSession(later) as session, session.begin():
        await session.execute(text("INSERT INTO flows (tenant) VALUES ('new')"))
        with pytest.raises(ProbeError, match="does not exist"):
            await sql.rows(session, "nope")()
        assert await sql.rows(session, "flows")() == 4

    assert await sql.rows(later, "flows")() == 4


async def test_a_read_that_is_cancelled_gives_its_connection_back(later):
    reading = asyncio.ensure_future(sql.scalar(later, "SELECT pg_sleep(30)::text")())
    await asyncio.sleep(0.5)
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading

    assert await sql.rows(later, "flows")() == 3
    assert later.pool.checkedout() == 0


def test_an_engine_of_one_connection_for_all_is_rejected():
    engine = create_engine("postgresql+psycopg://", poolclass=StaticPool)

    with pytest.raises(DefinitionValueError, match="one connection for all"):
        sql.rows(engine, "flows")


# Comparison of values, and transactions ----


@pytest.mark.parametrize(
    ("column", "before", "after"),
    [
        ("data", "'null'::jsonb", "NULL"),
        ("wait", "'1 month'::interval", "'30 days'::interval"),
        ("price", "1.0", "1.00"),
        ("at", "'2026-11-30 12:00+01'", "'2026-11-30 11:00+00'"),
    ],
)
def test_values_that_the_driver_returns_as_equal_are_equal_in_records(engine, column, before, after):
    run(engine, f"UPDATE things SET {column} = {before}")  # noqa: S608
    records = sql.records(engine, "things", columns=[column])
    with window(
        "write",
        unchanged("records", records),
        observe("database", sql.database(engine)),
        observe("as_text", sql.query(engine, f"SELECT {column}::text FROM things")),  # noqa: S608
    ) as w:
        run(engine, f"UPDATE things SET {column} = {after}")  # noqa: S608

    is_one_instant = column == "at"
    assert w.report["records"].outcome == "pass"
    assert w.report["database"].delta.changed is not is_one_instant
    assert w.report["as_text"].delta.changed is not is_one_instant


def test_work_of_a_session_that_is_an_argument_is_seen_before_it_is_committed(engine):
    @expects(
        change("inside", sql.rows(lambda session: session, "flows", where="tenant = :tenant")).by(1),
        change("outside", sql.rows(engine, "flows")).by(1),
    )
    def create(session, tenant):
        session.execute(text("INSERT INTO flows (tenant) VALUES (:tenant)"), {"tenant": tenant})

    with collect_reports() as reports, Session(engine) as session:
        create(session, "new")
        session.rollback()

    assert (reports[0]["inside"].outcome, reports[0]["outside"].outcome) == ("pass", "fail")
    assert "has not committed its work" in reports[0]["outside"].explanation


async def test_work_of_an_async_session_that_is_an_argument_is_seen_too(engine, url):
    later = create_async_engine(url)

    @expects(change("inside", sql.rows(lambda session: session, "flows")).by(1))
    async def create(session):
        await session.execute(text("INSERT INTO flows (tenant) VALUES ('new')"))

    with collect_reports() as reports:
        async with AsyncSession(later) as session:
            await create(session)
    await later.dispose()

    assert reports[0].passed


@pytest.mark.parametrize("tenant", ["%", ".*", "_cme", "acme' OR '1'='1", "\\", "$$", "acme%"])
def test_a_hostile_argument_is_compared_literally(engine, tenant):
    assert sql.rows(engine, "flows", where="tenant = :t")(t=tenant) == 0
    assert sql.rows(engine, "flows", where="starts_with(tenant, :t)")(t=tenant) == 0


def test_no_value_of_a_row_is_shown(engine):
    with window("write", change("flows", sql.records(engine, "flows"))) as w:
        run(engine, "UPDATE flows SET tenant = 'canary' WHERE id = 1")

    assert w.report["flows"].explanation == "flows modified '1/tenant', as expected"
    assert "canary" not in str(w.report) + str(w.report["flows"].to_dict())


def test_a_stored_value_that_cannot_be_converted_is_not_quoted(engine):
    run(engine, "CREATE TABLE notes (id int PRIMARY KEY, body text)")
    run(engine, "INSERT INTO notes VALUES (1, 'canary')")
    with window("act", change("x", sql.query(engine, "SELECT body::int FROM notes"))) as w:
        pass

    assert "invalid input syntax for type integer: ***" in w.report["x"].explanation
    assert "canary" not in str(w.report)
