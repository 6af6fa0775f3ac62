"""Wrappers of probes that read rows, which return the rows by key."""

from __future__ import annotations

import inspect
import weakref
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping
from inspect import isawaitable
from typing import Any, Final, TypeAlias
from uuid import UUID

from deltaspan._callables import parameters_of
from deltaspan._concurrency import keep_newest
from deltaspan._interrupts import let_through
from deltaspan._state.render import show
from deltaspan._state.snapshot import MAX_NODES, Unfreezable

Field: TypeAlias = str | int | Callable[[Any], Any]
"""A field of a row: the name of an item or attribute, the position of an item, or a callable."""

_UUID_BYTES: Final = 16


def tags_by_key(
    rows: Any,
    key: Field,
    tag: Field,
    root: Field | None,
    source: str,
    content: Callable[[Any, str], str] | None = None,
) -> dict[Hashable, object]:
    """Return key → tag of each row.

    With a root the value is (tag, root), with content it is (tag, root, fingerprint).

    Args:
        rows: an iterable of rows.
        key: the field that is unique among the rows.
        tag: the field with the causal tag of the row's last writer. It is None or empty without a tag.
        root: the field with the tag of the outermost run, or None to leave it out.
        source: the place that rows come from, for a sentence: "a row of orders".
        content: a function of the row and the source that returns a fingerprint, or None to leave it out.

    Raises:
        LookupError: a row lacks one of the fields.
        TypeError: the value is not an iterable of rows.
        Unfreezable: two rows have the same key, a key does not hash, or there are too many rows.
    """
    read_tag = _reader(tag, "tag", source)
    read_root = None if root is None else _reader(root, "root", source)
    state: dict[Hashable, object] = {}
    for name, row in _by_key(rows, _reader(key, "key", source), source, "tagged"):
        row_tag = tag_text(read_tag(row))
        row_root = None if read_root is None else tag_text(read_root(row))
        if content is not None:
            state[name] = (row_tag, row_root, content(row, source))
        else:
            state[name] = row_tag if read_root is None else (row_tag, row_root)
    return state


