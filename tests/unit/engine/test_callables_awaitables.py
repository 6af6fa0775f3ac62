"""Plain functions that return an awaitable other than a coroutine, judged once it is awaited."""

import asyncio
import copy
import gc
import inspect
import pickle

import pytest

from deltaspan import (
    DeltaCheckFailed,
    DeltaInconclusive,
    change,
    collect_reports,
    current_causal_tag,
    expects,
    unchanged,
)
from deltaspan._workers import drain
from support.process import open_windows

rows = []
users = []


@pytest.fixture(autouse=True)
def _nothing_yet():
    rows.clear()
    users.clear()


class Request:
    """A request of an HTTP client that is sent when it is awaited."""

    def __init__(self, name="a"):
        self.name = name
        self.tags = []

    def __await__(self):
        self.tags.append(current_causal_tag())
        yield from asyncio.sleep(0).__await__()
        rows.append(self.name)
        return f"response {self.name}"

    def __len__(self):
        return 3

    def url(self):
        return f"http://{self.name}"


class Session(Request):
    """A request that can also be entered: it acts on entry, and commits on exit."""

    def __init__(self, name="a", *, fails=False, handles=False):
        super().__init__(name)
        self.fails = fails
        self.handles = handles

    async def __aenter__(self):
        if self.fails:
            raise LookupError("no such host")
        rows.append("entered")
        return "connection"

    async def __aexit__(self, kind, error, trace):
        rows.append("left")
        return self.handles


class Slotted:
    """An awaitable that takes no attribute, and that is not hashable."""

    __slots__ = ()
    __hash__ = None

    def __eq__(self, other):
        return True

    def __await__(self):
        rows.append("slotted")
        return iter(())


MOVED = change("rows", lambda: len(rows))
ROWS = MOVED.by(1)
USERS = unchanged("users", lambda: len(users))


def returning(made, *checks, **options):
    return expects(*checks or (ROWS, USERS), **options)(lambda: made)


@pytest.mark.parametrize("kind", [Request, Session, Slotted])
async def test_an_awaitable_is_judged_after_it_was_awaited_and_not_before(kind):
    made = kind()
    with collect_reports() as reports:
        returned = returning(made)()
        assert reports == []
        answer = await returned

    assert answer == await made
    assert [(check.metric, check.outcome) for check in reports[0]] == [("rows", "pass"), ("users", "pass")]
    assert open_windows() == {}


async def test_an_unchanged_state_that_changes_while_it_is_awaited_fails():
    class Culprit:
        def __await__(self):
            users.append("mallory")
            return iter(())

    with collect_reports() as reports:
        await returning(Culprit(), USERS)()

    assert [report.outcome for report in reports] == ["fail"]


async def test_an_expected_value_may_name_the_awaited_result():
    with collect_reports() as reports:
        await returning(Request(), MOVED.by(lambda result: len(result) - len("response")))()

    assert reports[0]["rows"].expectation.expected == len(" a")


async def test_the_tag_is_current_where_it_acts_and_nowhere_else():
    made = Request()
    with collect_reports() as reports:
        returned = returning(made)()
        assert current_causal_tag() is None
        await returned

    assert made.tags == [reports[0].causal_tag]
    assert current_causal_tag() is None


async def test_a_failure_is_raised_where_it_is_awaited():
    with pytest.raises(DeltaCheckFailed) as caught:
        await returning(Request(), MOVED.by(2), on_failure="raise")()

    assert caught.value.result == "response a"


async def test_an_exception_of_its_own_is_that_of_the_action():
    class Broken:
        def __await__(self):
            raise LookupError("no such host")

    with collect_reports() as reports, pytest.raises(LookupError, match="no such host"):
        await returning(Broken())()

    assert reports[0]["rows"].reason == "action_failed"


async def test_an_awaitable_is_judged_in_the_task_that_awaits_it():
    with collect_reports() as reports:
        returned = returning(Request())()

        async def wait():
            return await returned

        assert await asyncio.create_task(wait()) == "response a"

    assert [report.outcome for report in reports] == ["pass"]


async def test_gathered_ones_are_judged_each():
    act = expects(change("rows", lambda name: rows.count(name)).by(1))(lambda name: Request(name))
    with collect_reports() as reports:
        answers = await asyncio.gather(act("a"), act("b"))

    assert answers == ["response a", "response b"]
    assert [report.outcome for report in reports] == ["pass", "pass"]


async def test_a_task_that_awaits_it_may_be_cancelled():
    with collect_reports() as reports:
        task = asyncio.ensure_future(returning(Request())())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert reports[0]["rows"].reason == "action_failed"
    assert open_windows() == {}


async def test_a_second_await_is_left_to_the_awaitable():
    with collect_reports() as reports:
        returned = returning(Request())()
        assert [await returned, await returned] == ["response a", "response a"]

    assert len(reports) == 1


@pytest.mark.parametrize("kind", [Request, Session, Slotted])
def test_an_awaitable_that_is_never_awaited_is_abandoned_with_advice(kind):
    with collect_reports() as reports:
        returning(kind())()
        gc.collect()
        assert drain()

    assert [check.reason for check in reports[0]] == ["abandoned", "abandoned"]
    assert reports[0]["rows"].explanation == (
        f"rows: nobody awaited the {kind.__name__} that the action returned; if it acts in another way, "
        "make the action async, and let it return when it has acted"
    )
    assert open_windows() == {}


def test_the_wrapper_behaves_like_the_returned_object():
    made = Request()
    returned = returning(made)()

    assert isinstance(returned, Request)
    assert inspect.isawaitable(returned)
    assert (returned.name, returned.url(), len(returned), returned == made) == ("a", "http://a", 3, True)
    returned.name = "b"
    assert made.name == "b"
    assert not callable(returned)
    assert not hasattr(type(returned), "__aiter__")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])  # noqa: S301
