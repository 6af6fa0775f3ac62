"""Stamps on rows: a mixin for SQLAlchemy's declarative models, and a comment on statements.

The stamp of a row is the action that was current when the row was written, which is at flush: commit inside
the action. What stamps it, and what does not:

- Objects of a session, inserted or updated: always, whatever was assigned to the attributes.
- `insert()` and `update()` in bulk, through the ORM or on `Model.__table__`, and the legacy `bulk_*` methods:
  where the statement does not name the columns itself. As with any default, SQLAlchemy refuses
  `from_select` of a UNION: make it a subquery.
- Not: in joined-table inheritance, rows changed in bulk by values of the child's table alone, since the stamp
  is a column of the parent's, which such a statement does not touch. Change objects of a session, or name
  the columns: with each set of values of an update by primary key, or in a second `update(Parent)`.
- Not: `on_conflict_do_update` and `on_duplicate_key_update` (name the columns in `set_`), statements written
  as text, triggers, other clients. A row that they change keeps the stamp that it had. Nothing marks a
  deletion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deltaspan.causal_tag import current_causal_root, current_causal_tag

try:
    from sqlalchemy import String, event
    from sqlalchemy.orm import Mapped, declared_attr, mapped_column, object_session
except ImportError as error:
    raise ImportError(
        "deltaspan.stamps.sqlalchemy needs SQLAlchemy 2: pip install 'deltaspan[sqlalchemy]'"
    ) from error

__all__ = ["CausalStamp", "comment_statements"]

_LENGTH = 36  # of a UUID's canonical text


class CausalStamp:
    """A mixin for a declarative model: which action wrote the row last; NULL outside any action.

    It stands before or behind the base. In a model that is a dataclass the two are attributes like those of
    any model but no fields: `__init__` does not take them, `repr` and `==` do not look at them.

    Attributes:
        causal_tag: the tag of the action, indexed.
        causal_root: the tag of the outermost action that it belongs to.

    Example:
        >>> from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
        >>> class Base(DeclarativeBase): ...
        >>> class Flow(CausalStamp, Base):
        ...     __tablename__ = "flows"
        ...     id: Mapped[int] = mapped_column(primary_key=True)
        >>> Flow.__table__.columns.keys()
        ['id', 'causal_tag', 'causal_root']
    """

    if TYPE_CHECKING:
        causal_tag: Mapped[str | None]
        causal_root: Mapped[str | None]
    else:
        # Without an annotation that is there at run time a column is mapped and is no field: a model that is
        # a dataclass would refuse fields of a mixin that is none, and a plain model one that is.
        causal_tag = declared_attr(lambda _: _stamp(current_causal_tag, index=True))
        causal_root = declared_attr(lambda _: _stamp(current_causal_root))


def _stamp(current: Callable[[], str | None], *, index: bool = False) -> Any:
    return mapped_column(
        String(_LENGTH), nullable=True, index=index, insert_default=current, onupdate=current, sort_order=1
    )


@event.listens_for(CausalStamp, "before_insert", propagate=True)
def _inserted(mapper: Any, connection: Any, target: CausalStamp) -> None:  # noqa: ARG001  # SQLAlchemy's
    target.causal_tag, target.causal_root = current_causal_tag(), current_causal_root()


@event.listens_for(CausalStamp, "before_update", propagate=True)
def _updated(mapper: Any, connection: Any, target: CausalStamp) -> None:
    # Also sent for objects of which no column changed; a stamp must not be what makes it an UPDATE.
    session = object_session(target)
    if session is not None and session.is_modified(target, include_collections=False):
        _inserted(mapper, connection, target)


def comment_statements(engine: Any) -> None:
    """Write the current tag as a comment behind each statement, in the form of sqlcommenter.

    For databases whose logs you read, and for statements that no mixin reaches. Each action makes other
    texts of its statements: caches of prepared statements stop working and statistics by text grow without
    bound, so nobody gets this without asking.

    Args:
        engine: an Engine or AsyncEngine.

    Example:
        >>> from sqlalchemy import create_engine
        >>> engine = create_engine("sqlite://")
        >>> comment_statements(engine)
    """
    event.listen(getattr(engine, "sync_engine", engine), "before_cursor_execute", _with_comment, retval=True)


def _with_comment(
    connection: Any,  # noqa: ARG001  # what SQLAlchemy calls it with, as are those below
    cursor: Any,  # noqa: ARG001
    statement: str,
    parameters: Any,
    context: Any,  # noqa: ARG001
    executemany: bool,  # noqa: ARG001, FBT001
) -> tuple[str, Any]:
    tag = current_causal_tag()
    return (statement if tag is None else f"{statement} /*causal_tag='{tag}'*/"), parameters
