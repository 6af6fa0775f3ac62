"""Types of SQL probes: the state of each, and the words that fit it."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker
from typing_extensions import assert_type

from deltaspan import change, unchanged
from deltaspan.checks import Change, Unchanged
from deltaspan.probes import sql


class Base(DeclarativeBase):
    pass


class Flow(Base):
    __tablename__ = "flows"
    id: Mapped[int] = mapped_column(primary_key=True)


def given(session: Session) -> Session:
    return session


def given_later(session: AsyncSession) -> AsyncSession:
    return session


def check(
    engine: Engine, session: Session, connection: Connection, later: AsyncEngine, later_session: AsyncSession
) -> None:
    change("x", sql.rows(engine, "flows", where="tenant = :tenant", params={"tenant": "acme"})).by(1)
    assert_type(change("x", sql.rows(engine, "flows")), Change[int])
    assert_type(change("x", sql.rows(session, "flows")), Change[int])
    assert_type(change("x", sql.rows(connection, "flows")), Change[int])
    assert_type(change("x", sql.rows(sqlite3.connect(""), "flows")), Change[int])
    assert_type(change("x", sql.rows(lambda: sqlite3.connect(""), "flows")), Change[int])
    assert_type(change("x", sql.rows(later, "flows")), Change[int])
    assert_type(change("x", sql.rows(later_session, "flows")), Change[int])
    assert_type(change("x", sql.rows(given, Flow)), Change[int])
    assert_type(change("x", sql.rows(given_later, Flow.__table__)), Change[int])
    assert_type(change("x", sql.rows(sessionmaker(engine), Flow)), Change[int])
    assert_type(change("x", sql.rows(async_sessionmaker(later), Flow)), Change[int])
    change("x", sql.records(given, Flow)).adding(7).showing()
    change("x", sql.scalar(given, select(Flow.id))).by(1)
    change("x", sql.query(later, select(Flow))).adding({"id": 1})
    sql.query(engine, 3)  # type: ignore[call-overload]
    change("x", sql.rows(engine, "flows")).adding(1)  # type: ignore[misc]
    change("x", sql.rows(later, "flows")).adding(1)  # type: ignore[misc]
    sql.rows("sqlite://", "flows")  # type: ignore[call-overload]
    sql.rows(engine)  # type: ignore[call-overload]

    assert_type(change("x", sql.records(engine, "flows")), Change[Mapping[Any, Mapping[str, Any]]])
    assert_type(change("x", sql.records(later, "flows")), Change[Mapping[Any, Mapping[str, Any]]])
    change("x", sql.records(engine, "flows", key="id", columns=["a", "b"])).adding(7).modifying("8/a")
    change("x", sql.records(engine, "flows", tag="causal_tag")).by(1)
    change("x", sql.records(later, "flows", tag="causal_tag", root="causal_root")).by(1)
    sql.records(engine, "flows", tag="causal_tag", columns="a")  # type: ignore[call-overload]

    change("x", sql.scalar(engine, "SELECT 1")).by(1)
    change("x", sql.scalar(later, "SELECT 1")).from_("paid")
    change("x", sql.query(engine, "SELECT 1")).adding({"a": 1})
    change("x", sql.query(engine, "SELECT 1")).by(1)  # type: ignore[misc]

    database = sql.database(engine, exclude=["flows"])
    assert_type(unchanged("x", database), Unchanged[dict[str, dict[Any, Any]]])
    change("x", sql.database(later)).only("flows/*")
    sql.database(engine, exclude="flows", limit="1")  # type: ignore[call-overload]