def test_a_copy_of_it_is_a_copy_of_the_returned_object(copied):
    found = copied(returning(Request("b"))())

    assert (type(found), found.name) == (Request, "b")


async def test_the_wrapper_keeps_other_protocols_of_the_object():
    class Rows(Request):
        async def __aiter__(self):
            for each in "ab":
                yield each

    assert [row async for row in returning(Rows())()] == ["a", "b"]


# Driven as a coroutine ----------------------------------------------------------------------------------


class Driven(Request):
    """A request that can also be driven as a coroutine; some HTTP clients return one."""

    def __init__(self):
        super().__init__()
        self._coroutine = self._act()

    async def _act(self):
        return await Request("a")

    def __await__(self):
        return self._coroutine.__await__()

    def send(self, value):
        return self._coroutine.send(value)

    def throw(self, *error):
        return self._coroutine.throw(*error)

    def close(self):
        self._coroutine.close()


@pytest.mark.parametrize(
    "drive", [asyncio.create_task, asyncio.gather, lambda made: asyncio.wait_for(made, 60)]
)
async def test_an_awaitable_driven_as_a_coroutine_is_judged_at_its_end(drive):
    with collect_reports() as reports:
        answer = await drive(returning(Driven())())

    assert answer in ("response a", ["response a"])
    assert [report.outcome for report in reports] == ["pass"]
    assert open_windows() == {}


async def test_an_awaitable_driven_as_a_coroutine_may_be_cancelled():
    with collect_reports() as reports:
        task = asyncio.create_task(returning(Driven())())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert reports[0]["rows"].reason == "action_failed"


def test_an_awaitable_closed_before_it_began_is_abandoned():
    with collect_reports() as reports:
        returned = returning(Driven())()
        returned.close()
        assert drain()

    assert [check.reason for check in reports[0]] == ["abandoned", "abandoned"]
    assert rows == []


def test_only_a_coroutine_is_driven_as_one():
    made = Driven()
    assert asyncio.iscoroutine(returning(made)())
    assert not asyncio.iscoroutine(returning(Request())())
    made.close()


# Entered instead of awaited -----------------------------------------------------------------------------


async def test_an_entered_awaitable_is_judged_at_the_end_of_its_block():
    with collect_reports() as reports:
        async with returning(Session(), MOVED.by(2))() as connection:
            assert connection == "connection"
            assert reports == []
            assert current_causal_tag() is None

    assert [report.outcome for report in reports] == ["pass"]
    assert open_windows() == {}


async def test_a_failure_is_raised_where_its_block_ends():
    with pytest.raises(DeltaCheckFailed) as caught:
        async with returning(Session(), MOVED.by(7), on_failure="raise")():
            pass

    assert caught.value.result == "connection"


async def test_an_awaitable_that_cannot_be_entered_is_a_failed_action():
    with collect_reports() as reports, pytest.raises(LookupError):
        async with returning(Session(fails=True))():
            pass

    assert reports[0]["rows"].reason == "action_failed"


async def test_an_exception_of_its_block_goes_on_and_is_that_of_the_action():
    error = KeyError("in the block")
    with collect_reports() as reports, pytest.raises(KeyError) as caught:
        async with returning(Session(), MOVED.by(2))():
            raise error

    assert caught.value is error
    assert reports[0]["rows"].reason == "action_failed"


async def test_an_exception_of_its_block_that_it_handles_is_none_of_the_action():
    with collect_reports() as reports:
        async with returning(Session(handles=True), MOVED.by(2))():
            raise KeyError

    assert [report.outcome for report in reports] == ["pass"]


async def test_an_awaitable_that_is_entered_and_never_left_is_abandoned():
    with collect_reports() as reports:
        await returning(Session())().__aenter__()
        gc.collect()
        assert drain()

    assert reports[0]["rows"].explanation == "rows: the window ended before its verdict was reached"
    assert open_windows() == {}


async def test_an_awaitable_may_be_entered_again_without_a_second_report():
    returned = returning(Session())()
    with collect_reports() as reports:
        for _ in range(2):
            async with returned:
                pass

    assert len(reports) == 1
    assert rows == ["entered", "left"] * 2


# Compiled ones ----------------------------------------------------------------------------------------------


async def numbers():
    rows.append("a")
    yield 3


async def test_a_compiled_coroutine_is_judged_when_it_has_been_awaited():
    with collect_reports() as reports:
        returned = returning(numbers().__anext__())()
        assert reports == []
        assert await returned == 3

    assert [report.outcome for report in reports] == ["pass"]


class Ticket(str):
    """An awaitable of a compiled class, which compiled code asks for by its layout."""

    __slots__ = ()

    def __await__(self):
        rows.append("a")
        return iter(())


async def test_an_awaitable_that_cannot_be_replaced_is_returned_and_a_cure_is_named():
    made = Ticket("a")
    with collect_reports() as reports:
        returned = returning(made)()

    assert returned is made
    assert reports[0]["rows"].explanation == (
        "rows: the action returned a Ticket, which acts when it is awaited, and nothing can stand in for it; "
        "make the action async, and await it there"
    )
    assert [check.reason for check in reports[0]] == ["abandoned", "abandoned"]
    assert open_windows() == {}


def test_the_policy_for_checks_without_a_verdict_applies_at_once():
    with pytest.raises(DeltaInconclusive, match="make the action async"):
        returning(Ticket("a"), on_inconclusive="raise")()
