"""The copy itself: one recursive walk, bounded in depth and in number of values."""

from __future__ import annotations

from enum import Enum
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from deltaspan._guard import EXHAUSTED, class_name, safe_str
from deltaspan._interrupts import let_through
from deltaspan._state.record import MAPPINGS, Record, fields_in, has_foreign_keys
from deltaspan._state.render import MASK, masked_text, secret_of
from deltaspan._state.snapshot._extra_state import (
    check_consistent_iteration,
    extends_builtin,
    extra_state,
    is_content_only,
    plain_scalar,
)
from deltaspan._state.snapshot._fields import fields_of, hidden_fields, is_record
from deltaspan._state.snapshot._hidden import Hidden
from deltaspan._state.snapshot._keys import is_comparable, is_plain_key, plain_key, plain_members
from deltaspan._state.snapshot._paths import Array, make_array
from deltaspan._state.snapshot._structure import structure_of_array, structure_of_frame, structure_of_series
from deltaspan._state.snapshot._types import SCALARS, Kind, has_keys, kind_of, refusal_of
from deltaspan._state.snapshot._unfreezable import Refusal, Unfreezable, failed_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

IGNORED: Final = "(ignored)"
"""The item of a sequence in place of one that is left out."""

MAX_DEPTH = 100
"""The deepest nesting of containers. The walk then stays far from the recursion limit."""

MAX_NODES = 1_000_000
"""The most values that are copied of one state. The members of a set are not copied and do not count."""

_TRIES = 5
"""The number of reads of a container that another thread changes meanwhile."""

_TOO_MANY = (f"more than {MAX_NODES} values", "return a set, a count or a digest")

_NO_STACK = "found more nesting than the stack has room for: return a flatter structure instead"
_NO_MEMORY = "found more than the memory has room for: return a count or a digest instead"

T = TypeVar("T")


class Pruning(Protocol):
    """Decides which entries of a state are left out."""

    def leaves_out(self, keys: Sequence[object], key: object) -> bool:
        """Return whether the entry at `key` below `keys` is left out."""
        ...

    def reaches(self, depth: int) -> bool:
        """Return whether anything may be left out below this many keys."""
        ...


def freeze(value: object, pruning: Pruning | None = None) -> object:
    """Take a deep, immutable snapshot of a value.

    Scalars and other immutable values are returned unchanged. Lists, tuples, deques, arrays and dict views
    become tuples. Sets become frozensets. Mappings become read-only mappings of a fresh dict. Keys and
    members of a subclass of a built-in become plain, because its methods may say that it equals anything. Any
    other hashable object is kept, and is equal only to an object of its class. Bytearrays and memoryviews
    become bytes. A record (dataclass, attrs, pydantic, any object of a Python class) becomes the read-only
    mapping of *all* its fields, private ones too, because a change of a missing field would not be seen.
    Properties are not read, and cached ones are left out. Arrays, series and frames become tuples and
    mappings that remember their structure: the types of items, columns in order, names, the index, the shape.
    The order of a frame's rows is part of the state.
    A number of numpy becomes a plain number, because its type is not state, as for 1 and 1.0.
    A named tuple becomes its members, and its names are not state.

    A value of a subclass of a built-in with attributes of its own becomes a record of them, with its content
    as the field `(content)`. Members of enumerations are constants and are returned unchanged. A value that
    only behaves like a collection becomes a record of its fields, or its content without fields. A value that
    hides its content, such as pydantic's SecretStr or a field with `repr=False`, becomes a digest. It
    compares by content, and shows what the value shows of itself. The order of a mapping's keys is not state,
    not even that of an OrderedDict. Return `list(mapping)` to check it. Settings of a built-in for later
    changes are not state either: `maxlen` of a deque, `default_factory` of a defaultdict.

    Args:
        value: any value.
        pruning: decides which entries are left out. They are not copied, and cannot make the state
            unfreezable. None leaves out nothing. An item of a sequence that is left out becomes `IGNORED`, so
            that the others keep their index.

    Returns:
        The snapshot. It is equal in content and shares nothing mutable with the value. To freeze it again
        changes nothing.

    Raises:
        Unfreezable: the value, or something within it, is not state (a module, a lock, a file, an iterator),
            contains itself, is nested more than `MAX_DEPTH` deep, has more than `MAX_NODES` values, or raised
            when it was read.

    Example:
        >>> orders = [{"id": 1, "tags": {"new"}}]
        >>> freeze(orders)
        (mappingproxy({'id': 1, 'tags': frozenset({'new'})}),)
    """
    try:
        try:
            if type(value) in SCALARS:
                return value
            walk = _Walk() if pruning is None else _PrunedWalk(pruning)
            return walk.copy(value, 0)
        except Refusal as refusal:
            raise Unfreezable(refusal.sentence()) from None
        except (Unfreezable, *EXHAUSTED):
            raise
        except Exception as error:
            let_through(error)
            # The attributes of a class may raise too. The caller gets a state or a sentence in any case.
            raise Unfreezable(failed_read(value, error).sentence()) from None
    except EXHAUSTED as error:
        # Nothing is called here that would need more stack or memory.
        raise Unfreezable(_NO_STACK if type(error) is RecursionError else _NO_MEMORY) from None