def records_by_key(records: Any, key: Field, source: str) -> dict[Hashable, Any]:
    """Return key → record.

    Args:
        records: an iterable of records.
        key: the field that is unique among the records.
        source: the place that records come from, for a sentence.

    Raises:
        TypeError: the value is not an iterable of records.
        Unfreezable: two records have the same key, a record has none, or there are too many records.
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
    """Yield key and row one by one.

    The caller then keeps no more of a row than it needs.
    """
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise TypeError(
            f"{word}() reads rows, and {source} gave a {type(rows).__name__} (return a list of rows)"
        )
    keys: set[Hashable] = set()
    for row in rows:
        name = read_key(row)
        try:
            is_known = name in keys
        except TypeError:
            raise Unfreezable(
                f"a row of {source} has the key {show(name)}, which does not hash: let key= give a number or "
                f"text"
            ) from None
        if is_known:
            raise Unfreezable(
                f"two rows of {source} have the key {show(name)}: let key= name what is unique among them"
            )
        keys.add(name)
        if len(keys) > MAX_NODES:
            raise Unfreezable(
                f"{source} gave more than {MAX_NODES} rows: read those that the action may write"
            )
        yield name, row


def tag_text(tag: Any) -> str | None:
    """Return a tag as normalized text, or None if it is not a tag."""
    if isinstance(tag, bytes | bytearray | memoryview):
        data = bytes(tag)
        tag = UUID(bytes=data) if len(data) == _UUID_BYTES else data.decode("utf-8", "replace")
    if tag is None or (isinstance(tag, float) and tag != tag):  # noqa: PLR0124  # NaN, which pandas has for None
        return None
    text = str(tag).strip()
    try:
        return str(UUID(text)) if text else None  # one form for all: bare, in braces, as a URN
    except ValueError:
        return text


def _reader(field: Field, role: str, source: str) -> Callable[[Any], Any]:
    if callable(field):
        return field

    def read(row: Any) -> Any:
        by_item = isinstance(field, int) or hasattr(row, "keys")
        value = _item(row, field) if by_item else _attribute(row, field)
        if value is not _MISSING:
            return value
        raise LookupError(f"a row of {source} has no {field!r}, which {role}= names (it {_contents(row)})")

    return read


def _item(row: Any, field: str | int) -> Any:
    try:
        return row[field]
    except LookupError:
        return _MISSING
    except Exception as error:  # the row has keys, but no items
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


_MAX_RETAINED: Final = 8
"""The most iterators that are retained because they take no weak reference."""


class IteratorHistory:
    """The iterators that one probe has returned, for as long as they live.

    A fresh iterator for each read, as from a generator function, is as good as a list. A cursor that runs
    again for each read looks the same as an exhausted one, so it is refused as well.
    """

    __slots__ = ("_retained", "_seen")

    def __init__(self) -> None:
        # By identity. An iterator that takes no weak reference is retained in a list of its own.
        self._seen: dict[int, weakref.ref[Any]] = {}
        self._retained: dict[int, list[Any]] = {}

    def check_unread(self, rows: Any, source: str) -> None:
        """Raise if an iterator was read before, or is known to be exhausted.

        Args:
            rows: the value that the probe returned.
            source: the place that rows come from, for a sentence.

        Raises:
            Unfreezable: the iterator was read before.
        """
        if not isinstance(rows, Iterator):
            return
        closed = inspect.isgenerator(rows) and inspect.getgeneratorstate(rows) == inspect.GEN_CLOSED
        if closed or self._is_known(rows):
            raise Unfreezable(
                f"{source} gave an iterator that was read before ({type(rows).__name__}), so what it leaves "
                f"is not the state: return list(rows), read anew each time"
            )

    def _is_known(self, rows: Any) -> bool:
        """Return whether the iterator was returned before, and remember it."""
        key, seen = id(rows), self._seen

        def forget(dead: weakref.ref[Any]) -> None:
            if seen.get(key) is dead:
                seen.pop(key, None)

        try:
            reference = weakref.ref(rows, forget)
        except TypeError:  # most of Python's own iterators take no weak reference
            entry = [rows]
            is_known = self._retained.setdefault(key, entry) is not entry
            keep_newest(self._retained, _MAX_RETAINED)
            return is_known
        known = seen.setdefault(key, reference)
        if known is reference:
            return False
        if known() is rows:
            return True
        seen[key] = reference  # the earlier iterator is gone, but its callback has not run yet
        return False

    def __reduce__(self) -> tuple[type[IteratorHistory], tuple[()]]:
        return IteratorHistory, ()  # another process has other iterators


class RowProbe:
    """A probe of rows by key, with the parameters of the wrapped probe.

    Args:
        probe: reads rows.
        words: the source text of the call that made this probe.
    """

    def __init__(self, probe: Callable[..., Any], words: str) -> None:
        self._probe = probe
        self._words = words
        self._source = _place_of(probe)
        self._history = IteratorHistory()
        self.__signature__ = inspect.Signature(parameters_of(probe))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        rows = self._probe(*args, **kwargs)
        return self._read_async(rows) if isawaitable(rows) else self._read(rows)

    async def _read_async(self, rows: Awaitable[Any]) -> Any:
        return self._read(await rows)

    def _read(self, rows: Any) -> Any:
        self._history.check_unread(rows, self._source)
        return self._keyed(rows)

    @abstractmethod
    def _keyed(self, rows: Any) -> Any:
        """Return the rows by key."""

    def __repr__(self) -> str:
        return self._words


class AsyncRowProbe(RowProbe):
    """A `RowProbe` of an async probe, which inspection recognizes as async."""

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._read(await self._probe(*args, **kwargs))


def is_field(field: Any) -> bool:
    """Return whether a value can name a field: a name, position or callable."""
    return not isinstance(field, bool) and (callable(field) or isinstance(field, str | int))


def _place_of(probe: Any) -> str:
    """Return the name of the place that rows come from.

    It is the table that a probe names, or else the probe's own name.
    """
    for attribute in ("table", "__name__"):
        name = getattr(probe, attribute, None)
        if isinstance(name, str) and name and name != "<lambda>":
            return name
    return "the probe"
