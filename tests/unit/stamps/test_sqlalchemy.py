"""Causal tags in rows, for each way in which SQLAlchemy writes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sqlalchemy import create_engine, event, func, insert, inspect, select, text, update
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from deltaspan import adopt, current_causal_tag, expects, observe
from deltaspan.causal_tag import current_causal_root
from deltaspan.stamps.sqlalchemy import CausalStamp, comment_statements

TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"


class Base(DeclarativeBase):
    pass


class Flow(CausalStamp, Base):
    __tablename__ = "flows"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")


@pytest.fixture
def engine():
    made = create_engine("sqlite://")
    Base.metadata.create_all(made)
    yield made
    made.dispose()


@pytest.fixture
def session(engine):
    with Session(engine) as opened:
        yield opened


@expects(observe("nothing", lambda: 0))
def act(do):
    """Do something as an action, and return its tag."""
    do()
    return current_causal_tag()


def add(session, **columns):
    def do():
        session.add(Flow(**columns))
        session.commit()

    return do


def tags(session):
    return session.execute(select(Flow.causal_tag).order_by(Flow.id)).scalars().all()


def test_the_tag_is_indexed_and_both_columns_may_be_null(engine):
    inspector = inspect(engine)
    nullable = {column["name"]: column["nullable"] for column in inspector.get_columns("flows")}

    assert (nullable["causal_tag"], nullable["causal_root"]) == (True, True)
    assert [index["column_names"] for index in inspector.get_indexes("flows")] == [["causal_tag"]]


def test_an_inserted_object_is_stamped(session):
    assert act(add(session)) == session.scalars(select(Flow)).one().causal_tag


def test_a_nested_action_stamps_its_own_tag_and_the_outermost_as_root(session):
    inner = []
    outer = act(lambda: inner.append(act(add(session))))
    row = session.scalars(select(Flow)).one()

    assert (row.causal_tag, row.causal_root) == (inner[0], outer)


def test_the_stamp_outside_any_action_is_null(session):
    add(session)()
    row = session.scalars(select(Flow)).one()

    assert (row.causal_tag, row.causal_root) == (None, None)


def test_the_stamp_outside_any_action_is_the_adopted_tag(session):
    with adopt({"baggage": f"deltaspan.causal_tag.id={TAG}"}):
        add(session)()

    assert tags(session) == [TAG]


def test_an_updated_object_is_stamped_again(session):
    add(session, name="old")()
    row = session.scalars(select(Flow)).one()

    def rename():
        row.name = "new"
        session.commit()

    assert tags(session) == [None]
    assert [act(rename)] == tags(session)


def test_an_update_outside_any_action_removes_the_stamp(session):
    act(add(session))
    session.scalars(select(Flow)).one().name = "new"
    session.commit()

    assert tags(session) == [None]


def test_an_object_that_is_not_changed_is_not_written(session, engine):
    add(session, name="same")()
    row = session.scalars(select(Flow)).one()
    statements = []
    event.listen(engine, "before_cursor_execute", lambda *args: statements.append(args[2]))

    def touch():
        row.name = "same"
        session.flush()

    act(touch)
    assert [statement for statement in statements if statement.startswith("UPDATE")] == []


def test_a_stamp_assigned_by_hand_is_overwritten(session):
    assert [act(add(session, causal_tag=TAG))] == tags(session)


def test_a_row_merged_from_another_place_does_not_bring_its_stamp(session):
    copied = Flow(id=1, causal_tag=TAG)

    def merge():
        session.merge(copied)
        session.commit()

    assert [act(merge)] == tags(session)


INSERTS = {
    "bulk through the ORM": lambda s: s.execute(insert(Flow), [{"name": "a"}, {"name": "b"}]),
    "bulk in Core": lambda s: s.execute(insert(Flow.__table__), [{"name": "a"}, {"name": "b"}]),
    "values of many rows": lambda s: s.execute(insert(Flow).values([{"name": "a"}, {"name": "b"}])),
    "from a query": lambda s: s.execute(
        insert(Flow).from_select(["name"], select(func.json_each("[1, 2]").table_valued("value").c.value))
    ),
    "bulk_save_objects": lambda s: s.bulk_save_objects([Flow(name="a"), Flow(name="b")]),
    "bulk_insert_mappings": lambda s: s.bulk_insert_mappings(Flow, [{"name": "a"}, {"name": "b"}]),
}


@pytest.mark.parametrize("do", INSERTS.values(), ids=INSERTS)
def test_rows_inserted_in_bulk_are_stamped(session, do):
    tag = act(lambda: do(session))

    assert tags(session) == [tag, tag]


UPDATES = {
    "through the ORM": lambda s: s.execute(update(Flow).values(name="new")),
    "in Core": lambda s: s.execute(update(Flow.__table__).values(name="new")),
    "by primary key": lambda s: s.execute(update(Flow), [{"id": 1, "name": "new"}]),
    "bulk_update_mappings": lambda s: s.bulk_update_mappings(Flow, [{"id": 1, "name": "new"}]),
    "legacy query": lambda s: s.query(Flow).update({"name": "new"}),
}


@pytest.mark.parametrize("do", UPDATES.values(), ids=UPDATES)
def test_rows_updated_in_bulk_are_stamped_again(session, do):
    add(session)()

    assert [act(lambda: do(session))] == tags(session)


def test_a_statement_written_as_text_is_not_stamped(session):
    act(lambda: session.execute(text("INSERT INTO flows (name) VALUES ('a')")))

    assert tags(session) == [None]


def test_a_flush_after_the_action_is_not_of_the_action(session):
    act(lambda: session.add(Flow()))
    session.commit()

    assert tags(session) == [None]


async def test_an_async_session_stamps_too(tmp_path):
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'flows.db'}")
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)

    @expects(observe("nothing", lambda: 0))
    async def create():
        async with AsyncSession(engine) as session:
            session.add(Flow())
            await session.commit()
        return current_causal_tag(), current_causal_root()

    stamped = await create()
    async with AsyncSession(engine) as session:
        row = (await session.scalars(select(Flow))).one()
        assert (row.causal_tag, row.causal_root) == stamped
    await engine.dispose()


# Comments -------------------------------------------------------------------------------------------------


def executed(engine):
    statements = []
    event.listen(engine, "after_cursor_execute", lambda *args: statements.append(args[2]))
    return statements


def test_statements_carry_no_comment_unless_asked(session, engine):
    statements = executed(engine)
    act(lambda: session.execute(text("SELECT 1")))

    assert statements == ["SELECT 1"]


def test_a_commented_statement_names_the_tag_once(session, engine):
    comment_statements(engine)
    comment_statements(engine)
    statements = executed(engine)
    tag = act(lambda: session.execute(text("SELECT 1")))

    assert statements == [f"SELECT 1 /*causal_tag='{tag}'*/"]


def test_statements_outside_any_action_have_no_comment(session, engine):
    comment_statements(engine)
    statements = executed(engine)
    session.execute(text("SELECT 1"))

    assert statements == ["SELECT 1"]


def test_a_missing_sqlalchemy_is_reported_with_its_extra():
    program = "import sys; sys.modules['sqlalchemy'] = None; import deltaspan.stamps.sqlalchemy"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert ended.stderr.splitlines()[-1] == (
        "ImportError: deltaspan.stamps.sqlalchemy needs SQLAlchemy 2: pip install 'deltaspan[sqlalchemy]'"
    )
