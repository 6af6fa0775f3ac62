"""Causal tags in rows of dataclasses and of mapped subclasses."""

from __future__ import annotations

import dataclasses

import pytest
from sqlalchemy import ForeignKey, create_engine, insert, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, Session, mapped_column, registry

from deltaspan import current_causal_tag, expects, observe
from deltaspan.causal_tag import current_causal_root
from deltaspan.stamps.sqlalchemy import CausalStamp


class PlainBase(DeclarativeBase):
    pass


class DataBase(MappedAsDataclass, DeclarativeBase):
    metadata = PlainBase.metadata


class BeforeData(CausalStamp, DataBase):
    __tablename__ = "before_data"
    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(default="")


class BehindData(DataBase, CausalStamp):
    __tablename__ = "behind_data"
    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(default="")


class BeforeBoth(CausalStamp, MappedAsDataclass, PlainBase):
    __tablename__ = "before_both"
    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(default="")


class Between(MappedAsDataclass, CausalStamp, PlainBase):
    __tablename__ = "between"
    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(default="")


class BehindBoth(MappedAsDataclass, PlainBase, CausalStamp):
    __tablename__ = "behind_both"
    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(default="")


@registry(metadata=PlainBase.metadata).mapped_as_dataclass
class Decorated(CausalStamp):
    __tablename__ = "decorated"
    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(default="")


class Behind(PlainBase, CausalStamp):
    __tablename__ = "behind"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="")


DATACLASSES = [BeforeData, BehindData, BeforeBoth, Between, BehindBoth, Decorated]


def called(model):
    return model.__name__


@pytest.fixture
def session():
    engine = create_engine("sqlite://")
    PlainBase.metadata.create_all(engine)
    with Session(engine) as opened:
        yield opened
    engine.dispose()


@expects(observe("nothing", lambda: 0))
def act(do, *args):
    """Do something as an action, and return its tag."""
    do(*args)
    return current_causal_tag()


def stamps(session, model):
    return session.execute(select(model.causal_tag, model.causal_root)).all()


# Dataclasses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*DATACLASSES, Behind], ids=called)
def test_an_object_is_stamped_at_its_insert_and_at_its_update(session, model):
    def create():
        session.add(model(name="old"))
        session.commit()

    def rename():
        session.scalars(select(model)).one().name = "new"
        session.commit()

    created = act(create)
    assert stamps(session, model) == [(created, created)]

    renamed = act(rename)
    assert stamps(session, model) == [(renamed, renamed)]


@pytest.mark.parametrize("model", [*DATACLASSES, Behind], ids=called)
def test_rows_inserted_and_updated_in_bulk_are_stamped(session, model):
    inserted = act(lambda: session.execute(insert(model), [{"name": "a"}, {"name": "b"}]))
    assert stamps(session, model) == [(inserted, inserted)] * 2

    updated = act(lambda: session.execute(update(model).values(name="new")))
    assert stamps(session, model) == [(updated, updated)] * 2


@pytest.mark.parametrize("model", DATACLASSES, ids=called)
def test_the_stamp_is_not_a_field_of_a_dataclass(model):
    assert [field.name for field in dataclasses.fields(model)] == ["id", "name"]
    assert model.__table__.columns.keys() == ["id", "name", "causal_tag", "causal_root"]
    with pytest.raises(TypeError, match="causal_tag"):
        model(causal_tag="mine")


@pytest.mark.parametrize("model", DATACLASSES, ids=called)
def test_two_objects_that_say_the_same_are_equal_whoever_wrote_them(session, model):
    def create():
        session.add(model(name="same"))
        session.commit()

    act(create)
    written, unwritten = session.scalars(select(model)).one(), model(name="same")
    unwritten.id = written.id

    assert (written.causal_tag is None, unwritten.causal_tag, written) == (False, None, unwritten)


# Inheritance ----------------------------------------------------------------------------------------------


class Task(CausalStamp, PlainBase):
    __tablename__ = "tasks"
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "task"}  # noqa: RUF012  # SQLAlchemy's
    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(default="task")
    title: Mapped[str] = mapped_column(default="")


class Joined(Task):
    __tablename__ = "joined"
    __mapper_args__ = {"polymorphic_identity": "joined"}  # noqa: RUF012  # SQLAlchemy's
    id: Mapped[int] = mapped_column(ForeignKey("tasks.id"), primary_key=True)
    size: Mapped[int] = mapped_column(default=0)


class InOneTable(Task):
    __mapper_args__ = {"polymorphic_identity": "in_one_table"}  # noqa: RUF012  # SQLAlchemy's
    colour: Mapped[str | None] = mapped_column()


def named():
    return {"causal_tag": current_causal_tag(), "causal_root": current_causal_root()}


def resize(session):
    session.scalars(select(Joined)).one().size = 1
    session.flush()


def resize_and_stamp_the_parent(session):
    session.execute(update(Joined).values(size=1))
    session.execute(update(Task).where(Task.id.in_(select(Joined.id))).values(named()))


def save_detached(session):
    found = session.scalars(select(Joined)).one()
    session.expunge(found)
    found.size = 1
    session.bulk_save_objects([found])


STAMPED = {
    "an object": (Joined, resize),
    "the parent's values": (Joined, lambda s: s.execute(update(Task).values(title="new"))),
    "values of both": (Joined, lambda s: s.execute(update(Joined), [{"id": 1, "title": "new", "size": 1}])),
    "named": (Joined, lambda s: s.execute(update(Joined), [{"id": 1, "size": 1, **named()}])),
    "named in bulk_update_mappings": (
        Joined,
        lambda s: s.bulk_update_mappings(Joined, [{"id": 1, "size": 1, **named()}]),
    ),
    "a second statement": (Joined, resize_and_stamp_the_parent),
    "one table": (InOneTable, lambda s: s.execute(update(InOneTable).values(colour="red"))),
}


@pytest.mark.parametrize(("made", "do"), STAMPED.values(), ids=STAMPED)
def test_a_row_of_a_subclass_is_stamped_if_columns_of_its_parent_are_written(session, made, do):
    session.add(made())
    session.flush()
    tag = act(do, session)

    assert stamps(session, Task) == [(tag, tag)]


NOT_STAMPED = {
    "where": lambda s: s.execute(update(Joined).values(size=1)),
    "by primary key": lambda s: s.execute(update(Joined), [{"id": 1, "size": 1}]),
    "bulk_update_mappings": lambda s: s.bulk_update_mappings(Joined, [{"id": 1, "size": 1}]),
    "bulk_save_objects": save_detached,
    "legacy query": lambda s: s.query(Joined).update({"size": 1}),
}


@pytest.mark.parametrize("do", NOT_STAMPED.values(), ids=NOT_STAMPED)
def test_a_bulk_update_of_the_childs_table_alone_leaves_the_stamp_of_before(session, do):
    def create():
        session.add(Joined())
        session.flush()

    created = act(create)
    act(do, session)

    session.expire_all()
    assert session.scalars(select(Joined.size)).all() == [1]
    assert stamps(session, Task) == [(created, created)]


def test_a_row_of_a_child_inserted_in_bulk_is_stamped(session):
    tag = act(lambda: session.execute(insert(Joined), [{"size": 1}, {"size": 2}]))

    assert stamps(session, Task) == [(tag, tag)] * 2


def test_the_columns_stand_once_in_the_table_of_the_parent():
    assert Joined.__table__.columns.keys() == ["id", "size"]
    assert {"causal_tag", "causal_root"} < set(Task.__table__.columns.keys())
