"""What may be a row, and what is said of one that lacks what was named, or shares its key with another."""

import itertools
import sqlite3
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import pytest

from deltaspan import change, tagged, window

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
    [
        {"id": 7, "tag": TAG},
        Row(7, TAG),
        Record(7, TAG),
        Slotted(7, TAG),
        Legacy(7, TAG),
        sqlite_row(7, TAG),
    ],
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


# What is missing -------------------------------------------------------------------------------------------


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
def test_a_row_that_lacks_what_was_named_leaves_no_verdict(row, sentence):
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


def test_a_baseline_that_lacks_it_is_told_so():
    check = verdict([], before=[{"id": 1}])

    assert check.reason == "baseline_failed"
    assert check.explanation.startswith("rows: before the action the probe raised LookupError: a row")


def test_a_row_with_many_columns_is_shown_in_part():
    check = verdict([{f"column_{n}": n for n in range(500)}])

    assert len(check.explanation) < 300
    assert "more" in check.explanation


def test_the_table_is_named_where_the_probe_tells_it():
    class Reader:
        table = "public.orders"

        def __call__(self):
            return [{"id": 1}]

    with window("w", change("rows", tagged(Reader(), key="id", tag="causal_tag"))) as w:
        pass

    assert "a row of public.orders has no 'causal_tag', which tag= names" in w.report["rows"].explanation


def test_a_key_that_two_rows_share_leaves_no_verdict():
    check = verdict([{"id": 1, "causal_tag": None}, {"id": 1, "causal_tag": TAG}])

    assert (check.outcome, check.reason) == ("inconclusive", "incomparable")
    assert check.explanation == (
        "rows: the probe's value after the action cannot be compared: two rows of list_orders have the key "
        "1: let key= name what is unique among them"
    )


def test_a_key_that_does_not_hash_leaves_no_verdict():
    check = verdict([{"id": [1], "causal_tag": None}])

    assert check.reason == "incomparable"
    assert check.explanation.endswith(
        "a row of list_orders has the key [1], which does not hash: let key= give a number or text"
    )


@pytest.mark.parametrize(
    ("rows", "kind"), [({1: TAG}, "dict"), (3, "int"), ("rows", "str"), (None, "NoneType")]
)
def test_what_is_no_iterable_of_rows_leaves_no_verdict(rows, kind):
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
