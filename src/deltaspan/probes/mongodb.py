"""Read collections of MongoDB: how many documents, and which.

    >>> from pymongo import MongoClient
    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import mongodb
    >>> shop = MongoClient("mongodb://db.internal", connect=False)["shop"]
    >>> checks = (
    ...     change("orders", mongodb.count(shop["orders"], {"tenant": "{tenant}"})).by(1),
    ...     unchanged("prices", mongodb.documents(shop["prices"], key="sku", fields=["amount", "currency"])),
    ... )

A collection is PyMongo's, of a `MongoClient`, or for async actions of an `AsyncMongoClient`. In the texts of
a filter, `{name}` stands for the action's argument of that name, or `{causal_tag}`, which scopes the check.
A text that is one field alone gives the value as it is, a number as a number; in `$regex` it is matched as it
is. What could be an operator, a mapping or a list, is no value, and no field may stand within `$where`,
`$expr`, `$text`, `$jsonSchema`, a compiled pattern or the name of what is compared. Write a brace itself
twice.

From the cheapest: `size` reads a number that the server keeps; `count` walks an index, or without one that
fits the whole collection; `documents` fetches what it tells: name the fields that matter.

One read is one query, outside any transaction, with the read concern and preference that the collection has.
By default ("local") it is no snapshot: a query that takes long may see of concurrent writes some and not
others. On a replica set, `collection.with_options(read_concern=ReadConcern("snapshot"))` makes it one, of
what the majority has: let the action write with `w="majority"` then. Read from the primary, since a secondary
lags behind. What the action writes in a transaction is seen once that is committed.

What cannot be read is inconclusive, in the server's words: no connection, which PyMongo waits for as long as
`serverSelectionTimeoutMS` says (30 seconds), a wrong password, no permission to `find`. So is more than
`limit` documents. A collection that does not exist is an empty one.

The module needs PyMongo: `pip install 'deltaspan[mongodb]'`. It was tried against FerretDB, which speaks
MongoDB's protocol, and not against MongoDB itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeVar, overload

from deltaspan.checks import call_text
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._base.requests import Steps, probe_of

try:
    from pymongo.asynchronous.collection import AsyncCollection
    from pymongo.collection import Collection
except ImportError:
    raise ImportError("deltaspan.probes.mongodb needs PyMongo: pip install 'deltaspan[mongodb]'") from None

from deltaspan.probes._mongodb._values import as_key, fields_of_filter, filled_filter, part_of, plain

__all__ = ["count", "documents", "size"]

S = TypeVar("S")
Filter: TypeAlias = Mapping[str, Any]
Documents: TypeAlias = dict[Hashable, dict[str, Any]]
_ALL: Final[Filter] = {}
_MOST: Final = 100_000


class MongoReadError(Exception):
    """Why a server that answers was not read all the same."""


@overload
def size(collection: Collection[Any]) -> StateProbe[int]: ...
@overload
def size(collection: AsyncCollection[Any]) -> AsyncStateProbe[int]: ...
def size(collection: Collection[Any] | AsyncCollection[Any]) -> StateProbe[int] | AsyncStateProbe[int]:
    """Read how many documents the server thinks that a collection has, at no cost.

    After a server has crashed, and in a sharded cluster, it may be off; `count` is exact.

    Args:
        collection: see the module.

    Raises:
        DefinitionTypeError: it is no collection of PyMongo.

    Example:
        >>> from deltaspan import unchanged
        >>> from pymongo import MongoClient
        >>> unchanged("orders", size(MongoClient(connect=False)["shop"]["orders"]))
        unchanged('orders', mongodb.size(shop.orders))
    """

    def steps() -> Steps[int]:
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
        DefinitionTypeError: it is no collection of PyMongo, or the filter is no mapping.
        DefinitionValueError: a field is no plain name, or stands where none may.

    Example:
        >>> from deltaspan import change
        >>> from pymongo import MongoClient
        >>> orders = MongoClient(connect=False)["shop"]["orders"]
        >>> change("orders", count(orders, {"tenant": "{tenant}"})).by(1)
        change('orders', mongodb.count(shop.orders, {'tenant': '{tenant}'})).by(1)
    """
    needs = fields_of_filter(filter)

    def steps(**given: Any) -> Steps[int]:
        return int((yield collection.count_documents(filled_filter(filter, given))))

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
    filter: Filter = _ALL,  # noqa: A002  # likewise
    *,
    key: str = "_id",
    fields: Iterable[str] | None = None,
    limit: int = _MOST,
) -> StateProbe[Documents] | AsyncStateProbe[Documents]:
    """Read the documents that match a filter: key → document, in values of Python's own.

    An ObjectId is the text of its 24 digits, so that one that becomes such a text reads as before. A
    Decimal128 is a Decimal, a UUID a UUID (of whatever order its bytes were written in), binary of more than
    64 bytes its size and a digest, and what Python has no type for (Timestamp, Regex, Code) the text of its
    `repr`. What the codec options of the collection decode is told as they do.

    Documents are content: reports name what changed in them by key and path. Values are shown of the fields
    that `fields` names, or if the check says `.showing()`.

    Args:
        collection: see the module.
        filter: as `find()` takes it; all documents by default.
        key: what is unique among them, a dotted path too.
        fields: what is told of each, besides `_id` and the key; dotted paths too. Everything when None.
        limit: how many documents there may be; with more the check is inconclusive.

    Raises:
        DefinitionTypeError: as for `count`; or `fields` is a text or holds what is none.
        DefinitionValueError: as for `count`; or the limit is no number of documents.

    Example:
        >>> from deltaspan import change
        >>> from pymongo import MongoClient
        >>> orders = MongoClient(connect=False)["shop"]["orders"]
        >>> change("orders", documents(orders, {"by": "{user}"}, fields=["paid"])).adding(count=1)
        change('orders', mongodb.documents(shop.orders, {'by': '{user}'}, fields=['paid'])).adding(count=1)
    """
    needs = fields_of_filter(filter)
    told = None if fields is None or isinstance(fields, str) else list(fields)
    if (fields is None) != (told is None) or not all(isinstance(name, str) for name in [key, *(told or ())]):
        raise DefinitionTypeError(
            f"documents() takes key= as a text, and fields= as a list of them: {fields!r}"
        )
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise DefinitionValueError(f"limit= is a number of documents, not {limit!r}")
    projection = None if told is None else [key, *told]

    def steps(**given: Any) -> Steps[Documents]:
        cursor = collection.find(filled_filter(filter, given), projection, limit=limit + 1)
        found = yield cursor.to_list()
        if len(found) > limit:
            raise MongoReadError(
                f"there are more than {limit} documents: narrow the filter, count them with `count`, or "
                f"raise limit="
            )
        state = {as_key(part_of(document, key)): plain(document) for document in found}
        if len(state) < len(found):
            raise MongoReadError(f"two documents have the same {key!r}: let key= name what is unique")
        return state

    return _probe(
        "documents", collection, steps, needs, filter=filter or None,
        key=None if key == "_id" else key, fields=told, limit=None if limit == _MOST else limit,
    )  # fmt: skip


def _probe(
    word: str,
    collection: Any,
    steps: Callable[..., Steps[S]],
    needs: Iterable[str] = (),
    **options: Any,
) -> StateProbe[S] | AsyncStateProbe[S]:
    is_async = isinstance(collection, AsyncCollection)
    if not is_async and not isinstance(collection, Collection):
        raise DefinitionTypeError(
            f"mongodb.{word}() reads a collection of PyMongo, client['shop']['orders'], not a "
            f"{type(collection).__name__}"
        )
    given = options.pop("filter", None)
    words = call_text(f"mongodb.{word}", *([] if given is None else [given]), **options)
    separator = "" if words.endswith("()") else ", "
    words = words.replace("(", f"({collection.full_name}{separator}", 1)
    content = word == "documents" and options.get("fields") is None
    return probe_of(steps, words, needs, _secrets(collection), is_async=is_async, content=content)


def _secrets(collection: Any) -> list[str]:
    options = collection.database.client.options.pool_options
    password = getattr(getattr(options, "_credentials", None), "password", None)
    return [password] if password else []
