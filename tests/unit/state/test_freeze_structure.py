"""Structure of arrays, series and frames: part of the state beside their content."""

from __future__ import annotations

import copy
import json
import pickle
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from types import MappingProxyType
from typing import NamedTuple

import pytest

from deltaspan import Window, change, unchanged, window
from deltaspan._state.codec import decode, encode
from deltaspan._state.diff import difference, equal, identity
from deltaspan._state.snapshot import Unfreezable, freeze
from support.replay import apply


def numpy():
    return pytest.importorskip("numpy", reason="numpy is not installed")


def pandas():
    return pytest.importorskip("pandas", reason="pandas is not installed")


def pyarrow():
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def judged(check, act):
    with window("act", check) as w:
        act()
    return w.report[check.metric].outcome


DIFFERENT = {
    "array: typecode": lambda: (array("i", [1]), array("l", [1])),
    "array: typecode of an empty one": lambda: (array("i"), array("d")),
    "memoryview: format": lambda: (memoryview(array("i", [1, 0])), memoryview(array("q", [1]))),
    "memoryview: shape": lambda: (
        memoryview(bytes(6)).cast("B", (2, 3)),
        memoryview(bytes(6)).cast("B", (3, 2)),
    ),
    "numpy: dtype": lambda: (numpy().array([1, 2]), numpy().array([1.0, 2.0])),
    "numpy: width": lambda: (numpy().array([1], "int32"), numpy().array([1], "int64")),
    "numpy: byte order": lambda: (numpy().array([1], "<i4"), numpy().array([1], ">i4")),
    "numpy: shape of nothing": lambda: (numpy().zeros((0, 3)), numpy().zeros((0, 4))),
    "numpy: dimensions": lambda: (numpy().zeros((2, 0)), numpy().zeros((2, 0, 1))),
    "numpy: dtype of nothing": lambda: (numpy().array([], "int64"), numpy().array([], "float64")),
    "numpy: names of a structured array": lambda: (
        numpy().array([(1,)], [("a", "i4")]),
        numpy().array([(1,)], [("b", "i4")]),
    ),
    "numpy: unit of times": lambda: (numpy().array([1], "M8[ns]"), numpy().array([1], "m8[ns]")),
    "numpy: a mask": lambda: (numpy().ma.array([1, 2], mask=[0, 1]), numpy().ma.array([1, 2], mask=[0, 0])),
    "numpy: masked and None": lambda: (numpy().ma.array([1], mask=[1]), numpy().array([None], object)),
    "pandas: an empty frame gains a column": lambda: (
        pandas().DataFrame({"a": []}),
        pandas().DataFrame({"a": [], "b": []}),
    ),
    "pandas: no column at all": lambda: (pandas().DataFrame(), pandas().DataFrame({"a": []})),
    "pandas: dtype of a column": lambda: (pandas().DataFrame({"a": [1]}), pandas().DataFrame({"a": [1.0]})),
    "pandas: order of columns": lambda: (
        pandas().DataFrame({"a": [1], "b": [2]}),
        pandas().DataFrame({"b": [2], "a": [1]}),
    ),
    "pandas: order of rows": lambda: (
        pandas().DataFrame({"a": [1, 2]}, index=["x", "y"]),
        pandas().DataFrame({"a": [2, 1]}, index=["y", "x"]),
    ),
    "pandas: name of the index": lambda: (
        pandas().DataFrame({"a": [1]}),
        pandas().DataFrame({"a": [1]}).rename_axis("id"),
    ),
    "pandas: name of the columns": lambda: (
        pandas().DataFrame({"a": [1]}),
        pandas().DataFrame({"a": [1]}).rename_axis("field", axis=1),
    ),
    "pandas: dtype of the index": lambda: (
        pandas().DataFrame({"a": [1]}, index=[0]),
        pandas().DataFrame({"a": [1]}, index=[0.0]),
    ),
    "pandas: categories": lambda: (
        pandas().Series(pandas().Categorical(["a"], ["a"])),
        pandas().Series(pandas().Categorical(["a"], ["a", "b"])),
    ),
    "pandas: order of categories": lambda: (
        pandas().Series(pandas().Categorical(["a"], ["a"])),
        pandas().Series(pandas().Categorical(["a"], ["a"], ordered=True)),
    ),
    "pandas: name of a series": lambda: (pandas().Series([1], name="a"), pandas().Series([1], name="b")),
    "pandas: dtype of an empty series": lambda: (
        pandas().Series([], dtype="int64"),
        pandas().Series([], dtype="float64"),
    ),
    "pandas: time zone": lambda: (
        pandas().Series(pandas().to_datetime(["2026-01-01"], utc=True)),
        pandas().Series(pandas().to_datetime(["2026-01-01"])),
    ),
    "pandas: rows with one index": lambda: (
        pandas().DataFrame({"a": [1, 2]}, index=[0, 0]),
        pandas().DataFrame({"a": [1.0, 2.0]}, index=[0, 0]),
    ),
    "pandas: columns with one name": lambda: (
        pandas().DataFrame([[1, 2]], columns=["a", "a"]),
        pandas().DataFrame([[1, 2]], columns=["a", "b"]),
    ),
    "pandas: name of an index": lambda: (pandas().Index([1]), pandas().Index([1], name="id")),
    "pandas: levels of an index": lambda: (
        pandas().DataFrame({"a": [1]}, index=pandas().MultiIndex.from_tuples([(1, 2)], names=["x", "y"])),
        pandas().DataFrame({"a": [1]}, index=pandas().MultiIndex.from_tuples([(1, 2)], names=["x", "z"])),
    ),
    "pyarrow: type": lambda: (
        pyarrow().array([1], pyarrow().int32()),
        pyarrow().array([1], pyarrow().int64()),
    ),
    "pyarrow: type of nothing": lambda: (
        pyarrow().array([], pyarrow().int32()),
        pyarrow().array([], pyarrow().string()),
    ),
}
different = pytest.mark.parametrize("make", DIFFERENT.values(), ids=DIFFERENT)