class _Walk:
    """One copy: the number of values that it may still visit."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_NODES

    def copy(self, value: Any, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise Refusal(
                f"more than {MAX_DEPTH} levels of nesting", "return a flatter structure", too_deep=True
            )
        kind = type(value)
        if kind is dict:
            fresh = value.copy()
            if (
                len(fresh) <= self._left
                and SCALARS.issuperset(map(type, fresh.values()))
                and SCALARS.issuperset(map(type, fresh))
            ):
                # Nearly every mapping contains scalars alone. C finds that many times faster than a loop.
                self._left -= len(fresh)
                return MappingProxyType(fresh)
            return self._mapping(value, fresh, depth)
        if kind is list or kind is tuple:
            return self._sequence(value, tuple(value), depth)
        if kind is set or kind is frozenset:
            return plain_members(frozenset(value))
        return _READERS[kind_of(kind)](self, value, depth)  # type: ignore[arg-type]  # a class hashes

    def _mapping(self, holder: object, fresh: dict[Any, Any], depth: int) -> Mapping[Any, object]:
        """Freeze the keys and values of a fresh dict in place."""
        self._spend(len(fresh))
        key = None
        try:
            for key, item in fresh.items():
                if type(item) not in SCALARS:
                    fresh[key] = self.copy(item, depth + 1)
        except Refusal as refusal:
            raise refusal.within(holder, key) from None
        return _with_plain_keys(holder, fresh)

    def _sequence(self, holder: object, members: tuple[Any, ...], depth: int) -> tuple[object, ...]:
        self._spend(len(members))
        if SCALARS.issuperset(map(type, members)):
            return members
        fresh: list[object] = []
        try:
            for item in members:
                fresh.append(item if type(item) in SCALARS else self.copy(item, depth + 1))  # noqa: PERF401 - the length is the index of a refused item
        except Refusal as refusal:
            raise refusal.within(holder, len(fresh)) from None
        return tuple(fresh)

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise Refusal(*_TOO_MANY)

    # Readers: one a kind, each takes the value and its depth ------------------------------------------------

    def read_scalar(self, value: Any, depth: int) -> object:
        plain = _read(value, plain_scalar)
        if not is_comparable(type(plain)):
            return self._read_foreign_scalar(value, depth)
        if not extends_builtin(type(value)):
            # An address, a pattern, a time zone: immutable as it is.
            return plain
        try:
            held = self._extra_record(value, plain, depth)
        except Refusal:
            name = class_name(type(value))
            raise Refusal(
                f"a {name} with attributes that are not plain state",
                "return its plain value, or what matters of it as a dict,",
            ) from None
        return plain if held is None else held

    def _read_foreign_scalar(self, value: Any, depth: int) -> object:
        """Freeze a scalar whose class compares it, by its content."""
        kind = type(value)
        if isinstance(value, Enum):
            return self._freeze_record(value, {"name": value._name_, "value": value._value_}, depth)
        if is_record(kind):
            return self.read_record(value, depth)
        raise Refusal(
            f"a {class_name(kind)}, whose class says what it equals",
            "return its plain value, or what matters of it as a dict,",
        )

    def read_iterable(self, value: Any, depth: int) -> object:
        if type(value) is Array:
            return make_array(self._sequence(value, tuple(value), depth), value.structure)
        members = _read(value, lambda it: tuple(self._limited(it)))
        check_consistent_iteration(value, members)
        held = self._extra_record(value, members, depth)
        return self._sequence(value, members, depth) if held is None else held

    def read_set(self, value: Any, depth: int) -> object:
        if issubclass(type(value), set | frozenset):
            members = _read(value, lambda it: frozenset(iter(it)))
            check_consistent_iteration(value, members)
        else:
            members = _read(value, lambda it: frozenset(self._limited(it)))
        held = self._extra_record(value, members, depth)
        return plain_members(members) if held is None else held

    def read_mapping(self, value: Any, depth: int) -> object:
        fields = _read(value, self._items)
        if type(value) is MappingProxyType:
            return self._mapping(value, fields, depth)
        if type(value) is Record:
            return self._record(value, fields, value.name, value.structure, depth)
        check_consistent_iteration(value, fields)
        held = self._extra_record(value, fields, depth)
        return self._mapping(value, fields, depth) if held is None else held

    def read_collection(self, value: Any, depth: int) -> object:
        kind = type(value)
        if is_record(kind) and not is_content_only(kind) and _read(value, fields_of):
            return self.read_record(value, depth)
        return self.read_mapping(value, depth) if has_keys(kind) else self.read_iterable(value, depth)

    def _extra_record(self, value: Any, content: object, depth: int) -> object:
        """Freeze the record of a value with state beside its content, or return None."""
        fields = _read(value, lambda it: extra_state(it, content))
        return None if fields is None else self._freeze_record(value, fields, depth)

    def _freeze_record(self, value: Any, fields: dict[Any, Any], depth: int) -> object:
        kind = type(value)
        record = self._record(value, fields, f"{kind.__module__}.{kind.__qualname__}", None, depth)
        for name in hidden_fields(kind):
            if name in fields and type(fields[name]) is not Hidden:
                fields[name] = Hidden.of(fields[name], MASK)
        return record

    def _record(
        self, value: object, fields: dict[Any, Any], name: str | None, structure: str | None, depth: int
    ) -> Record:
        is_foreign = has_foreign_keys(self._mapping(value, fields, depth))
        return Record(fields, name, structure, has_foreign_keys=is_foreign)

    def read_record(self, value: Any, depth: int) -> object:
        return self._freeze_record(value, _read(value, fields_of), depth)

    def read_hidden(self, value: Any, depth: int) -> object:
        held = self.copy(_read(value, secret_of), depth + 1)
        return Hidden.of(held, _read(value, masked_text))

    def read_bytes(self, value: Any, depth: int) -> object:
        if isinstance(value, memoryview) and (value.format != "B" or value.ndim != 1):
            return self.read_array(value, depth)  # bytes have neither a type of items nor a shape
        content = _read(value, lambda it: memoryview(it).tobytes())
        held = self._extra_record(value, content, depth)
        return content if held is None else held

    def read_array(self, value: Any, depth: int) -> object:
        size = _read(value, lambda it: getattr(it, "size", 0))
        if type(size) is int and size > self._left:
            # It is refused before millions of numbers become millions of objects.
            raise Refusal(*_TOO_MANY)
        result = _read(value, lambda it: it.tolist())
        if type(result) is type(value) and not is_content_only(type(value)):
            name = class_name(type(value))
            raise Refusal(f"a {name} whose tolist() returns a {name}", "return plain values")
        if type(result) is list:
            result = make_array(tuple(result), _read(value, structure_of_array))
        held = self._extra_record(value, result, depth)
        return self._freeze_converted(value, result, depth) if held is None else held

    def read_series(self, value: Any, depth: int) -> object:
        unique = _read(value, lambda it: it.index.is_unique)
        content = _read(value, lambda it: it.to_dict() if unique else it.tolist())
        return self._freeze_structured(value, content, _read(value, structure_of_series), depth)

    def read_frame(self, value: Any, depth: int) -> object:
        return self._freeze_structured(
            value, _read(value, _frame_rows), _read(value, structure_of_frame), depth
        )

    def _freeze_structured(self, value: object, content: Any, structure: str, depth: int) -> object:
        if isinstance(content, dict):
            kind = type(value)
            return self._record(value, content, f"{kind.__module__}.{kind.__qualname__}", structure, depth)
        return make_array(self._sequence(value, tuple(content), depth), structure)

    def read_refused(self, value: Any, _depth: int) -> object:
        raise refusal_of(type(value))

    def _freeze_converted(self, value: object, result: object, depth: int) -> object:
        kind = type(result)
        if kind in SCALARS or kind is type(value):
            # A scalar type without a Python counterpart, such as a long double, converts to itself.
            return result
        return self.copy(result, depth)

    def _items(self, mapping: Mapping[Any, Any]) -> dict[Any, Any]:
        if type(mapping) in MAPPINGS:
            return dict(fields_in(mapping))
        if not hasattr(type(mapping), "items"):
            return {key: mapping[key] for key in self._limited(mapping.keys())}
        pairs = list(self._limited(mapping.items()))
        fresh = dict(pairs)
        if len(fresh) < len(pairs):
            found = f"a mapping with several items of one key ({class_name(type(mapping))})"
            raise Refusal(found, "return its items as a list")
        return fresh

    def _limited(self, members: Iterable[T]) -> Iterable[T]:
        """Limit an iterable that may be endless.

        One item too many is enough for the limit to be noticed.
        """
        return islice(members, self._left + 1)


class _PrunedWalk(_Walk):
    """One copy without the entries that are left out.

    Args:
        pruning: decides which entries are left out.
    """

    __slots__ = ("_keys", "_pruning")

    def __init__(self, pruning: Pruning) -> None:
        super().__init__()
        self._pruning = pruning
        self._keys: list[object] = []

    def copy(self, value: Any, depth: int) -> object:
        if type(value) is dict and depth <= MAX_DEPTH and self._pruning.reaches(len(self._keys)):
            # The shortcut for mappings of scalars does not look at keys.
            return self._mapping(value, value.copy(), depth)
        return super().copy(value, depth)

    def _mapping(self, holder: object, fresh: dict[Any, Any], depth: int) -> Mapping[Any, object]:
        keys, pruning = self._keys, self._pruning
        if not pruning.reaches(len(keys)):
            return super()._mapping(holder, fresh, depth)
        _with_plain_keys(holder, fresh)  # a key must not answer for another one
        for key in [key for key in fresh if pruning.leaves_out(keys, key)]:
            del fresh[key]
        self._spend(len(fresh))
        for key, item in fresh.items():
            fresh[key] = self._below(holder, key, item, depth)
        return _with_plain_keys(holder, fresh)

    def _sequence(self, holder: object, members: tuple[Any, ...], depth: int) -> tuple[object, ...]:
        keys, pruning = self._keys, self._pruning
        if not pruning.reaches(len(keys)):
            return super()._sequence(holder, members, depth)
        self._spend(len(members))
        # Members of a top-level sequence are named by value, so the difference leaves them out.
        return tuple(
            [
                IGNORED
                if keys and pruning.leaves_out(keys, index)
                else self._below(holder, index, item, depth)
                for index, item in enumerate(members)
            ]
        )

    def _below(self, holder: object, key: object, item: Any, depth: int) -> object:
        if type(item) in SCALARS:
            return item
        self._keys.append(key)
        try:
            return self.copy(item, depth + 1)
        except Refusal as refusal:
            raise refusal.within(holder, key) from None
        finally:
            self._keys.pop()


_READERS: Mapping[Kind, Callable[[_Walk, Any, int], object]] = {
    Kind.SCALAR: _Walk.read_scalar,
    Kind.SEQUENCE: _Walk.read_iterable,
    Kind.SET: _Walk.read_set,
    Kind.MAPPING: _Walk.read_mapping,
    Kind.RECORD: _Walk.read_record,
    Kind.COLLECTION: _Walk.read_collection,
    Kind.BYTES: _Walk.read_bytes,
    Kind.ARRAY: _Walk.read_array,
    Kind.SERIES: _Walk.read_series,
    Kind.FRAME: _Walk.read_frame,
    Kind.HIDDEN: _Walk.read_hidden,
    Kind.REFUSED: _Walk.read_refused,
}


def _read(value: Any, reader: Callable[[Any], T]) -> T:
    """Read a value with a reader that may run the value's own code.

    Other threads may be changing the value.
    """
    for attempt in range(_TRIES):
        try:
            return reader(value)
        except (Refusal, *EXHAUSTED):  # noqa: PERF203 - each try needs its own
            raise
        except RuntimeError as error:
            # "changed size during iteration", "mutated during iteration": the next read may succeed.
            let_through(error)
            if "during iteration" not in safe_str(error):
                raise failed_read(value, error) from None
            if attempt == _TRIES - 1:
                raise failed_read(value, error, "return a copy made under its lock") from None
        except Exception as error:
            let_through(error)
            raise failed_read(value, error) from None
    raise AssertionError  # pragma: no cover - the last try returned or raised


def _with_plain_keys(holder: object, fresh: dict[Any, Any]) -> Mapping[Any, object]:
    """Make the keys of a fresh dict plain, and return a view."""
    if SCALARS.issuperset(map(type, fresh)):
        return MappingProxyType(fresh)
    keys = [plain_key(key) for key in fresh]
    if any(key is not old for key, old in zip(keys, fresh, strict=True)):
        items = list(fresh.values())
        fresh.clear()
        fresh.update(zip(keys, items, strict=True))
        if len(fresh) < len(items):
            found = f"a mapping with several keys of one content ({class_name(type(holder))})"
            raise Refusal(found, "return its items as a list")
    if all(map(is_plain_key, fresh)):
        return MappingProxyType(fresh)
    return Record(fresh, None, has_foreign_keys=True)


def _frame_rows(frame: Any) -> object:
    """Return rows by index, each a mapping by column.

    If the index is not unique, they are a list. If the columns are not, each row is a tuple.
    """
    if not frame.columns.is_unique:
        rows = list(frame.itertuples(index=False, name=None))
        return dict(zip(frame.index, rows, strict=True)) if frame.index.is_unique else rows
    return frame.to_dict("index") if frame.index.is_unique else frame.to_dict("records")
