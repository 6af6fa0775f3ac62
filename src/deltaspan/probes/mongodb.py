"""Probes of MongoDB: document counts and documents.

    >>> from pymongo import MongoClient
    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import mongodb
    >>> shop = MongoClient("mongodb://db.internal", connect=False)["shop"]
    >>> checks = (
    ...     change("orders", mongodb.count(shop["orders"], {"tenant": "{tenant}"})).by(1),
    ...     unchanged("prices", mongodb.documents(shop["prices"], key="sku", fields=["amount", "currency"])),
    ... )

A collection is one of PyMongo, of a `MongoClient`, or for async actions of an `AsyncMongoClient`. In the
texts of a filter, `{name}` stands for the action's argument of that name, or `{causal_tag}`, which scopes the
check. A text that is one field alone becomes the value with its type, so a number stays a number. In `$regex`
the value is matched literally. A mapping or a list is rejected as a value, since it could be an operator. A
field may not stand within `$where`, `$expr`, `$text`, `$jsonSchema`, a compiled pattern or the name of a
compared field. Double a brace that is part of the text.

Cost, from the cheapest: `size` reads a number that the server keeps. `count` walks an index, or without a
suitable index the whole collection. `documents` fetches documents, so name the fields that matter.

One read is one query, outside of any transaction, with the read concern and preference of the collection. By
default ("local") it is not a snapshot: a long query may see some concurrent writes and miss others. On a
replica set, `collection.with_options(read_concern=ReadConcern("snapshot"))` makes it a snapshot of the
majority's data; then let the action write with `w="majority"`. Read from the primary, since a secondary lags
behind. Work of a transaction is seen once it is committed.

If MongoDB cannot be read, the check is inconclusive, with the error text of the server: no connection (after
`serverSelectionTimeoutMS`, 30 seconds), a wrong password, no permission to `find`. It is also inconclusive
above `limit` documents. A collection that does not exist is empty.

The module needs PyMongo: `pip install 'deltaspan[mongodb]'`. It was tested against FerretDB, which speaks the
protocol of MongoDB, and not against MongoDB itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeVar, overload

from deltaspan.checks import said
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._base.requests import RequestSteps, request_probe

try:
    from pymongo.asynchronous.collection import AsyncCollection
    from pymongo.collection import Collection
except ImportError:
    raise ImportError("deltaspan.probes.mongodb needs PyMongo: pip install 'deltaspan[mongodb]'") from None

from deltaspan.probes._mongodb._values import fill_filter, filter_fields, to_key, to_python, value_at

__all__ = ["count", "documents", "size"]

S = TypeVar("S")
Filter: TypeAlias = Mapping[str, Any]
Documents: TypeAlias = dict[Hashable, dict[str, Any]]
_ALL: Final[Filter] = {}
_MAX_DOCUMENTS: Final = 100_000


class MongoReadError(Exception):
    """A server answered, but its answer cannot be the state."""


@overload
def size(collection: Collection[Any]) -> StateProbe[int]: ...
@overload
def size(collection: AsyncCollection[Any]) -> AsyncStateProbe[int]: ...
def size(collection: Collection[Any] | AsyncCollection[Any]) -> StateProbe[int] | AsyncStateProbe[int]:
    """Read the server's estimate of the number of documents, at no cost.

    The estimate may be wrong after a crash of the server, and in a sharded cluster. `count` is exact.

    Args:
        collection: see the module.

    Raises:
        DefinitionTypeError: it is not a collection of PyMongo.

    Example:
        >>> from deltaspan import unchanged
        >>> from pymongo import MongoClient
        >>> unchanged("orders", size(MongoClient(connect=False)["shop"]["orders"]))
        unchanged('orders', mongodb.size(shop.orders))
    """

    def steps() -> RequestSteps[int]:
        return int((yield collection.estimated_document_count()))

    return _probe("size", collection, steps)


@overload
def count(collection: Collection[Any], filter: Filter = ...) -> StateProbe[int]: ...
@overload
def count(collection: AsyncCollection[Any], filter: Filter = ...) -> AsyncStateProbe[int]: ...
def count(
    collection: Collection[Any] | AsyncCollection[Any],
    filter: Filter = _ALL,  # noqa: A002  # as PyMongo calls it
) -> StateProbe[int] | AsyncStateProbe[int]:
    """Count the documents that match a filter.

    Args:
        collection: see the module.
        filter: as `count_documents()` takes it, without `$where` and `$near`; all documents by default.

    Raises:
        DefinitionTypeError: it is not a collection of PyMongo, or the filter is not a mapping.
        DefinitionValueError: a field is not a plain name, or stands at a place that takes no field.

    Example:
        >>> from deltaspan import change
        >>> from pymongo import MongoClient
        >>> orders = MongoClient(connect=False)["shop"]["orders"]
        >>> change("orders", count(orders, {"tenant": "{tenant}"})).by(1)
        change('orders', mongodb.count(shop.orders, {'tenant': '{tenant}'})).by(1)
    """
    needs = filter_fields(filter)

    def steps(**values: Any) -> RequestSteps[int]:
        return int((yield collection.count_documents(fill_filter(filter, values))))

    return _probe("count", collection, steps, needs, filter=filter or None)


@overload
def documents(
    collection: Collection[Any],
    filter: Filter = ...,
    *,
    key: str = ...,
    fields: Iterable[str] | None = ...,
    limit: int = ...,
) -> StateProbe[Documents]: ...
@overload
def documents(
    collection: AsyncCollection[Any],
    filter: Filter = ...,
    *,
    key: str = ...,
    fields: Iterable[str] | None = ...,
    limit: int = ...,
) -> AsyncStateProbe[Documents]: ...
def documents(
    collection: Collection[Any] | AsyncCollection[Any],
    filter: Filter = _ALL,  # noqa: A002  # as PyMongo calls it
    *,
    key: str = "_id",
    fields: Iterable[str] | None = None,
    limit: int = _MAX_DOCUMENTS,
) -> StateProbe[Documents] | AsyncStateProbe[Documents]:
    """Read the documents that match a filter: key → document.

    Values are plain Python values. An ObjectId becomes the str of its 24 digits, so an ObjectId that is
    replaced by that str reads the same. A Decimal128 becomes a Decimal, a UUID a UUID (in any byte
    order), binary of more than 64 bytes its size and a digest, and a type without a Python counterpart
    (Timestamp, Regex, Code) the text of its `repr`. Types that the codec options of the collection decode
    stay as decoded.

    Documents are content: reports name what changed in them by key and path. Values are shown of the
    fields that `fields` names, or if the check has `.showing()`.

    Args:
        collection: see the module.
        filter: as `find()` takes it; all documents by default.
        key: a field that is unique among them, or a dotted path.
        fields: the fields of the state besides `_id` and the key, or dotted paths; all fields if None.
        limit: the most documents. With more, the check is inconclusive.

    Raises:
        DefinitionTypeError: as for `count`; or `fields` is a str, or contains something else than str.
        DefinitionValueError: as for `count`; or the limit is not a positive int.

    Example:
        >>> from deltaspan import change
        >>> from pymongo import MongoClient
        >>> orders = MongoClient(connect=False)["shop"]["orders"]
        >>> change("orders", documents(orders, {"by": "{user}"}, fields=["paid"])).adding(count=1)
        change('orders', mongodb.documents(shop.orders, {'by': '{user}'}, fields=['paid'])).adding(count=1)
    """
    needs = filter_fields(filter)
    field_names = None if fields is None or isinstance(fields, str) else list(fields)
    if (fields is None) != (field_names is None) or not all(
        isinstance(name, str) for name in [key, *(field_names or ())]
    ):
        raise DefinitionTypeError(
            f"documents() takes key= as a str and fields= as a list of str, not {fields!r}"
        )
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise DefinitionValueError(f"limit= is a number of documents, not {limit!r}")
    projection = None if field_names is None else [key, *field_names]

    def steps(**values: Any) -> RequestSteps[Documents]:
        cursor = collection.find(fill_filter(filter, values), projection, limit=limit + 1)
        rows = yield cursor.to_list()
        if len(rows) > limit:
            raise MongoReadError(
                f"there are more than {limit} documents: narrow the filter, count them with `count`, or "
                f"raise limit="
            )
        state = {to_key(value_at(document, key)): to_python(document) for document in rows}
        if len(state) < len(rows):
            raise MongoReadError(f"two documents have the same {key!r}; name a unique field in key=")
        return state

    return _probe(
        "documents", collection, steps, needs, filter=filter or None,
        key=None if key == "_id" else key, fields=field_names,
        limit=None if limit == _MAX_DOCUMENTS else limit,
    )  # fmt: skip


def _probe(
    function: str,
    collection: Any,
    steps: Callable[..., RequestSteps[S]],
    needs: Iterable[str] = (),
    **options: Any,
) -> StateProbe[S] | AsyncStateProbe[S]:
    is_async = isinstance(collection, AsyncCollection)
    if not is_async and not isinstance(collection, Collection):
        raise DefinitionTypeError(
            f"mongodb.{function}() reads a collection of PyMongo, client['shop']['orders'], not a "
            f"{type(collection).__name__}"
        )
    values = options.pop("filter", None)
    call = said(f"mongodb.{function}", *([] if values is None else [values]), **options)
    separator = "" if call.endswith("()") else ", "
    call = call.replace("(", f"({collection.full_name}{separator}", 1)
    content = function == "documents" and options.get("fields") is None
    return request_probe(steps, call, needs, _secrets(collection), is_async=is_async, content=content)


def _secrets(collection: Any) -> list[str]:
    options = collection.database.client.options.pool_options
    password = getattr(getattr(options, "_credentials", None), "password", None)
    return [password] if password else []
