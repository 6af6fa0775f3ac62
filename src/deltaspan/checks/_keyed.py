"""`keyed`: turns a probe of a list of records into one of key → record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Any

from deltaspan._callables import is_async
from deltaspan._state.render import show
from deltaspan.checks._probe import source_text, take_settings
from deltaspan.checks._rows import AsyncRowProbe, Field, RowProbe, is_field, records_by_key
from deltaspan.exceptions import DefinitionTypeError


class _Keyed(RowProbe):
    """A probe of key → record, made by `keyed(...)`."""

    def __init__(self, probe: Callable[..., Any], key: Field, words: str) -> None:
        super().__init__(probe, words)
        self._key = key

    def _keyed(self, rows: Any) -> dict[Hashable, Any]:
        return records_by_key(rows, self._key, self._source)


class _AsyncKeyed(AsyncRowProbe, _Keyed):
    pass


def keyed(
    read: Callable[..., Iterable[Any]] | Callable[..., Awaitable[Iterable[Any]]], key: Field
) -> Callable[..., Any]:
    """Turn a probe of a record list into a probe of key → record.

    In a list, a record is identified by its place alone. By key, a check says which record may change,
    wherever it stands: `adding(3)`, `modifying("2/status")`, `only("2/**")`. The order of the list is no
    longer part of the state.

    Args:
        read: the probe of the list. It may be async, and its parameters are those of the new probe.
        key: the field that is unique among the records: the name of an item or attribute, the position of an
            item, or a callable that takes the record. If two records have the same key, or one has none, the
            check is inconclusive.

    Raises:
        DefinitionTypeError: the probe is not callable, or the key is not such a field.

    Example:
        >>> from deltaspan import change, keyed, window
        >>> orders = [{"id": 1, "status": "new"}, {"id": 2, "status": "new"}]
        >>> by_id = keyed(lambda: orders, "id")
        >>> with window("pay", change("orders", by_id).only("2/status")) as w:
        ...     orders[1]["status"] = "paid"
        >>> w.report["orders"].explanation  # doctest: +ELLIPSIS
        "orders modified '2/status' ('new' → 'paid'), as expected..."
    """
    if not callable(read):
        raise DefinitionTypeError(
            f"keyed() wraps a probe, which must be callable, not {show(read)}; pass the function, not its "
            f"result"
        )
    if not is_field(key):
        raise DefinitionTypeError(
            f"keyed(key=...) takes the name of an item or attribute, a position, or a callable that reads it "
            f"from a record, not {show(key)}"
        )
    kind = _AsyncKeyed if is_async(read) else _Keyed
    wrapper = kind(read, key, f"keyed({source_text(read)}, {source_text(key)})")
    return take_settings(wrapper, read)
