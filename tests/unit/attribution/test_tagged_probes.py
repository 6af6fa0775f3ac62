"""The probe that tagged makes: parameters, async reads, rows, iterators."""

import asyncio
import copy
import inspect
import itertools
import pickle
import sqlite3
import threading
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from uuid import UUID

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, probe, tagged, unchanged, window
from deltaspan.exceptions import DefinitionTypeError
from support.overlapping import run_in_threads


def list_rows():
    return []


def test_a_tagged_probe_has_the_parameters_of_its_probe():
    def list_orders(tenant, /, status="new", *, causal_tag=None):
        return []

    assert str(inspect.signature(tagged(list_orders, key="id", tag="tag"))) == (
        "(tenant, /, status='new', *, causal_tag=None)"
    )


def test_the_parameters_of_the_probe_scope_it_and_are_passed_on():
    seen = []

    def list_orders(tenant, causal_tag):
        seen.append((tenant, causal_tag))
        return []

    @expects(change("rows", tagged(list_orders, key="id", tag="tag")).by(0))
    def act(tenant):
        return current_causal_tag()

    assert seen == []
    tag = act("acme")
    assert seen == [("acme", tag)] * 2


def test_a_name_that_the_action_has_not_is_refused_at_decoration():
    def list_orders(tenent):
        return []

    with pytest.raises(DefinitionTypeError, match="needs 'tenent', which does not exist; did you mean"):
        expects(change("rows", tagged(list_orders, key="id", tag="tag")))(lambda tenant: None)


async def test_an_async_probe_is_awaited():
    rows = []

    async def list_orders():
        await asyncio.sleep(0)
        return list(rows)

    by_tag = tagged(list_orders, key="id", tag="tag")

    @expects(change("rows", by_tag).by(1))
    async def act():
        rows.append({"id": 1, "tag": current_causal_tag()})

    with collect_reports() as reports:
        await act()
    assert inspect.iscoroutinefunction(type(by_tag).__call__)
    assert reports[0].passed


async def test_a_probe_that_returns_an_awaitable_is_awaited_in_an_async_action():
    async def fetch():
        return [{"id": 1, "tag": None}]

    by_tag = tagged(lambda: fetch(), key="id", tag="tag")  # not async itself
    async with window("w", change("rows", by_tag).by(0)) as w:
        pass

    assert w.report["rows"].pre_state == {1: None}


def test_an_async_probe_is_refused_on_a_sync_action():
    async def list_orders():
        return []

    with pytest.raises(DefinitionTypeError, match="async"):
        expects(change("rows", tagged(list_orders, key="id", tag="tag")))(lambda: None)


@pytest.mark.parametrize("wrap", [lambda function: function, partial])
async def test_a_blocking_probe_is_read_in_another_thread(wrap):
    threads = []

    @probe(blocking=True)
    def list_orders():
        threads.append(threading.current_thread())
        return []

    async with window("w", change("rows", tagged(wrap(list_orders), key="id", tag="tag")).by(0)) as w:
        pass

    assert w.report["rows"].passed
    assert threading.main_thread() not in threads


def test_a_probe_can_be_made_blocking_after_it_was_wrapped():
    by_tag = tagged(list_rows, key="id", tag="tag")

    assert probe(blocking=True)(by_tag) is by_tag


def test_the_check_reads_as_it_was_written():
    check = change("rows", tagged(list_rows, key="id", tag=1, root=as_root)).by(1)

    assert repr(check) == "change('rows', tagged(list_rows, key='id', tag=1, root=as_root)).by(1)"


def as_root(row):
    return row["root"]


def test_a_tagged_probe_can_be_pickled_if_its_probe_can():
    assert pickle.loads(pickle.dumps(tagged(list_rows, key="id", tag="tag")))() == {}  # noqa: S301  # our own


@pytest.mark.parametrize(
    ("wrong", "shown"), [(None, "None"), (1.5, "1.5"), (True, "True"), (["id"], "['id']")]
)
@pytest.mark.parametrize("name", ["key", "tag"])
def test_a_field_of_another_kind_is_refused(name, wrong, shown):
    fields = {"key": "id", "tag": "tag", name: wrong}

    with pytest.raises(DefinitionTypeError) as refused:
        tagged(list_rows, **fields)

    assert str(refused.value) == (
        f"tagged({name}=...) takes the name of an item or attribute, a position, or a callable that reads it "
        f"from a row, not {shown}"
    )


def test_a_probe_that_is_called_already_is_refused():
    with pytest.raises(DefinitionTypeError) as refused:
        tagged([1, 2], key="id", tag="tag")

    assert str(refused.value) == (
        "tagged() wraps a probe, which must be callable, not [1, 2]; pass the function, not its result"
    )


# Rows ---------------------------------------------------------------------------------------------------


TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"


class Row(NamedTuple):
    id: int
    tag: str


@dataclass
class Record:
    id: int
    tag: str


