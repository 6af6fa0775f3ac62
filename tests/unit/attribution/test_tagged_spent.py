"""An iterator that was read before is no state; a fresh one for each read is as good as a list."""

import copy
import pickle
import sqlite3
import threading

import pytest

from deltaspan import change, current_causal_tag, tagged, unchanged, window


def by_position(probe):
    return tagged(probe, key=0, tag=1)


def came_to(probe, act=lambda: None):
    with window("w", unchanged("rows", by_position(probe))) as w:
        act()
    return w.report["rows"]


class Cursor:
    """What iterates over itself, as cursors do."""

    def __iter__(self):
        return self

    def __next__(self):
        raise StopIteration


@pytest.mark.parametrize(
    "rows",
    [iter([]), iter([(1, None)]), (row for row in [(1, None)]), map(tuple, []), Cursor()],
    ids=["of nothing", "of a list", "generator", "map", "cursor"],
)
def test_the_same_iterator_twice_is_no_state(rows):
    check = came_to(lambda: rows)

    assert (check.outcome, check.reason) == ("inconclusive", "incomparable")
    assert check.explanation == (
        "rows: the probe's value after the action cannot be compared: the probe gave an iterator that was "
        f"read before ({type(rows).__name__}), so what it leaves is not the state: return list(rows), read "
        "anew each time"
    )


def test_a_cursor_that_was_run_once_is_no_state():
    connection = sqlite3.connect(":memory:")
    cursor = connection.execute("SELECT 1, NULL")
    check = came_to(lambda: cursor)
    connection.close()

    assert check.reason == "incomparable"


def test_a_generator_at_its_end_is_no_state():
    rows = (row for row in [(1, None)])
    list(rows)

    check = came_to(lambda: rows)

    assert check.reason == "incomparable"
    assert "before the action" in check.explanation


async def test_nor_is_one_that_was_awaited():
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
def test_any_fresh_iterator_is_a_state_however_often(fresh):
    by_tag = by_position(lambda: fresh([(1, None)]))

    assert [by_tag() for _ in range(100)] == [{1: None}] * 100


def test_a_cursor_that_is_made_anew_each_time_is_a_state():
    connection = sqlite3.connect(":memory:")
    check = came_to(lambda: connection.execute("SELECT 1, NULL"))
    connection.close()

    assert check.passed


def test_fresh_iterators_are_told_apart_in_many_threads():
    by_tag = by_position(lambda: (row for row in [(1, None)]))
    found = []

    def read():
        found.extend(by_tag() for _ in range(200))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [{1: None}] * 1600


def list_rows():
    return []


@pytest.mark.parametrize("again", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])  # noqa: S301
def test_what_was_read_here_is_not_known_to_a_copy(again):
    assert again(by_position(list_rows))() == {}
