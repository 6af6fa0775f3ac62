"""A decorated action keeps its type exactly; a window and its reports have theirs."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

from typing_extensions import assert_type

from deltaspan import ActionReport, CheckReport, Window, change, collect_reports, expects, window
from deltaspan.typing import Claim, Origin


def count() -> int:
    raise NotImplementedError


verified = expects(change("x", count).by(1))


@verified
def act(tenant: str, /, limit: int = 3, *, dry: bool = False) -> list[str]:
    raise NotImplementedError


@verified
async def act_later(tenant: str) -> int:
    raise NotImplementedError


@verified
def act_stepwise(tenant: str) -> Iterator[int]:
    raise NotImplementedError


@verified
async def act_stepwise_later(tenant: str) -> AsyncIterator[int]:
    yield 1


class Store:
    @verified
    def save(self, key: str) -> int:
        raise NotImplementedError

    @verified
    async def save_later(self, key: str) -> int:
        raise NotImplementedError

    @verified
    @classmethod
    def above_class(cls, key: str) -> "Store":
        raise NotImplementedError

    @classmethod
    @verified
    def below_class(cls, key: str) -> "Store":
        raise NotImplementedError

    @verified
    @staticmethod
    def above_static(key: str) -> bytes:
        raise NotImplementedError

    @staticmethod
    @verified
    def below_static(key: str) -> bytes:
        raise NotImplementedError


# Functions ------------------------------------------------------------------------------------------------

assert_type(act("acme", 3, dry=True), list[str])
act(tenant="acme")  # type: ignore[call-arg]
act("acme", "3")  # type: ignore[arg-type]
act("acme", dryness=True)  # type: ignore[call-arg]
act_as_callback: Callable[[str], list[str]] = act
act_later_as_callback: Callable[[str], Coroutine[Any, Any, int]] = act_later
assert_type(act_stepwise("acme"), Iterator[int])
act_stepwise(3)  # type: ignore[arg-type]


async def later() -> None:
    assert_type(await act_later("acme"), int)
    act_later(3)  # type: ignore[arg-type,unused-coroutine]
    async for number in act_stepwise_later("acme"):
        assert_type(number, int)
    assert_type(await Store().save_later("a"), int)
    async with window("load", change("x", count)) as opened:
        assert_type(opened, Window)


# Methods --------------------------------------------------------------------------------------------------

assert_type(Store().save("a"), int)
assert_type(Store.above_class("a"), Store)
assert_type(Store.below_class("a"), Store)
assert_type(Store.above_static("a"), bytes)
assert_type(Store.below_static("a"), bytes)
Store().save(3)  # type: ignore[arg-type]
Store.above_class(3)  # type: ignore[arg-type]
Store.below_class(3)  # type: ignore[arg-type]
Store.above_static(3)  # type: ignore[arg-type]
Store.below_static(3)  # type: ignore[arg-type]

# Checks and options ---------------------------------------------------------------------------------------

expects(change("x", count), on_failure="warn", on_report=lambda report: None)
expects(count)  # type: ignore[arg-type]
expects(change("x", count), on_failure="explode")  # type: ignore[arg-type]


def is_ok(result: dict[str, bool]) -> bool:
    return result["ok"]


expects(change("x", count), tool=False)
expects(change("x", count), tool="no")  # type: ignore[arg-type]
expects(change("x", count), capture_arguments=True)
expects(change("x", count), capture_arguments=["tenant", "result"])
expects(change("x", count), capture_arguments=1)  # type: ignore[arg-type]
expects(change("x", count), claim=is_ok)
expects(change("x", count), claim=bool)
expects(change("x", count), claim=True)  # type: ignore[arg-type]
window("load", change("x", count), claim=is_ok)
window("load", change("x", count), claim="ok")  # type: ignore[arg-type]
Window.from_json("{}", change("x", count), claim=is_ok)
Window.from_json("{}", change("x", count), claim=0)  # type: ignore[arg-type]

# Windows and reports --------------------------------------------------------------------------------------

with window("load", change("x", count).by(1)) as w:
    assert_type(w, Window)
with collect_reports() as reports:
    assert_type(reports, list[ActionReport])
report = reports[0]
assert_type(report["x"], CheckReport)
assert_type([check.metric for check in report], list[str])
assert_type(report.passed, bool)
assert_type(report.claim, Claim | None)
assert_type(report["x"].origin, Origin | None)
assert_type(report.to_dict(), dict[str, Any])
report.passed = True  # type: ignore[misc]