class Slotted:
    __slots__ = ("id", "tag")

    def __init__(self, id, tag):  # noqa: A002  # the name of the column
        self.id, self.tag = id, tag


class Legacy:
    """A row that has keys, and its values as attributes alone."""

    def __init__(self, id, tag):  # noqa: A002  # likewise
        self.id, self.tag = id, tag

    def keys(self):
        return ["id", "tag"]


def sqlite_row(key, tag):
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    row = connection.execute("SELECT ? AS id, ? AS tag", (key, tag)).fetchone()
    connection.close()
    return row


def state_of(rows, key="id", tag="tag", **options):
    return tagged(lambda: rows, key=key, tag=tag, **options)()


@pytest.mark.parametrize(
    "row",
    [{"id": 7, "tag": TAG}, Row(7, TAG), Record(7, TAG), Slotted(7, TAG), Legacy(7, TAG), sqlite_row(7, TAG)],
    ids=lambda row: type(row).__name__,
)
def test_a_row_is_read_by_the_names_of_items_or_attributes(row):
    assert state_of([row]) == {7: TAG}


def test_a_row_is_read_by_position():
    assert state_of([(7, "x", TAG)], key=0, tag=-1) == {7: TAG}


def test_a_row_is_read_by_callables():
    rows = [{"tenant": "acme", "n": 1, "meta": {"by": TAG}}]

    found = state_of(rows, key=lambda row: (row["tenant"], row["n"]), tag=lambda row: row["meta"].get("by"))

    assert found == {("acme", 1): TAG}


def test_the_root_stands_beside_the_tag():
    assert state_of([{"id": 7, "tag": None, "root": TAG}], root="root") == {7: (None, TAG)}


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        (TAG, TAG),
        (UUID(TAG), TAG),
        (UUID(TAG).bytes, TAG),
        (TAG.encode(), TAG),
        (17, "17"),
        (None, None),
        ("", None),
        (float("nan"), None),
    ],
)
def test_tags_compare_as_text(tag, text):
    assert state_of([{"id": 7, "tag": tag}]) == {7: text}


def test_rows_may_come_one_by_one():
    assert state_of({"id": n, "tag": None} for n in range(3)) == dict.fromkeys(range(3))


# Missing columns -------------------------------------------------------------------------------------------


def verdict(rows, before=(), **options):
    """Return the check on rows that appear while a window is open."""
    now = list(before)

    def list_orders():
        return now

    names = {"key": "id", "tag": "causal_tag", **options}
    with window("w", change("rows", tagged(list_orders, **names))) as w:
        now = rows
    return w.report["rows"]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"id": 1, "total": 5}, "no 'causal_tag', which tag= names (it has ['id', 'total'])"),
        ({"causal_tag": None}, "no 'id', which key= names (it has ['causal_tag'])"),
        (Row(1, TAG), "no 'causal_tag', which tag= names (it has ['id', 'tag'])"),
        (Record(1, TAG), "no 'causal_tag', which tag= names (it has ['id', 'tag'])"),
        (Slotted(1, TAG), "no 'causal_tag', which tag= names (it has ['id', 'tag'])"),
        (sqlite_row(1, TAG), "no 'causal_tag', which tag= names (it has ['id', 'tag'])"),
        ((1, TAG), "no 'id', which key= names (it has 2 items)"),
        (3, "no 'id', which key= names (it is of type int)"),
    ],
)
def test_a_row_that_lacks_a_named_column_makes_the_check_inconclusive(row, sentence):
    check = verdict([row])

    assert (check.outcome, check.reason) == ("inconclusive", "probe_failed")
    assert isinstance(check.error, LookupError)
    assert check.explanation == (
        f"rows: after the action the probe raised LookupError: a row of list_orders has {sentence}"
    )


def test_a_position_beyond_the_row_is_missing_too():
    check = verdict([("a",)], key=0, tag=1)

    assert "a row of list_orders has no 1, which tag= names (it has 1 items)" in check.explanation


def test_a_root_that_is_missing_is_named():
    check = verdict([{"id": 1, "causal_tag": None}], root="root_tag")

    assert "has no 'root_tag', which root= names (it has ['id', 'causal_tag'])" in check.explanation


def test_a_baseline_row_without_the_column_is_an_error():
    check = verdict([], before=[{"id": 1}])

    assert check.reason == "baseline_failed"
    assert check.explanation.startswith("rows: before the action the probe raised LookupError: a row")


def test_a_row_with_many_columns_is_shown_in_part():
    check = verdict([{f"column_{n}": n for n in range(500)}])

    assert len(check.explanation) < 300
    assert "more" in check.explanation


def test_the_table_is_named_if_the_probe_provides_it():
    class Reader:
        table = "public.orders"

        def __call__(self):
            return [{"id": 1}]

    with window("w", change("rows", tagged(Reader(), key="id", tag="causal_tag"))) as w:
        pass

    assert "a row of public.orders has no 'causal_tag', which tag= names" in w.report["rows"].explanation