@different
@pytest.mark.parametrize("place", [lambda it: it, lambda it: {"held": it}, lambda it: [it]])
def test_a_change_of_structure_alone_is_a_change(make, place):
    before, after = map(freeze, map(place, make()))
    assert not equal(before, after)
    assert identity(before) != identity(after)
    delta = difference(before, after)
    assert delta.changed
    assert delta.words() != "did not change"


@different
@pytest.mark.parametrize("which", [0, 1])
def test_equal_structures_are_unchanged(make, which):
    one, other = freeze(make()[which]), freeze(make()[which])
    assert equal(one, other)
    assert identity(one) == identity(other)
    assert not difference(one, other).changed
    assert equal(freeze(one), one)


@pytest.mark.parametrize(
    "make",
    [
        make for name, make in DIFFERENT.items() if name != "pandas: time zone"
    ],  # a Timestamp has no exact text
)
def test_a_structure_survives_being_handed_over_copied_and_pickled(make):
    before, after = map(freeze, make())
    read_back = decode(json.loads(json.dumps(encode(before))))
    assert equal(read_back, before)
    assert not equal(read_back, after)
    if isinstance(before, tuple) and not any(isinstance(item, MappingProxyType) for item in before):
        for twin in (copy.deepcopy(before), pickle.loads(pickle.dumps(before))):  # noqa: S301  # our own bytes
            assert equal(twin, before)
            assert not equal(twin, after)


def test_an_empty_frame_that_gains_a_column_fails_unchanged():
    frame = pandas().DataFrame({"a": []})
    assert judged(unchanged("frame", lambda: frame), lambda: frame.insert(1, "b", [])) == "fail"


