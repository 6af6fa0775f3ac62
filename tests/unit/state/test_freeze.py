from __future__ import annotations

import array
import asyncio
import collections
import copy
import dataclasses
import enum
import functools
import io
import ipaddress
import random
import socket
import sqlite3
import sys
import threading
import types
import uuid
import weakref
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath

import pytest

from deltaspan._state.diff import equal
from deltaspan._state.snapshot import MAX_DEPTH, MAX_NODES, Path, Unfreezable, class_of, freeze


def refusal(value):
    with pytest.raises(Unfreezable) as caught:
        freeze(value)
    return str(caught.value)


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


# Scalars -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, 2**100, 1.5, 1j, "text", b"bytes", Decimal("1.10"), Fraction(1, 3), Colour.RED,
        Level.LOW,
        datetime(2026, 1, 2, tzinfo=timezone.utc), date(2026, 1, 2), time(3), timedelta(1), timezone.utc,
        uuid.UUID(int=7), PurePosixPath("/a"), range(3), ..., ipaddress.ip_address("::1"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_scalar_is_its_own_snapshot(value):
    assert freeze(value) is value


@pytest.mark.parametrize("base", [str, int, float, bytes])
def test_a_subclass_of_a_scalar_becomes_plain(base):
    frozen = freeze(type("Sub", (base,), {})())
    assert type(frozen) is base
    assert frozen == base()


def test_a_scalar_subclass_becomes_plain_without_running_its_own_code():
    class Text(str):
        __slots__ = ()

        def __str__(self):
            raise ValueError

    assert type(freeze(Text("a"))) is str


# Containers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        [1, 2],
        (1, 2),
        collections.deque([1, 2]),
        array.array("i", [1, 2]),
        {1: "a", 2: "b"}.keys(),
        {"a": 1, "b": 2}.values(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_sequence_becomes_a_tuple(value):
    assert freeze(value) == (1, 2)


def test_dict_items_become_a_tuple_of_pairs():
    assert freeze({"a": [1]}.items()) == (("a", (1,)),)


def test_a_named_tuple_becomes_a_tuple():
    frozen = freeze(collections.namedtuple("Point", "x y")(1, 2))  # noqa: PYI024 - the plain kind is meant
    assert type(frozen) is tuple
    assert frozen == (1, 2)


def test_a_set_becomes_a_frozenset():
    live = {1, 2}
    frozen = freeze(live)
    live.add(3)
    assert type(frozen) is frozenset
    assert frozen == {1, 2}


def test_the_members_of_a_set_are_trusted():
    member = object()
    assert freeze({member}) == {member}


def test_a_mapping_becomes_a_read_only_mapping():
    frozen = freeze({"a": 1})
    assert type(frozen) is types.MappingProxyType
    assert frozen == {"a": 1}


@pytest.mark.parametrize(
    "value",
    [
        collections.OrderedDict(a=1),
        collections.Counter("a"),
        collections.defaultdict(int, a=1),
        collections.UserDict(a=1),
        types.MappingProxyType({"a": 1}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_of_mapping_becomes_the_same(value):
    frozen = freeze(value)
    assert type(frozen) is types.MappingProxyType
    assert dict(frozen) == {"a": 1}


def test_a_read_only_view_of_a_live_dict_is_copied():
    live = {"a": 1}
    frozen = freeze(types.MappingProxyType(live))
    live["a"] = 2
    assert frozen["a"] == 1


def test_keys_are_trusted_and_keep_their_identity():
    key = Colour.RED
    assert next(iter(freeze({key: [1]}))) is key


def test_nested_containers_are_frozen_to_the_bottom():
    frozen = freeze({"orders": [{"tags": {"new"}, "lines": [[1]]}]})
    assert frozen["orders"][0] == {"tags": frozenset({"new"}), "lines": ((1,),)}


def test_a_bytearray_becomes_bytes():
    live = bytearray(b"ab")
    frozen = freeze(live)
    live[0] = 0
    assert frozen == b"ab"
    assert type(frozen) is bytes


def test_a_memoryview_becomes_bytes():
    assert freeze(memoryview(b"ab")) == b"ab"


def test_a_shared_reference_is_not_a_cycle():
    shared = [1]
    assert freeze([shared, shared]) == ((1,), (1,))


def test_a_snapshot_freezes_to_itself():
    frozen = freeze({"a": [1, {2}], "b": {"c": [None]}})
    assert equal(freeze(frozen), frozen)


def test_a_user_defined_sequence_becomes_a_tuple():
    class Pair(Sequence):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return [1, 2][index]

    assert freeze(Pair()) == (1, 2)


def test_a_user_defined_set_becomes_a_frozenset():
    class Evens(AbstractSet):
        def __len__(self):
            return 2

        def __iter__(self):
            return iter((2, 4))

        def __contains__(self, number):
            return number in (2, 4)

    assert freeze(Evens()) == frozenset({2, 4})


# Records -----------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Order:
    number: int
    tags: list


@dataclasses.dataclass(slots=True)
class SlottedOrder:
    number: int
    tags: list


class PlainOrder:
    def __init__(self, number, tags):
        self.number = number
        self.tags = tags


class OrderWithSlots:
    __slots__ = ("number", "tags")

    def __init__(self, number, tags):
        self.number = number
        self.tags = tags


@pytest.mark.parametrize("kind", [Order, SlottedOrder, PlainOrder, OrderWithSlots])
def test_a_record_becomes_a_mapping_of_its_fields(kind):
    live = kind(1, ["new"])
    frozen = freeze(live)
    live.tags.append("paid")
    live.number = 2
    assert isinstance(frozen, Mapping)
    assert frozen == {"number": 1, "tags": ("new",)}


def test_a_record_reads_as_the_mapping_of_its_fields_and_cannot_be_changed():
    record = freeze(Order(1, ["new"]))

    assert (record["number"], list(record), len(record), "tags" in record) == (1, ["number", "tags"], 2, True)
    assert repr(record) == "mappingproxy({'number': 1, 'tags': ('new',)})"
    with pytest.raises(AttributeError, match="cannot be changed"):
        record.fields = {}
    with pytest.raises(TypeError):
        record["number"] = 2


def test_a_record_that_is_frozen_or_copied_again_keeps_its_class():
    record = freeze(Order(1, ["new"]))

    assert [class_of(again) for again in (freeze(record), copy.deepcopy(record))] == [class_of(record)] * 2
    assert class_of(record).endswith("Order")


def test_private_attributes_are_state_like_any_other():
    class Counter:
        def __init__(self):
            self._count = 3

    assert freeze(Counter()) == {"_count": 3}


def test_an_attribute_beside_the_declared_fields_is_not_left_out():
    order = Order(1, [])
    order.note = ["urgent"]
    assert freeze(order) == {"number": 1, "tags": (), "note": ("urgent",)}


def test_an_empty_slot_is_left_out():
    order = OrderWithSlots(1, [])
    del order.tags
    assert freeze(order) == {"number": 1}


def test_properties_are_not_read():
    class Order:
        def __init__(self):
            self.number = 1

        @property
        def total(self):
            raise ValueError

        def __getattr__(self, name):
            raise ValueError(name)

    assert freeze(Order()) == {"number": 1}


def test_reading_a_cached_property_does_not_change_a_state():
    class Order:
        def __init__(self):
            self.number = 1

        @functools.cached_property
        def total(self):
            return 10

    order = Order()
    before = freeze(order)
    assert order.total == 10
    assert freeze(order) == before == {"number": 1}


def test_a_simple_namespace_is_a_record():
    assert freeze(types.SimpleNamespace(a=[1])) == {"a": (1,)}


def test_an_attrs_instance_becomes_a_mapping_of_its_fields():
    attrs = pytest.importorskip("attrs", reason="attrs is not installed")
    kind = attrs.make_class("Order", {"number": attrs.field(), "_tags": attrs.field()})
    assert freeze(kind(1, [2])) == {"number": 1, "_tags": (2,)}


def test_a_pydantic_model_becomes_a_mapping_of_all_that_it_holds():
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")

    class Order(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        number: int
        _secret: list = pydantic.PrivateAttr(default_factory=lambda: [1])

    assert freeze(Order(number=1, extra=[2])) == {"number": 1, "extra": (2,), "_secret": (1,)}


# numpy and pandas --------------------------------------------------------------------------------------


def test_a_numpy_scalar_becomes_a_plain_one():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    frozen = [freeze(numpy.int64(3)), freeze(numpy.float64(0.5)), freeze(numpy.bool_(True))]
    assert [(type(value), value) for value in frozen] == [(int, 3), (float, 0.5), (bool, True)]


def test_a_numpy_scalar_without_a_counterpart_is_its_own_snapshot():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    assert freeze(numpy.longdouble(3)) == 3


def test_a_numpy_array_becomes_nested_tuples():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    live = numpy.arange(4).reshape(2, 2)
    frozen = freeze(live)
    live[0, 0] = 9
    assert frozen == ((0, 1), (2, 3))


def test_a_numpy_array_that_is_too_large_is_refused_before_it_is_converted():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    assert (
        refusal({"a": numpy.broadcast_to(numpy.int8(0), (10**12,))})
        == "found more than 1000000 values at a: return a set, a count or a digest instead"
    )


def test_a_series_with_a_unique_index_becomes_a_mapping():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert freeze(pandas.Series([1, 2], index=["a", "b"])) == {"a": 1, "b": 2}


def test_a_series_with_a_repeated_index_becomes_a_tuple():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert freeze(pandas.Series([1, 2], index=["a", "a"])) == (1, 2)


def test_a_frame_becomes_rows_by_index():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert freeze(pandas.DataFrame({"n": [1, 2]}, index=["a", "b"])) == {"a": {"n": 1}, "b": {"n": 2}}


def test_a_frame_with_a_repeated_index_becomes_a_tuple_of_rows():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert freeze(pandas.DataFrame({"n": [1, 2]}, index=["a", "a"])) == ({"n": 1}, {"n": 2})


def test_a_frame_with_repeated_columns_has_tuples_as_rows():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert freeze(pandas.DataFrame([[1, 2]], columns=["n", "n"])) == {0: (1, 2)}


# Refused values ----------------------------------------------------------------------------------------


def generator():
    yield 1


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (sys, "found a module: return the values that it holds instead"),
        (int, "found a class: return its name instead"),
        (list[int], "found a class: return its name instead"),
        (len, "found a function (builtin_function_or_method): call it and return its result instead"),
        (generator, "found a function (function): call it and return its result instead"),
        ([].append, "found a function (builtin_function_or_method): call it and return its result instead"),
        (functools.partial(int), "found a function (partial): call it and return its result instead"),
        (threading.Lock(), "found a lock (lock): return the values that it guards instead"),
        (threading.RLock(), "found a lock (RLock): return the values that it guards instead"),
        (asyncio.Lock(), "found a lock (Lock): return the values that it guards instead"),
        (threading.main_thread(), "found a thread: return its name instead"),
        (io.BytesIO(), "found an open file (BytesIO): return its content, size or digest instead"),
        (generator(), "found an iterator (generator): return list(rows) or a count instead"),
        (iter([]), "found an iterator (list_iterator): return list(rows) or a count instead"),
        (map(str, []), "found an iterator (map): return list(rows) or a count instead"),
        (weakref.ref(Colour), "found a weak reference: return what it refers to instead"),
        (weakref.proxy(Colour), "found a weak reference: return what it refers to instead"),
        (ValueError("x"), "found an exception (ValueError): return its text instead"),
        (object(), "found an opaque object (object): return its fields as a dict instead"),
        (threading.local(), "found an opaque object (_local): return its fields as a dict instead"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_an_object_that_is_not_state_is_refused_with_an_alternative(value, sentence):
    assert refusal(value) == sentence


def test_a_socket_is_refused():
    with socket.socket() as live:
        assert refusal(live) == ("found a socket (socket): return the rows or values read through it instead")


def test_a_connection_is_refused():
    connection = sqlite3.connect(":memory:")
    try:
        assert refusal(connection) == (
            "found a connection (Connection): return the rows or values read through it instead"
        )
    finally:
        connection.close()


def test_a_coroutine_is_refused():
    async def count():
        return 1

    live = count()
    assert refusal(live) == (
        "found an awaitable (coroutine): await it in the probe and return its result instead"
    )
    live.close()


async def test_a_task_is_refused():
    task = asyncio.ensure_future(asyncio.sleep(0))
    assert refusal(task) == "found an awaitable (Task): await it in the probe and return its result instead"
    await task


def test_a_lazy_iterable_is_refused():
    class Query:
        def __iter__(self):
            raise AssertionError

    assert refusal(Query()) == "found a lazy iterable (Query): return list(rows) or a count instead"


def test_a_live_database_row_is_refused():
    row = type("User", (), {"__mapper__": object()})()
    assert refusal(row) == "found a live database row (User): return its columns as a dict instead"


def test_a_subclass_of_a_type_written_in_c_is_refused():
    class Dice(random.Random):
        pass

    assert refusal(Dice()) == "found an opaque object (Dice): return its fields as a dict instead"


def test_the_sentence_says_where():
    assert refusal({"orders": [1, 2, 3, iter([])]}) == (
        "found an iterator (list_iterator) at orders/3: return list(rows) or a count instead"
    )


def test_a_slash_in_a_key_is_escaped_in_the_sentence():
    assert refusal({"a/b": {"c~d": object()}}) == (
        "found an opaque object (object) at a~1b/c~0d: return its fields as a dict instead"
    )


def test_a_field_of_a_record_is_named_in_the_sentence():
    assert refusal([PlainOrder(threading.Lock(), [])]) == (
        "found a lock (lock) at 0/number: return the values that it guards instead"
    )


# Limits ------------------------------------------------------------------------------------------------


def test_a_list_that_contains_itself_is_refused_as_a_cycle():
    live = []
    live.append(live)
    assert refusal({"a": live}) == (
        "found a cycle at a/0: return values that do not contain themselves instead"
    )


def test_objects_that_refer_to_each_other_are_refused_as_a_cycle():
    parent, child = types.SimpleNamespace(), types.SimpleNamespace()
    parent.child, child.parent = child, parent
    assert refusal(parent) == (
        "found a cycle at child/parent: return values that do not contain themselves instead"
    )


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_nesting_up_to_the_limit_is_frozen():
    assert equal(freeze(nested(MAX_DEPTH)), freeze(nested(MAX_DEPTH)))


@pytest.mark.parametrize("levels", [MAX_DEPTH + 2, 10_000])
def test_nesting_beyond_the_limit_is_refused(levels):
    assert refusal(nested(levels)) == (
        "found more than 100 levels of nesting: return a flatter structure instead"
    )


def test_a_nearly_full_stack_is_refused_and_raises_no_recursion_error():
    def down(levels):
        if levels:
            return down(levels - 1)
        try:
            freeze(nested(60))
        except Unfreezable as error:
            return str(error)
        return None

    expected = "found more nesting than the stack has room for: return a flatter structure instead"
    depth = len(list(iter_frames()))
    answers = {
        down(levels)
        for levels in range(sys.getrecursionlimit() - depth - 80, sys.getrecursionlimit() - depth - 40)
    }
    assert answers <= {None, expected}
    assert expected in answers


def iter_frames():
    frame = sys._getframe()
    while frame:
        yield frame
        frame = frame.f_back


def test_more_values_than_the_limit_are_refused():
    assert refusal([0] * (MAX_NODES + 1)) == (
        "found more than 1000000 values: return a set, a count or a digest instead"
    )


def test_a_state_with_exactly_the_limit_of_values_is_frozen():
    assert len(freeze([0] * MAX_NODES)) == MAX_NODES


def test_the_members_of_a_set_do_not_count_towards_the_limit():
    assert len(freeze(set(range(MAX_NODES + 1)))) == MAX_NODES + 1


def test_references_that_multiply_are_refused():
    value = [0] * 10
    for _ in range(9):
        value = [value] * 10
    assert refusal(value).startswith("found more than 1000000 values at 0/0/")


def test_an_endless_mapping_is_refused():
    class Endless(Mapping):
        def __len__(self):
            return 1

        def __getitem__(self, key):
            return key

        def __iter__(self):
            number = 0
            while True:
                yield (number := number + 1)

    assert refusal(Endless()) == ("found more than 1000000 values: return a set, a count or a digest instead")


# Values that misbehave ---------------------------------------------------------------------------------


def test_a_mapping_that_lies_about_its_keys_is_refused():
    class Liar(Mapping):
        def __len__(self):
            return 1

        def __getitem__(self, key):
            raise KeyError(key)

        def __iter__(self):
            return iter(["a"])

    assert refusal({"x": Liar()}) == (
        "found a Liar that could not be read (KeyError: 'a') at x: return plain values instead"
    )


def test_a_declared_field_that_raises_is_refused():
    @dataclasses.dataclass
    class Order:
        number: int = 1

        def __getattribute__(self, name):
            if name == "number":
                raise ValueError("no database")
            return super().__getattribute__(name)

    assert refusal(Order()) == (
        "found a Order that could not be read (ValueError: no database): return plain values instead"
    )


def test_an_object_whose_every_answer_raises_is_refused_or_frozen_without_it():
    class Hostile:
        __slots__ = ("x",)

        def __init__(self):
            object.__setattr__(self, "x", 1)

        def _raise(self, *_):
            raise ValueError

        __eq__ = __hash__ = __repr__ = __getattribute__ = __getattr__ = __bool__ = __len__ = _raise
        __class__ = property(_raise)

    assert freeze(Hostile()) == {"x": 1}


def test_a_class_that_cannot_be_hashed_is_refused():
    class Meta(type):
        def __hash__(cls):
            raise ValueError("no hash")

        __eq__ = type.__eq__

    class Odd(metaclass=Meta):
        pass

    assert refusal(Odd()) == (
        "found a Odd that could not be read (ValueError: no hash): return plain values instead"
    )


def test_an_error_without_a_text_is_named_by_its_class():
    class Mute(Exception):
        def __str__(self):
            raise ValueError

    class Broken(collections.UserDict):
        def items(self):
            raise Mute

    assert refusal(Broken()) == "found a Broken that could not be read (Mute): return plain values instead"


def test_a_container_that_another_thread_changes_is_read_again():
    reads = []

    class Restless(collections.UserDict):
        def items(self):
            reads.append(1)
            if len(reads) < 3:
                raise RuntimeError("dictionary changed size during iteration")
            return super().items()

    assert freeze(Restless(a=1)) == {"a": 1}


def test_a_container_that_never_rests_is_refused():
    class Restless(collections.UserDict):
        def items(self):
            raise RuntimeError("dictionary changed size during iteration")

    assert refusal(Restless()) == (
        "found a Restless that could not be read (RuntimeError: dictionary changed size during iteration): "
        "return a copy made under its lock instead"
    )


def test_an_interrupt_is_not_swallowed():
    class Slow(collections.UserDict):
        def items(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        freeze(Slow())


# Paths -------------------------------------------------------------------------------------------------


def test_a_path_equals_the_tuple_of_its_keys():
    assert Path(("orders", 3)) == ("orders", 3)


def test_the_text_of_a_path_escapes_separators():
    assert Path(("a/b", "c~d", 3, None)).text == "a~1b/c~0d/3/None"


def test_a_path_of_one_key_is_named_by_the_key_itself():
    assert Path((42,)).member == 42


def test_a_longer_path_is_named_by_its_text():
    assert Path(("orders", 42)).member == "orders/42"


def test_a_key_without_a_text_is_named_by_its_class():
    class Mute:
        def __str__(self):
            raise ValueError

    assert Path(("a", Mute())).text == "a/<Mute>"
