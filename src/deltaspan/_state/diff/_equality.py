"""Equality of two frozen values: by value, for any two values.

It is Python's equality, with these exceptions:

- A bool is not a number: True and 1 differ.
- NaN equals itself, of whatever numeric type, and wherever it is nested.
- Python decides which members two sets share, and which keys two mappings share, apart from NaN. So {True}
  and {1} are equal. A member or key of a class that compares itself is equal only to one of its class.
- Records of different classes differ. A record and a plain mapping are compared by fields.
- Arrays and frames of different structure differ. Frames whose rows are in another order differ as well. A
  value with a structure and one without are compared by content.
- Two aware datetimes are equal if they are the same instant.
- Values whose comparison raises are not equal, unless they are the same object. RecursionError and
  MemoryError are not an answer and go on to the caller.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deltaspan._guard import EXHAUSTED
from deltaspan._interrupts import let_through
from deltaspan._state.diff._numbers import instant, is_nan, is_number
from deltaspan._state.snapshot import (
    MAPPINGS,
    Array,
    class_of,
    fields_in,
    has_foreign_keys,
    is_comparable,
    is_plain_set,
    structure_of,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

_PLAIN: Final = frozenset({str, int, bytes})
"""Types whose own equality is the answer, found by one look-up."""

_NAN: Final = object()
_FOREIGN: Final = object()

_NEVER_NAN: Final = frozenset({str, int, bytes, bool, type(None)})


class Unpaired(NamedTuple):
    """The members of two lists that are left when equal ones are cancelled.

    Python's own equality has found none of them equal. Only NaN is cancelled.
    """

    removed: list[Any]
    added: list[Any]
    pairs: list[tuple[Any, Any]]


def equal(a: object, b: object) -> bool:
    """Return whether two frozen values are equal, by value.

    The relation is symmetric and reflexive.

    Args:
        a: a frozen value, as `freeze` returns it.
        b: another.

    Raises:
        RecursionError: the stack has no room for the comparison.
        MemoryError: nor has the memory.

    Example:
        >>> equal(1, 1.0), equal(True, 1), equal((float("nan"),), (float("nan"),))
        (True, False, True)
    """
    if a is b:
        return True
    try:
        return _equal(a, b)
    except EXHAUSTED:
        raise
    except Exception as error:
        let_through(error)
        return False


def _equal(a: Any, b: Any) -> bool:  # noqa: PLR0911 - one line a kind
    if a is b:
        return True
    kind = type(a)
    if kind is type(b):
        if kind in _PLAIN:
            return bool(a == b)
        if kind is tuple:
            return len(a) == len(b) and all(map(_equal, a, b))
        if kind is frozenset:
            return len(a) == len(b) and _equal_sets(a, b)
    elif kind is bool or type(b) is bool:
        return False
    if kind in MAPPINGS and type(b) in MAPPINGS:
        return len(a) == len(b) and same_class(a, b) and _equal_mappings(a, b) and same_structure(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and same_structure(a, b) and all(map(_equal, a, b))
    return _equal_leaves(a, b)


def same_class(a: Any, b: Any) -> bool:
    """Return whether two mappings are not records of two classes."""
    mine, other = class_of(a), class_of(b)
    return mine == other or mine is None or other is None


def same_structure(a: Any, b: Any) -> bool:
    """Return whether two values are not arrays or frames of two structures.

    The rows of a frame are in order, though a mapping's items are not.
    """
    mine = structure_of(a)
    if mine is None:
        return True
    other = structure_of(b)
    if other is None or mine != other:
        return other is None
    return type(a) is Array or list(map(identity, a)) == list(map(identity, b))


def _equal_leaves(a: Any, b: Any) -> bool:
    if isinstance(a, complex) and isinstance(b, complex):
        return _equal_leaves(a.real, b.real) and _equal_leaves(a.imag, b.imag)
    if is_nan(a):
        return _nan_kind(a) == _nan_kind(b) and is_nan(b)
    if isinstance(a, datetime) and isinstance(b, datetime):
        return _equal_instants(a, b)
    return bool(a == b)


def _equal_instants(a: datetime, b: datetime) -> bool:
    mine, other = instant(a), instant(b)
    return bool(a == b) if mine is None or other is None else bool(mine == other)


def _nan_kind(value: object) -> object:
    """Return the key by which NaN is compared.

    It is one value for all numbers. Other values that differ from themselves do so as their own type.
    """
    return "number" if is_number(value) else type(value)


def _equal_mappings(a: Any, b: Any) -> bool:
    if has_foreign_keys(a) or has_foreign_keys(b):
        paired = pair_members(a, b)
        return not paired.removed and all(_equal(a[key], b[other]) for key, other in paired.pairs)
    a, b = fields_in(a), fields_in(b)
    strays = [key for key in a if key not in b]
    if not strays:
        return all(_equal(item, b[key]) for key, item in a.items())
    rest = cancel_equal(strays, [key for key in b if key not in a])
    if rest.removed or rest.added:
        return False
    shared = all(_equal(item, b[key]) for key, item in a.items() if key in b)
    return shared and all(_equal(a[key], b[other]) for key, other in rest.pairs)


def _equal_sets(a: Any, b: Any) -> bool:
    if not (is_plain_set(a) and is_plain_set(b)):
        return not pair_members(a, b).removed
    if a == b:
        return True
    rest = cancel_equal(a - b, b - a)
    return not rest.removed and not rest.added


def pair_members(before: Iterable[Any], after: Iterable[Any]) -> Unpaired:
    """Pair members or keys that a class of the user may compare."""
    theirs = {_identity_of_key(member): member for member in after}
    removed, pairs = [], []
    for member in before:
        other = theirs.pop(_identity_of_key(member), _NAN)
        if other is _NAN:
            removed.append(member)
        else:
            pairs.append((member, other))
    return Unpaired(removed, list(theirs.values()), pairs)


def cancel_equal(removed: Iterable[Any], added: Iterable[Any]) -> Unpaired:
    """Cancel members, or keys, that are equal except for NaN.

    Args:
        removed: the members that Python found in the baseline alone.
        added: the members that it found in the post-state alone.

    Returns:
        The rest of both, and the pairs (of the baseline, of the post-state) that are equal after all.
    """
    removed, added = list(removed), list(added)
    if not removed or not added or _free_of_nan(removed) or _free_of_nan(added):
        return Unpaired(removed, added, [])
    theirs: dict[Hashable, list[Any]] = {}
    for member in reversed(added):
        theirs.setdefault(_identity_of_key(member), []).append(member)
    left, pairs = [], []
    for member in removed:
        candidates = theirs.get(_identity_of_key(member))
        if candidates:
            pairs.append((member, candidates.pop()))
        else:
            left.append(member)
    return Unpaired(left, [member for rest in theirs.values() for member in rest], pairs)


def _free_of_nan(members: list[Any]) -> bool:
    return _NEVER_NAN.issuperset(map(type, members))


def identity(value: Any) -> Hashable:  # noqa: PLR0911 - one line a kind
    """Return a hashable key that is equal if and only if the values are.

    It makes members that do not hash, such as mappings, countable in linear time.
    """
    kind = type(value)
    if kind is str or kind is int:
        return value  # type: ignore[no-any-return]
    if kind is bool or kind is bytes:
        return (kind, value)
    if kind is tuple:
        return (tuple, *map(identity, value))
    if kind is frozenset:
        return _identity_of_set(value)
    if kind is Array:
        return (Array, value.structure, *map(identity, value))
    if kind in MAPPINGS:
        items = frozenset((_identity_of_key(key), identity(item)) for key, item in value.items())
        structure = structure_of(value)
        order = None if structure is None else tuple(map(_identity_of_key, value))
        return (MappingProxyType, class_of(value), structure, order, len(value), items)
    return _identity_of_leaf(value)


def _identity_of_key(key: Any) -> Hashable:
    """Return the identity of a member of a set or of a key.

    These are equal as Python says, except for NaN.
    """
    kind = type(key)
    if kind in _NEVER_NAN:
        return key  # type: ignore[no-any-return]
    if kind is tuple:
        return tuple(map(_identity_of_key, key))
    if kind is frozenset:
        return _identity_of_set(key)
    return _identity_of_leaf(key)


def _identity_of_set(members: frozenset[Any]) -> Hashable:
    found = Counter(map(_identity_of_key, members))
    # A set without NaN is its own identity.
    if is_plain_set(members) and found.keys() == members:
        return members
    return (frozenset, frozenset(found.items()))


def _identity_of_leaf(value: Any) -> Hashable:
    kind = type(value)
    if not is_comparable(kind):
        return _identity_of_foreign(value)
    if issubclass(kind, tuple):
        return (tuple, *map(identity, value))  # a named tuple
    if isinstance(value, complex) and is_nan(value):
        return (complex, _identity_of_leaf(value.real), _identity_of_leaf(value.imag))
    if is_nan(value):
        return (_NAN, _nan_kind(value))
    if isinstance(value, datetime) and (moment := instant(value)) is not None:
        return (datetime, moment)
    return value if _is_hashable(value) else (_NAN, id(value))


def _identity_of_foreign(value: Any) -> Hashable:
    # It is compared with nothing but what has the same place here, after a class with the same id.
    return (_FOREIGN, id(type(value)), value) if _is_hashable(value) else (_NAN, id(value))


def _is_hashable(value: object) -> bool:
    """Return whether a value can be counted by value.

    If not, the same object has at least the same value.
    """
    try:
        hash(value)
    except EXHAUSTED:
        raise
    except Exception as error:
        let_through(error)
        return False
    return True
