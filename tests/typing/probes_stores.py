"""Which words fit what the probes of Redis, S3 and MongoDB read, with a client of either kind."""

from collections.abc import Hashable
from typing import Any

from pymongo.asynchronous.collection import AsyncCollection
from pymongo.collection import Collection
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from typing_extensions import assert_type

from deltaspan import change, unchanged
from deltaspan.checks import Change
from deltaspan.probes import mongodb, redis, s3


def of_redis(sync: Redis, awaited: AsyncRedis) -> None:
    assert_type(change("x", redis.size(sync)), Change[int])
    assert_type(change("x", redis.count(awaited, "a:*")), Change[int])
    assert_type(change("x", redis.keys(sync, "a:*")), Change[set[str]])
    assert_type(change("x", redis.values(sync, "a:{b}")), Change[dict[str, Any]])
    change("x", redis.length(awaited, "jobs")).by(1)
    change("x", redis.keys(awaited, "a:*")).adding(count=1)
    change("x", redis.keys(sync, "a:*")).by(1)  # type: ignore[misc]
    unchanged("x", redis.values(sync, "a:*")).ignoring("a:1")
    redis.count(3, "a:*")  # type: ignore[call-overload]
    redis.count(sync, 3)  # type: ignore[call-overload]


def of_s3(boto: Any) -> None:
    assert_type(change("x", s3.count(boto, "b", "p/")), Change[int])
    assert_type(change("x", s3.objects(boto, "b")), Change[dict[str, s3.Object]])
    assert_type(change("x", s3.text(boto, "b", "k")), Change[str])
    assert_type(change("x", s3.digest(boto, "b", "k", missing_ok=True)), Change[str | None])
    change("x", s3.objects(boto, "b")).only("a/*")
    change("x", s3.count(boto, "b")).adding("a")  # type: ignore[misc]


def of_mongodb(orders: Collection[dict[str, Any]], awaited: AsyncCollection[dict[str, Any]]) -> None:
    assert_type(change("x", mongodb.size(orders)), Change[int])
    assert_type(change("x", mongodb.count(awaited, {"a": "{a}"})), Change[int])
    assert_type(change("x", mongodb.documents(orders, key="sku")), Change[dict[Hashable, dict[str, Any]]])
    change("x", mongodb.documents(awaited)).adding(count=1)
    change("x", mongodb.count(orders)).adding("a")  # type: ignore[misc]
    mongodb.count("orders")  # type: ignore[call-overload]
    mongodb.documents(orders, "_id")  # type: ignore[call-overload]
