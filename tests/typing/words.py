"""Types of words. If a checker no longer rejects a line, its ignore comment becomes an error."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from typing_extensions import assert_type

from deltaspan import change, keyed, observe, pattern, tagged, unchanged
from deltaspan.checks import Change, Check, Pattern, Unchanged
from deltaspan.typing import EntriesDelta, MembersDelta, RowsDelta


@dataclass
class Order:
    status: str
    total: int


def count() -> int:
    raise NotImplementedError


def price() -> Decimal:
    raise NotImplementedError


def seen_at() -> datetime:
    raise NotImplementedError


def status() -> str:
    raise NotImplementedError


def maybe() -> int | None:
    raise NotImplementedError


def tenants() -> set[str]:
    raise NotImplementedError


def queue() -> list[int]:
    raise NotImplementedError


def stock() -> dict[str, int]:
    raise NotImplementedError


def regions() -> Mapping[str, dict[str, int]]:
    raise NotImplementedError


def labels() -> dict[str, str]:
    raise NotImplementedError


def order() -> Order:
    raise NotImplementedError


def anything() -> Any:
    raise NotImplementedError


async def count_later() -> int:
    raise NotImplementedError


async def tenants_later() -> frozenset[str]:
    raise NotImplementedError


def rows() -> list[dict[str, object]]:
    raise NotImplementedError


async def rows_later(tenant: str) -> Iterable[Order]:
    raise NotImplementedError


def total(row: Any) -> int:
    raise NotImplementedError


def created(result: Any) -> int:
    raise NotImplementedError


def ids(result: Any) -> list[str]:
    raise NotImplementedError


def one_each(tenant: str) -> dict[str, int]:
    raise NotImplementedError


def holds(delta: Any, post_state: object) -> bool:
    raise NotImplementedError


def is_large(member: int) -> bool:
    raise NotImplementedError


# State types of checks ------------------------------------------------------------------------------------

assert_type(change("x", count), Change[int])
assert_type(change("x", count_later), Change[int])
assert_type(change("x", lambda: 3), Change[int])
assert_type(change("x", tenants_later), Change[frozenset[str]])
assert_type(change("x", anything), Change[Any])
assert_type(unchanged("x", tenants_later), Unchanged[frozenset[str]])
assert_type(observe("x", count), Check[Any])

# Words keep the state type --------------------------------------------------------------------------------

assert_type(change("x", count).by(1), Change[int])
assert_type(change("x", count_later).from_(1).to(3).by(2), Change[int])
assert_type(change("x", tenants).adding("a").removing(count=1).allowing_others(), Change[set[str]])
assert_type(change("x", stock).by({"a": 1}).ignoring("b"), Change[dict[str, int]])
assert_type(change("x", order).satisfying(holds, "anything"), Change[Order])
assert_type(unchanged("x", stock).ignoring("a"), Unchanged[dict[str, int]])
assert_type(change("x", status).ending_at("open"), Change[str])
assert_type(change("x", count_later).by_at_most(3).ending_at(created), Change[int])
assert_type(change("x", queue).adding(count=1, where=is_large), Change[list[int]])
assert_type(change("x", labels).only(pattern("a/*")), Change[dict[str, str]])
assert_type(pattern("{folder}/**", folder="out"), Pattern)

# Numbers --------------------------------------------------------------------------------------------------

change("x", count).by(created)
change("x", price).by(Decimal(1), tolerance=Decimal("0.1"))
change("x", seen_at).by(timedelta(hours=1))
change("x", count).increasing(at_least=1, at_most=2).from_(1)
change("x", count).decreasing(by=1)
change("x", count).by_between(1, 2)
change("x", status).by(1)  # type: ignore[misc]
change("x", tenants).by(1)  # type: ignore[misc]
change("x", stock).by_at_least(1)  # type: ignore[misc]
change("x", maybe).by_at_most(1)  # type: ignore[misc]
change("x", tenants_later).by_between(1, 2)  # type: ignore[misc]
change("x", status).increasing()  # type: ignore[misc]
change("x", queue).decreasing()  # type: ignore[misc]
change("x", count).by("1")  # type: ignore[arg-type]
change("x", count).by_at_least(None)  # type: ignore[arg-type]
change("x", count).by(1, tolerance="0.1")  # type: ignore[arg-type]

# Numbers by key -------------------------------------------------------------------------------------------

change("x", stock).by({"a": 1, "b": created})
change("x", stock).by(one_each)
change("x", regions).by({"eu/a": 1}).allowing_others()
change("x", count).by({"a": 1})  # type: ignore[arg-type]
change("x", labels).by({"a": 1})  # type: ignore[misc]
change("x", tenants).by({"a": 1})  # type: ignore[misc]
change("x", stock).by({"a": "1"})  # type: ignore[dict-item]

# Members --------------------------------------------------------------------------------------------------

change("x", tenants).adding(ids, count=created)
change("x", queue).adding(42).removing(7)
change("x", regions).modifying("eu/*").ignoring("us")
change("x", order).modifying("status")
change("x", labels).only("a", "b")
change("x", tenants_later).resizing(-1)
change("x", count).adding("a")  # type: ignore[misc]
change("x", count_later).removing("a")  # type: ignore[misc]
change("x", maybe).modifying("a")  # type: ignore[misc]
change("x", price).only("a")  # type: ignore[misc]
change("x", seen_at).resizing(1)  # type: ignore[misc]
change("x", count).allowing_others()  # type: ignore[misc]
change("x", tenants).adding("a", count="1")  # type: ignore[arg-type]
change("x", tenants).resizing(1.5)  # type: ignore[arg-type]
change("x", labels).removing(count=created, where=is_large).modifying("b", where=holds)
change("x", queue).adding(where=True)  # type: ignore[arg-type]
change("x", count).adding(where=is_large)  # type: ignore[misc]
pattern(3)  # type: ignore[arg-type]
unchanged("x", status).ending_at("open")  # type: ignore[attr-defined]

# Tagged rows -----------------------------------------------------------------------------------------------

by_tag = tagged(rows, key="id", tag="causal_tag")
assert_type(change("x", by_tag), Change[Any])
assert_type(unchanged("x", by_tag), Unchanged[Any])
change("x", by_tag).by(1)
change("x", by_tag).by(created)
change("x", by_tag).adding(7, count=2).ignoring(8)
change("x", by_tag).only(7, 8).eventually(1)
change("x", by_tag).satisfying(holds, "anything")
change("x", tagged(rows_later, key="total", tag="status", root=total)).increasing(at_least=1)
assert_type(change("x", by_tag).adding(count=1).keeping_others(), Change[Any])
change("x", by_tag).keeping_others().by(1).ignoring(8).eventually(1)
change("x", by_tag).keeping_others("theirs")  # type: ignore[call-arg]
unchanged("x", by_tag).keeping_others()  # type: ignore[attr-defined]
change("x", count).keeping_others()  # type: ignore[misc]
change("x", tagged(rows, key=0, tag=lambda row: row["tag"]))
tagged(rows, key="id")  # type: ignore[call-arg]
tagged(rows, "id", "tag")  # type: ignore[call-arg]
tagged(count, key="id", tag="tag")  # type: ignore[arg-type]
tagged(rows, key=1.5, tag="tag")  # type: ignore[arg-type]

# Words for Any, and for any state -------------------------------------------------------------------------

change("x", anything).by(1)
change("x", anything).by({"a": 1})
change("x", anything).adding("a").removing("b").modifying("c")
change("x", status).from_("new").to("done").ignoring("a")
change("x", maybe).satisfying(holds, "more than one")
change("x", count).satisfying(holds)  # type: ignore[call-arg]
change("x", count).satisfying("delta > 1", "more than one")  # type: ignore[arg-type]


def orders_by_place() -> list[Order]:
    raise NotImplementedError


def is_paid(delta: EntriesDelta) -> bool:
    return all(after == "paid" for _, after in delta.modified.values())


def is_new(delta: MembersDelta) -> bool:
    return not delta.removed and len(delta.added) == 1


def is_mine(delta: RowsDelta) -> bool:
    return delta.amount == 1 and not delta.others.changed


change("orders", keyed(orders_by_place, "id")).adding(3)
change("orders", keyed(orders_by_place, lambda order: order.status)).satisfying(is_paid, "paid")
change("orders", orders_by_place).satisfying(is_new, "one more")
change("orders", tagged(orders_by_place, key="id", tag="tag")).satisfying(is_mine, "mine")
keyed(count, "id")  # type: ignore[arg-type]
keyed(orders_by_place, None)  # type: ignore[arg-type]