def test_the_explanation_names_the_changed_structure_of_a_frame():
    frame = pandas().DataFrame({"a": [1]})
    with window("act", unchanged("frame", lambda: frame)) as w:
        frame["a"] = frame["a"].astype(float)
    assert "modified '(structure)'" in w.report["frame"].explanation
    assert "'a': float64" in w.report["frame"].explanation


def test_a_row_added_to_a_frame_is_added_and_nothing_else():
    state = [pandas().DataFrame({"a": [1]})]

    def act():
        state[0] = pandas().DataFrame({"a": [1, 2]})

    assert judged(change("frame", lambda: state[0]).adding(1), act) == "pass"


def test_a_column_that_is_ignored_may_change_its_type_if_the_structure_is_ignored_too():
    state = [pandas().DataFrame({"a": [1]})]

    def act():
        state[0] = pandas().DataFrame({"a": [1.5]})

    check = unchanged("frame", lambda: state[0])
    assert judged(check.ignoring("*/a", "**/a", "(structure)"), act) == "pass"
    state[0] = pandas().DataFrame({"a": [1]})
    assert judged(check.ignoring("**/a"), act) == "fail"


def test_a_frame_equals_plain_rows_and_an_array_a_plain_list():
    assert equal(freeze(pandas().DataFrame({"a": [1]})), freeze({0: {"a": 1}}))
    assert equal(freeze(numpy().array([[1, 2]])), freeze([[1, 2]]))


def test_words_for_sequences_take_the_members_of_an_array():
    numbers = [numpy().array([1, 2])]

    def act():
        numbers[0] = numpy().array([1, 2, 3])

    assert judged(change("numbers", lambda: numbers[0]).adding(3), act) == "pass"


def test_an_array_in_a_document_is_compared_item_by_item():
    before, after = (freeze({"a": array("i", members)}) for members in ([1, 2], [1, 2, 3]))
    delta = difference(before, after)
    assert delta.added == {("a", 2): 3}
    assert equal(apply(delta, before), after)


def test_a_frame_is_handed_over_with_its_structure():
    frame = pandas().DataFrame({"a": []})
    w = window("act", unchanged("frame", lambda: frame))
    w.capture_baseline()
    document = w.to_json()
    frame["b"] = []
    assert Window.from_json(document, unchanged("frame", lambda: frame)).verify()["frame"].outcome == "fail"


def test_a_subclass_of_an_array_with_attributes_keeps_its_structure():
    kind = type("Sub", (numpy().ndarray,), {})
    assert not equal(freeze(numpy().zeros(1).view(kind)), freeze(numpy().zeros(1, "f4").view(kind)))


def test_a_table_of_pyarrow_is_refused_with_an_alternative():
    with pytest.raises(Unfreezable, match=r"return .* instead"):
        freeze(pyarrow().table({"a": [1]}))


class Point(NamedTuple):
    x: int


class Other(NamedTuple):
    y: int


class Text(str):
    __slots__ = ()


SAME = {
    "deque: maxlen": lambda: (deque([1], maxlen=2), deque([1], maxlen=3)),
    "defaultdict: factory": lambda: (defaultdict(int, a=1), defaultdict(list, a=1)),
    "OrderedDict: order": lambda: (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
    "named tuple: names": lambda: (Point(1), Other(1)),
    "a subclass of str": lambda: (Text("a"), "a"),
    "Counter and dict": lambda: (Counter("a"), {"a": 1}),
    "range and range": lambda: (range(0, 4, 2), range(0, 3, 2)),
    "bytes and a view of them": lambda: (b"ab", memoryview(b"ab")),
    "number of numpy": lambda: (numpy().int32(1), 1),
}


@pytest.mark.parametrize("make", SAME.values(), ids=SAME)
def test_flags_for_later_changes_and_names_of_content_are_not_state(make):
    before, after = map(freeze, make())
    assert equal(before, after)
    assert not difference(before, after).changed
