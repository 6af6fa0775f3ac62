"""SQL probes against a real MariaDB server, over pymysql."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from sqlalchemy import Integer, String, bindparam, column, create_engine, event, select, table, text
from sqlalchemy.orm import Session

from deltaspan import change, unchanged, window
from deltaspan.exceptions import ProbeError
from deltaspan.probes import sql
from deltaspan.probes._sql import _digests
from integration._services import mariadb

pymysql = pytest.importorskip("pymysql", reason="pymysql is not installed: make services")

pytestmark = pytest.mark.services

SCHEMA = (
    "DROP DATABASE IF EXISTS shop",
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE flows (id int AUTO_INCREMENT PRIMARY KEY, tenant text, photo blob, kinds set('a', 'b'))",
    "CREATE TABLE prices (price float, old float(7, 2), id int PRIMARY KEY)",
    "INSERT INTO prices VALUES (1234567, 1.25, 1), (0, 0, 2), (NULL, NULL, 3)",
    "CREATE TABLE `order` (`Group` varchar(9), id int, PRIMARY KEY (`Group`, id))",
    "CREATE TABLE log (entry text)",
    "INSERT INTO flows (tenant, photo, kinds) VALUES ('acme', x'00', 'a,b'), ('acme', NULL, NULL)",
    "INSERT INTO flows (tenant, kinds) VALUES ('o''hara', '')",
    "INSERT INTO `order` VALUES ('a', 1)",
    "INSERT INTO log VALUES ('x'), ('x')",
)


@pytest.fixture(scope="module")
def address():
    with mariadb() as found:
        yield found


@pytest.fixture
def connect(address):
    host, port = address

    def opened(database="shop"):
        return pymysql.connect(
            host=host, port=port, user="root", database=database, cursorclass=pymysql.cursors.DictCursor
        )

    with opened(None) as connection, connection.cursor() as cursor:
        for statement in SCHEMA:
            cursor.execute(statement)
        connection.commit()
    return opened


@pytest.fixture
def engine(connect, address):
    made = create_engine("mysql+pymysql://root@{}:{}/shop".format(*address))
    yield made
    made.dispose()


@pytest.fixture
def statements(engine):
    seen = []
    event.listen(engine, "before_cursor_execute", lambda c, cursor, statement, *_: seen.append(statement))
    return seen


def run(engine, statement):
    with engine.begin() as connection:
        connection.execute(text(statement))


def test_a_count_is_one_select_in_a_read_only_transaction(engine, statements):
    assert sql.rows(engine, "flows", where=r"tenant = :tenant OR tenant = 'it\'s :x'")(tenant="o'hara") == 1
    assert [s.split()[0] for s in statements] == ["SET", "START", "SELECT", "SHOW"]


def test_nothing_can_be_written(engine):
    with pytest.raises(ProbeError, match="Cannot execute statement in a READ ONLY transaction"):
        sql.query(engine, "DELETE FROM flows RETURNING id")()
    run(engine, "DELETE FROM flows WHERE id = 1")

    assert sql.rows(engine, "flows")() == 2


def test_records_and_databases_over_a_function_that_opens_connections(engine, connect):
    assert sql.records(connect, "order")() == {("a", 1): {"Group": "a", "id": 1}}
    assert sql.records(connect, "flows")() == sql.records(engine, "flows")()
    assert sql.database(connect)() == sql.database(engine)()


@pytest.mark.parametrize(
    ("statement", "damage"),
    [
        ("SELECT 1", {}),
        ("DELETE FROM flows WHERE id = 2", {"removed": ["flows/2"]}),
        ("UPDATE flows SET photo = x'01' WHERE id = 1", {"modified": ["flows/1"]}),
        ("UPDATE flows SET kinds = 'a' WHERE id = 1", {"modified": ["flows/1"]}),
        ("DELETE FROM `order`", {"removed": ["order/('a', 1)"]}),
        ("CREATE TABLE new (id int)", {"added": ["new"]}),
        ("DROP TABLE log", {"removed": ["log"]}),
        ("UPDATE prices SET price = 1234568 WHERE id = 1", {"modified": ["prices/1"]}),
        ("UPDATE prices SET old = 0 WHERE id = 3", {"modified": ["prices/3"]}),
    ],
)
def test_every_change_of_a_table_is_detected(engine, statement, damage):
    with window("act", unchanged("db", sql.database(engine))) as w:
        run(engine, statement)
    delta = w.report["db"].actual_delta or {}

    assert {kind: sorted(map(str, changes)) for kind, changes in delta.items() if changes} == damage


def test_all_tables_are_read_at_one_moment(engine, monkeypatch):
    collect_rows = _digests.collect_rows

    def interrupted(*args, **options):
        found = collect_rows(*args, **options)
        run(engine, "UPDATE log SET entry = concat(entry, 'y')")
        run(engine, "UPDATE `order` SET id = id + 1")
        return found

    before = sql.database(engine)()
    monkeypatch.setattr(_digests, "collect_rows", interrupted)

    assert sql.database(engine)() == before


def test_uncommitted_work_is_seen_inside_only(engine):
    with Session(engine) as session:
        with window("create", change("flows", sql.rows(engine, "flows")).by(1)) as w:
            session.execute(text("INSERT INTO flows (tenant) VALUES ('new')"))
        assert sql.rows(session, "flows")() == 4
        session.commit()

    assert w.report["flows"].outcome == "fail"


@pytest.mark.parametrize("probe", [sql.rows, sql.records])
def test_uncommitted_rows_are_not_counted_under_read_uncommitted_isolation(engine, address, probe):
    dirty = create_engine(
        "mysql+pymysql://root@{}:{}/shop".format(*address), isolation_level="READ UNCOMMITTED"
    )
    with dirty.connect() as connection:
        with window("create", unchanged("order", probe(dirty, "order"))) as w:
            connection.execute(text("INSERT INTO `order` VALUES ('b', 2)"))
        with dirty.connect() as given_back:
            isolation = given_back.execute(text("SELECT @@tx_isolation")).scalar()
    dirty.dispose()

    assert (w.report["order"].outcome, isolation) == ("pass", "READ-UNCOMMITTED")


def test_a_read_inside_a_pymysql_connection_neither_begins_nor_ends_a_transaction(connect):
    with connect() as connection, connection.cursor() as cursor:
        assert sql.rows(connection, "flows", where="tenant LIKE 'a%'")() == 2
        assert connection.server_status & 1 == 0
        cursor.execute("INSERT INTO flows (tenant) VALUES ('new')")
        assert sql.records(connection, "flows", key="id", columns="tenant")()[4] == {"tenant": "new"}
        assert connection.server_status & 1 == 1
        connection.rollback()


def test_a_wrong_password_is_reported_in_the_databases_words(address):
    engine = create_engine("mysql+pymysql://ann:s3cr%2Ft@{}:{}/shop".format(*address))
    with pytest.raises(ProbeError, match="Access denied for user 'ann'") as caught:
        sql.rows(engine, "flows")()

    assert "s3cr" not in str(caught.value)
    engine.dispose()


def test_a_statement_that_is_wrong_does_not_show_the_parameters_in_it(engine):
    with pytest.raises(ProbeError, match="error in your SQL syntax") as caught:
        sql.rows(engine, "flows", where="tenant = = :tenant")(tenant="O'Hara " + 90 * "x")

    assert "Hara" not in str(caught.value)


def test_a_session_and_a_connection_are_known_to_speak_mysql(engine, connect):
    where = r"tenant <> 'it\'s :x'"

    with Session(engine) as session, engine.connect() as connection, connect() as own:
        for source in (session, connection, own):
            assert sql.rows(source, "flows", where=where)() == 3


@pytest.mark.parametrize("zero", [0, False, 0.0, "0", "", "nobody"])
@pytest.mark.parametrize("over", ["engine", "connection"])
def test_an_argument_that_is_a_number_does_not_match_every_text(engine, connect, zero, over):
    with sql_source(over, engine, connect) as source:
        assert sql.rows(source, "flows", where="tenant = :tenant")(tenant=zero) == 0
        assert sql.rows(source, "flows", where="tenant = :tenant")(tenant="acme") == 2


@pytest.mark.parametrize("value", ["abc", "1abc", "1 or 1", " x"])
@pytest.mark.parametrize("over", ["engine", "connection"])
def test_a_text_that_the_database_reads_as_a_number_has_no_state(engine, connect, value, over):
    with sql_source(over, engine, connect) as source:
        probe = sql.rows(source, "prices", where="price = :price")

        with pytest.raises(ProbeError, match="the database read the text of :price as a number"):
            probe(price=value)
        assert [probe(price=each) for each in (0, "0", 0.0, False, 1234567, 99)] == [1, 1, 1, 1, 1, 0]


def test_numbers_of_rows_and_large_numbers_stay_numbers(engine):
    run(engine, "INSERT INTO prices VALUES (1, 1, 2147483647)")
    statement = "SELECT id FROM prices WHERE id >= :low ORDER BY id LIMIT :limit"

    assert sql.query(engine, statement)(low=2, limit=1) == ({"id": 2},)
    assert sql.scalar(engine, "SELECT 9007199254740993 = :n")(n=2**53) == 0


def test_a_number_for_a_column_of_text_in_a_select_does_not_match_every_text(engine):
    flows = table("flows", column("id", Integer), column("tenant", String))
    by_tenant = select(flows.c.id).where(flows.c.tenant == bindparam("tenant"))
    by_id = select(flows.c.id).where(flows.c.id == bindparam("flow_id"))

    assert sql.query(engine, by_tenant)(tenant=0) == ()
    assert sql.query(engine, by_id)(flow_id=1) == ({"id": 1},)


@contextmanager
def sql_source(over, engine, connect):
    if over == "engine":
        yield engine
        return
    with connect() as connection:
        yield connection
