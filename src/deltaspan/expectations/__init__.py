"""Expectations: immutable demands on a delta, each with its verdict and its sentence.

`_change.py` combines a start, an end and a movement. A family of movements is a file:
`_movements.py`, `_numbers.py`, `_numbers_by_key.py`, `_members.py` (of `_named.py`), `_sizes.py`, `_only.py`,
`_predicates.py`.
They share `_entries.py` and `_order.py`; `_patterns.py` separates patterns from literal text, and `_paths.py`
resolves the members that they name; `_ignoring.py` leaves members out. `_operands.py` declares what a run
fills in, and `_computed.py` validates the values. A new family is a new file.
"""

from deltaspan.expectations._base import (
    Expectation,
    Incomparable,
    Movement,
    NothingClaimed,
    States,
)
from deltaspan.expectations._change import ChangeExpectation, NoChange, NoClaim
from deltaspan.expectations._comparison import validate_amount
from deltaspan.expectations._computed import read_own_generator
from deltaspan.expectations._entries import Kind
from deltaspan.expectations._ignoring import NOTHING_IGNORED, Ignored
from deltaspan.expectations._keeping_others import collateral_words, removals_of_others, without_unsigned
from deltaspan.expectations._members import Members
from deltaspan.expectations._movements import AnyMovement, NoMovement, SomeChange
from deltaspan.expectations._named import Named
from deltaspan.expectations._numbers import ByAmount, is_of_numbers
from deltaspan.expectations._numbers_by_key import ByKey
from deltaspan.expectations._only import Only
from deltaspan.expectations._operands import (
    BEFORE,
    DELTA,
    KEY,
    MEMBER,
    POST_STATE,
    PRE_STATE,
    VALUE,
    BoundPredicate,
    Computed,
    Operand,
    Predicate,
    computed_if_callable,
)
from deltaspan.expectations._patterns import (
    MemberTemplate,
    Pattern,
    collect_patterns,
    has_pattern,
    is_glob,
    parse_key,
    parse_member,
    pattern,
)
from deltaspan.expectations._predicates import PredicateRaised, Satisfying
from deltaspan.expectations._sizes import Resizing

__all__ = [
    "BEFORE",
    "DELTA",
    "KEY",
    "MEMBER",
    "NOTHING_IGNORED",
    "POST_STATE",
    "PRE_STATE",
    "VALUE",
    "AnyMovement",
    "BoundPredicate",
    "ByAmount",
    "ByKey",
    "ChangeExpectation",
    "Computed",
    "Expectation",
    "Ignored",
    "Incomparable",
    "Kind",
    "MemberTemplate",
    "Members",
    "Movement",
    "Named",
    "NoChange",
    "NoClaim",
    "NoMovement",
    "NothingClaimed",
    "Only",
    "Operand",
    "Pattern",
    "Predicate",
    "PredicateRaised",
    "Resizing",
    "Satisfying",
    "SomeChange",
    "States",
    "collateral_words",
    "collect_patterns",
    "computed_if_callable",
    "has_pattern",
    "is_glob",
    "is_of_numbers",
    "parse_key",
    "parse_member",
    "pattern",
    "read_own_generator",
    "removals_of_others",
    "validate_amount",
    "without_unsigned",
]
