"""Stamps on rows: a mixin for SQLAlchemy's declarative models, and statement comments.

The stamp of a row is the action that was current at the flush that wrote the row, so commit inside the
action.
These writes are stamped:

- Objects of a session, inserted or updated: always, even if the attributes were assigned.
- `insert()` and `update()` in bulk, through the ORM or on `Model.__table__`, and the legacy `bulk_*` methods:
  if the statement does not set the columns itself. As with any default, SQLAlchemy rejects `from_select` of a
  UNION: make it a subquery.

These are not stamped, and rows that they change keep their stamp:

- In joined-table inheritance, bulk changes of the child's table alone. The stamp is a column of the parent's
  table, which such a statement does not change. Change objects of a session, or set the columns: in each set
  of values of an update by primary key, or in a second `update(Parent)`.
- `on_conflict_do_update` and `on_duplicate_key_update` (set the columns in `set_`), textual statements,
  triggers, and other clients.

A deletion leaves no stamp.
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

_LENGTH = 36  # characters of a UUID's canonical text


class CausalStamp:
    """A mixin for a declarative model: columns with the last writer's tag.

    Outside any action they are NULL. The mixin may be before or after the base. If the model is a dataclass,
    the columns are not fields: `__init__` does not take them, and `repr` and `==` ignore them.

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
        # Without an annotation at run time a column is mapped, but is not a field. A dataclass model
        # rejects fields of a mixin that is not a dataclass, and a plain model rejects a mixin that is one.
        causal_tag = declared_attr(lambda _: _stamp(current_causal_tag, index=True))
        causal_root = declared_attr(lambda _: _stamp(current_causal_root))


def _stamp(current: Callable[[], str | None], *, index: bool = False) -> Any:
    return mapped_column(
        String(_LENGTH), nullable=True, index=index, insert_default=current, onupdate=current, sort_order=1
    )


@event.listens_for(CausalStamp, "before_insert", propagate=True)
def _stamp_insert(mapper: Any, connection: Any, target: CausalStamp) -> None:  # noqa: ARG001  # SQLAlchemy's
    target.causal_tag, target.causal_root = current_causal_tag(), current_causal_root()


@event.listens_for(CausalStamp, "before_update", propagate=True)
def _stamp_update(mapper: Any, connection: Any, target: CausalStamp) -> None:
    # The event also occurs for objects without a changed column. A stamp alone must not cause an UPDATE.
    session = object_session(target)
    if session is not None and session.is_modified(target, include_collections=False):
        _stamp_insert(mapper, connection, target)


def comment_statements(engine: Any) -> None:
    """Append the current tag to each statement as a comment, in sqlcommenter's form.

    Use it if you read the logs of the database, or for statements that the mixin does not reach. Every action
    has statements with different texts. So caches of prepared statements stop working, and statistics by text
    grow without bound. Therefore it is off by default.

    Args:
        engine: an Engine or AsyncEngine.

    Example:
        >>> from sqlalchemy import create_engine
        >>> engine = create_engine("sqlite://")
        >>> comment_statements(engine)
    """
    event.listen(getattr(engine, "sync_engine", engine), "before_cursor_execute", _with_comment, retval=True)


def _with_comment(
    connection: Any,  # noqa: ARG001  # SQLAlchemy's interface, like those below
    cursor: Any,  # noqa: ARG001
    statement: str,
    parameters: Any,
    context: Any,  # noqa: ARG001
    executemany: bool,  # noqa: ARG001, FBT001
) -> tuple[str, Any]:
    tag = current_causal_tag()
    return (statement if tag is None else f"{statement} /*causal_tag='{tag}'*/"), parameters