def test_a_key_shared_by_two_rows_makes_the_check_inconclusive():
    check = verdict([{"id": 1, "causal_tag": None}, {"id": 1, "causal_tag": TAG}])

    assert (check.outcome, check.reason) == ("inconclusive", "incomparable")
    assert check.explanation == (
        "rows: the probe's value after the action cannot be compared: two rows of list_orders have the key "
        "1: let key= name what is unique among them"
    )


def test_an_unhashable_key_makes_the_check_inconclusive():
    check = verdict([{"id": [1], "causal_tag": None}])

    assert check.reason == "incomparable"
    assert check.explanation.endswith(
        "a row of list_orders has the key [1], which does not hash: let key= give a number or text"
    )


@pytest.mark.parametrize(
    ("rows", "kind"), [({1: TAG}, "dict"), (3, "int"), ("rows", "str"), (None, "NoneType")]
)
def test_an_object_that_is_not_an_iterable_of_rows_makes_the_check_inconclusive(rows, kind):
    check = verdict(rows)

    assert check.reason == "probe_failed"
    assert check.explanation == (
        f"rows: after the action the probe raised TypeError: tagged() reads rows, and list_orders gave a "
        f"{kind} (return a list of rows)"
    )


def test_rows_without_end_leave_no_verdict(monkeypatch):
    monkeypatch.setattr("deltaspan.checks._rows.MAX_NODES", 10)

    check = verdict({"id": n, "causal_tag": None} for n in itertools.count())

    assert check.reason == "incomparable"
    assert check.explanation.endswith(
        "list_orders gave more than 10 rows: read those that the action may write"
    )


# Iterators ----------------------------------------------------------------------------------------------


def by_position(probe):
    return tagged(probe, key=0, tag=1)


def came_to(probe, act=lambda: None):
    with window("w", unchanged("rows", by_position(probe))) as w:
        act()
    return w.report["rows"]


class Cursor:
    """An object that iterates over itself, as cursors do."""

    def __iter__(self):
        return self

    def __next__(self):
        raise StopIteration


@pytest.mark.parametrize(
    "rows",
    [iter([]), iter([(1, None)]), (row for row in [(1, None)]), map(tuple, []), Cursor()],
    ids=["of nothing", "of a list", "generator", "map", "cursor"],
)
def test_the_same_iterator_twice_is_incomparable(rows):
    check = came_to(lambda: rows)

    assert (check.outcome, check.reason) == ("inconclusive", "incomparable")
    assert check.explanation == (
        "rows: the probe's value after the action cannot be compared: the probe gave an iterator that was "
        f"read before ({type(rows).__name__}), so what it leaves is not the state: return list(rows), read "
        "anew each time"
    )


def test_a_cursor_that_is_read_twice_is_incomparable():
    connection = sqlite3.connect(":memory:")
    cursor = connection.execute("SELECT 1, NULL")
    check = came_to(lambda: cursor)
    connection.close()

    assert check.reason == "incomparable"


def test_an_exhausted_generator_is_incomparable():
    rows = (row for row in [(1, None)])
    list(rows)

    check = came_to(lambda: rows)

    assert check.reason == "incomparable"
    assert "before the action" in check.explanation


async def test_an_awaited_iterator_that_is_read_twice_is_incomparable():
    rows = iter([])

    async def read():
        return rows

    async with window("w", unchanged("rows", by_position(read))) as w:
        pass

    assert w.report["rows"].reason == "incomparable"


def test_a_fresh_generator_each_time_is_a_state():
    rows = []

    def read():
        yield from rows

    with window("w", change("rows", by_position(read)).by(1)) as w:
        rows.append((1, current_causal_tag()))

    assert w.report["rows"].passed


@pytest.mark.parametrize("fresh", [iter, lambda rows: map(tuple, rows), lambda rows: (row for row in rows)])
def test_a_fresh_iterator_is_a_state_at_every_read(fresh):
    by_tag = by_position(lambda: fresh([(1, None)]))

    assert [by_tag() for _ in range(100)] == [{1: None}] * 100


def test_a_cursor_created_at_each_read_is_a_state():
    connection = sqlite3.connect(":memory:")
    check = came_to(lambda: connection.execute("SELECT 1, NULL"))
    connection.close()

    assert check.passed


def test_fresh_iterators_are_distinguished_in_many_threads():
    by_tag = by_position(lambda: (row for row in [(1, None)]))
    found = []

    def read():
        found.extend(by_tag() for _ in range(200))

    run_in_threads(*[read] * 8)

    assert found == [{1: None}] * 1600


@pytest.mark.parametrize("again", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])  # noqa: S301
def test_iterators_read_here_are_not_known_to_a_copy(again):
    assert again(by_position(list_rows))() == {}
