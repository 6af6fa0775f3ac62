"""Sources of SQL probes: a new transaction, or that of the caller."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest
from sqlalchemy import bindparam, create_engine, select, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, scoped_session, sessionmaker
from sqlalchemy.pool import StaticPool

from deltaspan import change, collect_reports, expects, unchanged, window
from deltaspan.checks._probe import is_blocking
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes import sql

INSERT = text("INSERT INTO flows (name) VALUES ('new')")


class Base(DeclarativeBase):
    pass


class Flow(Base):
    __tablename__ = "flows"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "flows.sqlite")


@pytest.fixture
def engine(path):
    made = create_engine(f"sqlite:///{path}")
    Base.metadata.create_all(made)
    yield made
    made.dispose()


@pytest.fixture(params=["SingletonThreadPool", "StaticPool"])
def memory(request):
    options = {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
    made = create_engine("sqlite://", **(options if request.param == "StaticPool" else {}))
    Base.metadata.create_all(made)
    yield made
    made.dispose()


def outcome(w, metric="flows"):
    return w.report[metric].outcome, w.report[metric].actual_delta


# New transactions of the probe ----------------------------------------------------------------------------


def test_uncommitted_rows_of_a_session_are_not_counted(engine):
    with Session(engine) as session:
        with window("create", change("flows", sql.rows(engine, "flows")).by(1)) as w:
            session.add(Flow(name="new"))
            session.flush()
        session.commit()

    assert outcome(w) == ("fail", 0)


def test_committed_rows_of_a_session_are_counted(engine):
    with Session(engine) as session, window("create", change("flows", sql.rows(engine, "flows")).by(1)) as w:
        session.add(Flow(name="new"))
        session.commit()

    assert outcome(w) == ("pass", 1)


def test_a_connection_is_given_back_as_it_was(engine):
    sql.database(engine)()
    sql.rows(engine, "flows")()
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA query_only").scalar() == 0
        assert not connection.connection.driver_connection.in_transaction
    assert engine.pool.checkedout() == 0


def test_an_engine_that_begins_to_write_is_read_and_can_write_afterwards(engine):
    from sqlalchemy import event  # noqa: PLC0415  # for this test

    event.listen(engine, "connect", lambda raw, record: setattr(raw, "isolation_level", None))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    engine.dispose()
    with window("create", change("flows", sql.rows(engine, "flows")).by(1)) as w:
        sql.database(engine)()
        with engine.begin() as connection:
            connection.execute(INSERT)

    assert w.report["flows"].outcome == "pass"


def test_a_connection_that_its_owner_keeps_read_only_stays_so(path, engine):
    from sqlalchemy import event  # noqa: PLC0415  # for this test

    event.listen(engine, "connect", lambda raw, record: raw.execute("PRAGMA query_only = ON"))
    engine.dispose()
    sql.rows(engine, "flows")()

    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA query_only").scalar() == 1


def test_an_opened_connection_is_closed(path, engine):
    opened = []

    class Watched(sqlite3.Connection):
        def close(self):
            opened.remove(self)
            super().close()

    def connect():
        opened.append(sqlite3.connect(path, factory=Watched))
        return opened[-1]

    assert sql.rows(connect, "flows")() == 0
    assert opened == []


def test_a_function_that_returns_the_connection_of_the_action_is_rejected_and_leaves_it(path, engine):
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        db.execute("INSERT INTO flows (name) VALUES ('new')")
        for _ in range(2):
            with pytest.raises(ProbeError, match="the same one again; pass that connection itself"):
                sql.rows(lambda: db, "flows")()

        assert (db.in_transaction, db.row_factory) == (True, sqlite3.Row)


async def test_a_new_transaction_in_an_async_action_is_read_in_another_thread(engine):
    threads = []

    def connect():
        threads.append(threading.current_thread())
        return sqlite3.connect(engine.url.database)

    @expects(unchanged("flows", sql.rows(connect, "flows")))
    async def act(): ...

    with collect_reports() as reports:
        await act()

    assert reports[0]["flows"].outcome == "pass"
    assert threading.current_thread() not in threads


# In memory ------------------------------------------------------------------------------------------------


def test_a_database_in_memory_is_read_on_the_connection_that_it_lives_on(memory):
    with (
        window("create", change("flows", sql.rows(memory, "flows")).by(1)) as w,
        memory.begin() as connection,
    ):
        connection.execute(INSERT)

    assert outcome(w) == ("pass", 1)
    assert len(sql.database(memory)()["flows"]) == 2


async def test_a_database_in_memory_in_an_async_action_is_read_by_the_thread_of_the_action(memory):
    probe = sql.rows(memory, "flows")

    @expects(change("flows", probe).by(1))
    async def act():
        with memory.begin() as connection:
            connection.execute(INSERT)

    with collect_reports() as reports:
        await act()

    assert not is_blocking(probe)
    assert reports[0]["flows"].outcome == "pass"


def test_an_open_transaction_on_the_shared_connection_is_neither_counted_nor_ended(memory):
    with Session(memory) as session:
        with window("create", change("flows", sql.rows(memory, "flows")).by(1)) as w:
            session.add(Flow(name="new"))
            session.flush()
        session.commit()

    assert w.report["flows"].reason == "probe_failed"
    assert "the action has left a transaction open" in w.report["flows"].explanation
    assert sql.rows(memory, "flows")() == 1


def test_a_timeout_rejects_a_database_of_each_thread_and_reads_a_shared_one(memory):
    with window("create", unchanged("flows", sql.rows(memory, "flows")).timeout(30)) as w:
        pass

    if isinstance(memory.pool, StaticPool):
        assert w.report["flows"].outcome == "pass"
    else:
        assert "each thread has its own database in memory" in w.report["flows"].explanation


# Inside the caller's transaction --------------------------------------------------------------------------


def test_a_read_inside_a_session_sees_flushed_rows_and_flushes_no_pending_ones(engine):
    with Session(engine) as session:
        session.add(Flow(name="sent"))
        session.flush()
        pending = Flow(name="not sent")
        session.add(pending)

        assert sql.rows(session, "flows")() == 1
        assert pending in session.new
        assert session.in_transaction()
        session.rollback()

    assert sql.rows(engine, "flows")() == 0


def test_a_session_outside_any_transaction_stays_outside(engine):
    with Session(engine) as session:
        assert sql.rows(session, "flows")() == 0
        assert not session.in_transaction()
        with session.begin():  # which would refuse
            session.add(Flow(name="new"))
        assert sql.rows(session, "flows")() == 1


def test_a_connection_outside_any_transaction_stays_outside(engine):
    with engine.connect() as connection:
        assert len(sql.records(connection, "flows")()) == 0
        assert not connection.in_transaction()
        with connection.begin():
            connection.execute(INSERT)
            assert sql.rows(connection, "flows")() == 1
            assert connection.in_transaction()


def test_a_session_on_a_connection_is_read_over_that_connection(engine):
    with engine.connect() as connection, Session(connection) as session:
        assert sql.rows(session, "flows")() == 0
        assert not connection.in_transaction()


def test_a_read_inside_a_driver_connection_ends_no_transaction(path, engine):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(str(INSERT))
        assert sql.rows(connection, "flows")() == 1
        assert connection.in_transaction
        connection.rollback()
        assert sql.rows(connection, "flows")() == 0


def test_a_writing_statement_runs_only_in_the_transaction_of_the_caller(path, engine):
    delete = "DELETE FROM flows RETURNING id"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(str(INSERT))
        connection.commit()
        with pytest.raises(ProbeError, match="readonly"):
            sql.query(engine, delete)()
        connection.execute(str(INSERT))
        assert len(sql.query(connection, delete)()) == 2
        connection.commit()

    assert sql.rows(engine, "flows")() == 0


async def test_a_connection_of_the_caller_is_read_by_the_thread_of_the_action(path, engine):
    with closing(sqlite3.connect(path)) as connection:  # which refuses any other thread

        @expects(change("flows", sql.rows(connection, "flows")).by(1))
        async def act():
            connection.execute(str(INSERT))

        with collect_reports() as reports:
            await act()

    assert reports[0]["flows"].outcome == "pass"


# Async sources --------------------------------------------------------------------------------------------


@pytest.fixture(params=["file", "memory"])
async def later(request, path):
    made = create_async_engine("sqlite+aiosqlite://" + (f"/{path}" if request.param == "file" else ""))
    async with made.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    yield made
    await made.dispose()


async def test_an_async_engine_is_awaited(later):
    everything = sql.database(later, exclude=["flows"])

    @expects(
        change("flows", sql.rows(later, "flows", where="name = :name")).by(1),
        change("records", sql.records(later, "flows")).adding(1),
        change("newest", sql.scalar(later, "SELECT max(id) FROM flows")).from_(None).to(1),
        change("names", sql.query(later, "SELECT name FROM flows ORDER BY id")).adding({"name": "new"}),
        unchanged("everything", everything),
    )
    async def create(name):
        async with AsyncSession(later) as session:
            session.add(Flow(name=name))
            await session.commit()

    with collect_reports() as reports:
        await create("new")

    assert [check.outcome for check in reports[0]] == ["pass"] * 5


async def test_an_async_session_and_connection_are_read_inside_their_transaction(later):
    async with AsyncSession(later) as session:
        assert await sql.rows(session, "flows")() == 0
        assert not session.in_transaction()
        session.add(Flow(name="new"))
        await session.flush()
        assert await sql.rows(session, "flows")() == 1
        await session.rollback()
    async with later.connect() as connection:
        await connection.execute(INSERT)
        assert await sql.rows(connection, "flows")() == 1
        assert connection.in_transaction()
        await connection.rollback()


async def test_an_async_read_that_fails_tells_no_parameters(later):
    async with later.connect() as connection:
        with pytest.raises(Exception, match="no such table") as caught:
            await sql.rows(connection, "nope", where="x = :who")(who="ann")

    assert "ann" not in str(caught.value)
    assert caught.value.__context__ is None


# Refused --------------------------------------------------------------------------------------------------


async def test_an_async_connection_of_a_driver_is_rejected(path):
    import aiosqlite  # noqa: PLC0415  # for this test

    async with aiosqlite.connect(path) as connection:
        with pytest.raises(DefinitionTypeError, match="pass create_async_engine"):
            sql.rows(connection, "flows")


def test_a_sessionmaker_is_read_like_its_engine(engine):
    sessions = sessionmaker(engine)
    with sessions() as session:
        session.add(Flow(name="pending"))
        session.flush()

        assert sql.rows(sessions, Flow)() == 0

        session.commit()

    assert sql.rows(sessions, Flow)() == 1


# Sources from arguments -------------------------------------------------------------------------------------

HINT = "if the action has not committed its work, it is not seen here: commit it"


def test_work_that_is_not_committed_is_not_seen_over_an_engine_and_the_sentence_says_so(engine):
    @expects(change("flows", sql.rows(engine, "flows")).by(1))
    def create(session):
        session.add(Flow(name="new"))
        session.flush()

    with collect_reports() as reports, Session(engine) as session:
        create(session)

    assert reports[0].outcome == "fail"
    assert HINT in reports[0]["flows"].explanation
    assert "sql.rows(lambda session: session, ...)" in reports[0].feedback()


def test_a_session_that_is_an_argument_is_read_inside_its_transaction(engine):
    @expects(
        change("flows", sql.rows(lambda session: session, Flow)).by(1),
        change("names", sql.records(lambda session: session, Flow, columns=["name"])).adding(count=1),
        change("last", sql.scalar(lambda session: session, "SELECT max(name) FROM flows")).to("new"),
    )
    def create(session):
        session.add(Flow(name="new"))
        session.flush()

    with collect_reports() as reports, Session(engine) as session:
        create(session)
        is_open = session.in_transaction()
        session.rollback()

    assert [check.outcome for check in reports[0]] == ["pass", "pass", "pass"]
    assert is_open
    assert sql.rows(engine, "flows")() == 0


def test_a_read_inside_a_session_flushes_nothing_and_the_sentence_says_so(engine):
    @expects(change("flows", sql.rows(lambda session: session, Flow)).by(1))
    def create(session):
        session.execute(INSERT.bindparams())
        session.rollback()
        session.begin()
        session.add(Flow(name="pending"))

    with collect_reports() as reports, Session(engine) as session:
        create(session)
        pending = [each.name for each in session.new]

    assert pending == ["pending"]
    assert "if the session has not flushed its work, it is not seen here" in reports[0]["flows"].explanation


@pytest.mark.parametrize("kind", ["connection", "engine", "driver"])
def test_any_source_may_be_an_argument(engine, path, kind):
    probe = sql.rows(lambda db: db, "flows")
    with engine.connect() as connection, closing(sqlite3.connect(path)) as driver:
        given = {"connection": connection, "engine": engine, "driver": driver}[kind]

        assert probe(db=given) == 0


async def test_an_async_session_that_is_an_argument_is_awaited(engine, path):
    there = create_async_engine(f"sqlite+aiosqlite:///{path}")

    @expects(change("flows", sql.rows(lambda session: session, Flow)).by(1))
    async def create(session):
        session.add(Flow(name="new"))
        await session.flush()

    with collect_reports() as reports:
        async with AsyncSession(there) as session:
            await create(session)
    await there.dispose()

    assert reports[0].passed


def test_a_session_does_not_scope_a_check_as_two_of_them_see_the_same_rows(engine):
    @expects(
        change("flows", sql.rows(lambda session: session, Flow)).by(1),
        change("mine", sql.rows(lambda session: session, Flow, where="name = :name")).by(1),
    )
    def create(session, name):
        session.add(Flow(name=name))
        session.flush()

    with collect_reports() as reports, Session(engine) as session:
        create(session, "acme")

    assert [check.attribution for check in reports[0]] == ["window", "scoped"]


def test_an_argument_that_is_not_a_source_is_a_probe_error():
    probe = sql.rows(lambda session: session, "flows")

    with pytest.raises(ProbeError, match="'int' is not a source"):
        probe(session=3)
    with pytest.raises(ProbeError, match="must return an engine, a session or a connection"):
        probe(session=lambda: None)


def test_an_argument_that_the_action_lacks_is_rejected(engine):
    with pytest.raises(DefinitionTypeError, match="needs 'sesion', which does not exist; did you mean"):

        @expects(change("flows", sql.rows(lambda sesion: sesion, "flows")).by(1))
        def create(session):
            """Create nothing."""


def test_a_function_whose_parameters_have_defaults_opens_a_connection(engine, path):
    assert sql.rows(lambda name=path: sqlite3.connect(name), "flows")() == 0


# Session factories, mapped classes, select() --------------------------------------------------------------


def test_a_scoped_session_is_read_as_the_session_of_this_thread(engine):
    sessions = scoped_session(sessionmaker(engine))
    probe = sql.rows(sessions, Flow)

    assert probe() == 0
    assert not sessions.registry.has()

    sessions.add(Flow(name="new"))
    sessions.flush()

    assert probe() == 1
    sessions.remove()


async def test_an_async_sessionmaker_is_read_like_its_engine(engine, path):
    there = create_async_engine(f"sqlite+aiosqlite:///{path}")

    assert await sql.rows(async_sessionmaker(there), Flow)() == 0
    await there.dispose()


def test_a_sessionmaker_may_be_bound_after_the_definition(engine):
    sessions = sessionmaker()
    probe = sql.rows(sessions, Flow)

    with pytest.raises(ProbeError, match="has no bind= to read over"):
        probe()
    sessions.configure(bind=engine)
    assert probe() == 0


def test_a_class_or_a_table_stands_for_its_name(engine):
    assert sql.rows(engine, Flow)() == sql.rows(engine, Flow.__table__)() == 0
    assert repr(sql.rows(engine, Flow)) == "rows(engine, Flow)"


class Kind(Base):
    __tablename__ = "kinds"
    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "kind"}  # noqa: RUF012


class Special(Kind):
    __mapper_args__ = {"polymorphic_identity": "special"}  # noqa: RUF012


def test_a_class_that_shares_its_table_is_rejected(engine):
    with pytest.raises(DefinitionValueError, match="Special shares the table 'kinds' with other classes"):
        sql.rows(engine, Special)
    with pytest.raises(DefinitionTypeError, match="a table is a str, a mapped class or a Table"):
        sql.rows(engine, int)


def test_a_select_is_a_statement_and_its_parameters_are_arguments(engine):
    with engine.begin() as connection:
        connection.execute(INSERT)
    named = select(Flow.id).where(Flow.name == bindparam("name"))

    assert sql.scalar(engine, named)(name="new") == 1
    assert sql.scalar(engine, named, params={"name": "other"})() is None
    assert sql.query(engine, select(Flow).where(Flow.name == "new"))() == ({"id": 1, "name": "new"},)
    with (
        closing(sqlite3.connect(":memory:")) as driver,
        pytest.raises(DefinitionTypeError, match=r"a select\(\) is read over SQLAlchemy"),
    ):
        sql.query(driver, named)


# A missing database ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["sqlite:///{}", "sqlite:///file:{}?uri=true", "sqlite:///file:{}?mode=rwc&uri=true"]
)
def test_a_read_does_not_create_the_file_of_a_database(tmp_path, url):
    new = create_engine(url.format(tmp_path / "new.sqlite"))
    for probe in (sql.rows(new, "flows"), sql.database(new), sql.rows(Session(new), "flows")):
        with pytest.raises(ProbeError, match=r"there is no database file .* and a read does not create one"):
            probe()

    assert list(tmp_path.iterdir()) == []


async def test_an_async_read_does_not_create_it_either(tmp_path):
    new = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'new.sqlite'}")
    with pytest.raises(ProbeError, match="there is no database file"):
        await sql.rows(new, "flows")()
    await new.dispose()

    assert list(tmp_path.iterdir()) == []


def test_an_action_that_creates_the_database_has_no_baseline(tmp_path):
    new = create_engine(f"sqlite:///{tmp_path / 'new.sqlite'}")

    @expects(change("flows", sql.rows(new, "flows")).by(1))
    def create():
        assert not (tmp_path / "new.sqlite").exists()
        Base.metadata.create_all(new)

    with collect_reports() as reports:
        create()
    new.dispose()

    assert (reports[0]["flows"].outcome, reports[0]["flows"].reason) == ("inconclusive", "baseline_failed")


def test_a_database_in_memory_needs_no_file():
    shared = create_engine("sqlite:///file:shared?mode=memory&cache=shared&uri=true", poolclass=StaticPool)

    assert sql.scalar(shared, "SELECT 1")() == 1
    shared.dispose()
