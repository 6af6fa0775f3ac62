"""Rows to a tagged state: key → tag, of plain values alone, so that it freezes and travels like any mapping.

Of a row nothing is kept but its key, its tag and, where asked for, the root: a live row of an ORM will do,
and so will a mapping, a named tuple, a record, or a plain tuple by position.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias
from uuid import UUID

from deltaspan._state.snapshot import MAX_NODES, Unfreezable
from deltaspan._interrupts import let_through
from deltaspan._state.render._render import show

__all__ = ["Field", "as_text", "records_by_key", "tags_by_key"]

Field: TypeAlias = str | int | Callable[[Any], Any]
"""What of a row: the name of an item or an attribute, the position of an item, or a callable."""

_UUID_BYTES: Final = 16


def tags_by_key(
    rows: Any,
    key: Field,
    tag: Field,
    root: Field | None,
    source: str,
    content: Callable[[Any, str], str] | None = None,
) -> dict[Hashable, object]:
    """Return key → tag of rows; key → (tag, root) with a root, key → (tag, root, fingerprint) with content.

    Args:
        rows: an iterable of rows.
        key: what is unique among them.
        tag: the causal tag of whoever wrote the row last; None or empty text for none.
        root: the tag of the outermost run, or None to leave it out.
        source: where rows come from, for a sentence: "a row of orders".
        content: returns the fingerprint of a row, given the row and the source; None to leave it out.

    Raises:
        LookupError: a row lacks one of the three.
        TypeError: these are no rows.
        Unfreezable: two rows have the same key, a key cannot be one, or there is no end to the rows.
    """
    read_tag = _reader(tag, "tag", source)
    read_root = None if root is None else _reader(root, "root", source)
    state: dict[Hashable, object] = {}
    for name, row in _by_key(rows, _reader(key, "key", source), source, "tagged"):
        own = as_text(read_tag(row))
        its_root = None if read_root is None else as_text(read_root(row))
        if content is not None:
            state[name] = (own, its_root, content(row, source))
        else:
            state[name] = own if read_root is None else (own, its_root)
    return state


def records_by_key(records: Any, key: Field, source: str) -> dict[Hashable, Any]:
    """Return key → record.

    Args:
        records: an iterable of records.
        key: what is unique among them.
        source: where they come from, for a sentence.

    Raises:
        TypeError: these are no records.
        Unfreezable: two records have the same key, one has none, or there is no end to them.
    """
    read = _reader(key, "key", source)

    def key_of(record: Any) -> Any:
        try:
            return read(record)
        except LookupError as error:
            raise Unfreezable(f"{error.args[0] if error.args else error}; each record needs a key") from None

    return dict(_by_key(records, key_of, source, "keyed"))


def _by_key(
    rows: Any, read_key: Callable[[Any], Any], source: str, word: str
) -> Iterator[tuple[Hashable, Any]]:
    """Yield key and row, one by one, so that no more of a row is kept than is needed."""
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise TypeError(
            f"{word}() reads rows, and {source} gave a {type(rows).__name__} (return a list of rows)"
        )
    found: set[Hashable] = set()
    for row in rows:
        name = read_key(row)
        try:
            known = name in found
        except TypeError:
            raise Unfreezable(
                f"a row of {source} has the key {show(name)}, which does not hash: let key= give a number or "
                f"text"
            ) from None
        if known:
            raise Unfreezable(
                f"two rows of {source} have the key {show(name)}: let key= name what is unique among them"
            )
        found.add(name)
        if len(found) > MAX_NODES:
            raise Unfreezable(
                f"{source} gave more than {MAX_NODES} rows: read those that the action may write"
            )
        yield name, row


def as_text(tag: Any) -> str | None:
    """Return a tag as the text that it compares by; None for what is no tag."""
    if isinstance(tag, bytes | bytearray | memoryview):
        data = bytes(tag)
        tag = UUID(bytes=data) if len(data) == _UUID_BYTES else data.decode("utf-8", "replace")
    if tag is None or (isinstance(tag, float) and tag != tag):  # noqa: PLR0124  # NaN, which pandas has for None
        return None
    text = str(tag).strip()
    try:
        return str(UUID(text)) if text else None  # however a database writes one: bare, in braces, as a URN
    except ValueError:
        return text


def _reader(field: Field, role: str, source: str) -> Callable[[Any], Any]:
    if callable(field):
        return field

    def read(row: Any) -> Any:
        found = (
            _item(row, field) if isinstance(field, int) or hasattr(row, "keys") else _attribute(row, field)
        )
        if found is not _MISSING:
            return found
        raise LookupError(f"a row of {source} has no {field!r}, which {role}= names (it {_contents(row)})")

    return read


def _item(row: Any, field: str | int) -> Any:
    try:
        return row[field]
    except LookupError:
        return _MISSING
    except Exception as error:  # it has keys, and yet no items
        let_through(error)
        return _attribute(row, field)


def _attribute(row: Any, field: str | int) -> Any:
    return getattr(row, field, _MISSING) if isinstance(field, str) else _MISSING


_MISSING: Final = object()


def _contents(row: Any) -> str:
    if hasattr(row, "keys"):
        return f"has {show(tuple(row.keys()))}"
    names = getattr(row, "_fields", None) or getattr(row, "__slots__", None) or getattr(row, "__dict__", None)
    if names and not isinstance(names, str):
        return f"has {show(tuple(names))}"
    return f"has {len(row)} items" if isinstance(row, tuple | list) else f"is of type {type(row).__name__}"
