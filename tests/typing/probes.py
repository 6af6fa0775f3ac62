"""Types of probes: the words that fit each state, and the callables accepted as probes."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import httpx
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.collection import Collection
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from typing_extensions import assert_type

from deltaspan import change, probe, tagged, unchanged
from deltaspan.checks import Change, Unchanged
from deltaspan.probes import git, http, mongodb, prometheus, redis, s3, system
from deltaspan.probes.files import count, lines, text, tree
from deltaspan.typing import Probe

assert_type(change("x", tree(".")), Change[dict[str, tuple[int, int]]])
assert_type(change("x", tree(Path(), content=False)), Change[dict[str, tuple[int, int]]])
assert_type(change("x", tree(".", content=True)), Change[dict[str, tuple[int, str]]])
assert_type(change("x", count(".")), Change[int])
assert_type(change("x", text("a")), Change[str])
assert_type(change("x", text("a", missing_ok=True)), Change[str | None])
assert_type(unchanged("x", lines("a")), Unchanged[tuple[range | str, ...]])

change("x", tree("{workspace}/out")).adding("a.csv").removing("b.csv").ignoring("*.tmp")
change("x", tree(".", glob=["*.a", "*.b"], ignore="c/**", gitignore=True, limit=10)).only("a/**")
change("x", count(".")).by(3)
change("x", text("a")).from_("old").to("new")
change("x", text("a", missing_ok=True)).from_(None)
change("x", lines("a")).adding("one", "two", count=3)
change("x", lines("a")).resizing(2)

change("x", tree(".")).by(1)  # type: ignore[misc]
change("x", count(".")).adding("a")  # type: ignore[misc]
change("x", text("a")).by(1)  # type: ignore[misc]
change("x", text("a", missing_ok=True)).adding("a")  # type: ignore[misc]
change("x", lines("a")).by(3)  # type: ignore[misc]
tree(b"bytes")  # type: ignore[call-overload]
tree(".", "*.csv")  # type: ignore[call-overload]
tree(".", limit="1")  # type: ignore[call-overload]
lines("a", encoding="utf-8")  # type: ignore[call-arg]


# Git --------------------------------------------------------------------------------------------------------

assert_type(change("x", git.commits(".")), Change[int])
assert_type(change("x", git.history("{repo}", "main", remote="origin")), Change[set[str]])
assert_type(change("x", git.files(Path(), ref="HEAD")), Change[dict[str, str]])

change("x", git.commits(".")).by(1)
change("x", git.commits(".")).adding("a")  # type: ignore[misc]
change("x", git.history(".")).adding(count=1)
change("x", git.history(".")).by(1)  # type: ignore[misc]
change("x", git.files(".")).only("src/*.py")
change("x", git.branches(".", remote="origin")).modifying("main")
change("x", git.branches(".")).by(1)  # type: ignore[misc]
change("x", git.tags(".")).adding("v1")
unchanged("x", git.status(".")).ignoring("build/**")
change("x", tagged(git.log("."), key="id", tag="causal_tag", root="causal_root")).by(1)
git.commits(3)  # type: ignore[arg-type]
git.history(".", "main", "origin")  # type: ignore[call-arg]


# HTTP and Prometheus ----------------------------------------------------------------------------------------

assert_type(change("x", http.count("https://x", items="/data")), Change[int])
assert_type(change("x", http.count("https://x", client=httpx.AsyncClient())), Change[int])
assert_type(change("x", prometheus.value("https://x", "up")), Change[float])
assert_type(change("x", prometheus.series("https://x", "up")), Change[dict[str, float]])
assert_type(change("x", prometheus.counter("https://x", "up", client=httpx.AsyncClient())), Change[float])

change("x", http.count("https://x", headers={"a": "b"}, timeout=3)).by(1)
change("x", http.count("https://x")).adding("a")  # type: ignore[misc]
change("x", http.json("https://x", pointer="/status")).to("done")
change("x", prometheus.series("https://x", "up")).by({'up{{job="a"}}': 1})
unchanged("x", prometheus.counter("https://x", "errors_total"))
http.count("https://x", timout=3)  # type: ignore[call-overload]
http.json(3)  # type: ignore[call-overload]


# The machine ------------------------------------------------------------------------------------------------

assert_type(change("x", system.environment(["PATH"], digests=True)), Change[dict[str, str]])
assert_type(change("x", system.ports()), Change[dict[int, str]])

change("x", system.environment()).adding("MODE")
change("x", system.processes(arguments=True)).adding(count=1)
change("x", system.processes()).by(1)  # type: ignore[misc]
change("x", system.ports()).adding(8080)
change("x", system.packages("{venv}")).only("requests")
unchanged("x", system.packages(Path("venv")))
system.environment(True)  # type: ignore[arg-type]
system.packages(3)  # type: ignore[arg-type]


# Redis, S3 and MongoDB --------------------------------------------------------------------------------------


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


# User-defined probes ----------------------------------------------------------------------------------------


def count_orders(tenant: str, *, causal_tag: str) -> int:
    raise NotImplementedError


class Length:
    def __call__(self, **arguments: Any) -> int:
        raise NotImplementedError


def made() -> Probe[int]:
    return count_orders


@probe(content=True, hint="the replica may lag behind")
def read_notes() -> dict[int, str]:
    raise NotImplementedError


assert_type(change("notes", read_notes).adding(1).showing(), Change[dict[int, str]])
counts: Probe[int] = count_orders
lengths: Probe[int] = Length()
anything: Probe[object] = count_orders

assert_type(change("orders", made()), Change[int])
change("orders", counts).by(1)
change("orders", lengths).by(1)
change("orders", counts).adding("ink")  # type: ignore[misc]
words: Probe[str] = count_orders  # type: ignore[assignment]
