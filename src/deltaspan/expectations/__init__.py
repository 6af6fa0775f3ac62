"""Expectations: immutable demands on a delta, each with its verdict and its sentence.

`_change.py` combines a start, an end and a movement. Each other file is a family of movements
(`_movements.py`, `_numbers.py`, `_numbers_by_key.py`, `_members.py`, `_only.py`, `_predicates.py`) or shared:
`_patterns.py` separates patterns from literal text, `_paths.py` resolves the members that a pattern names,
`_ignoring.py` leaves members out, `_computed.py` resolves computed operands. A new family is a new file.
"""

from deltaspan.expectations._base import (
    Expectation,
    Incomparable,
    Movement,
    NothingClaimed,
    States,
)
from deltaspan.expectations._change import ChangeExpectation, NoChange, NoClaim
from deltaspan.expectations._computed import (
    BEFORE,
    DELTA,
    KEY,
    MEMBER,
    POST_STATE,
    PRE_STATE,
    VALUE,
    BoundPredicate,
    computed_operands,
    has_operand,
    is_predicate,
    predicate_name,
    read_own_generator,
    with_operands,
)
from deltaspan.expectations._ignoring import NOTHING_IGNORED, Ignored
from deltaspan.expectations._keeping_others import collateral_words, removals_of_others, without_unsigned
from deltaspan.expectations._members import Kind, Members, Named, Resizing
from deltaspan.expectations._movements import AnyMovement, NoMovement, SomeChange
from deltaspan.expectations._numbers import AtLeast, AtMost, Between, By, Decrease, Increase, is_of_numbers
from deltaspan.expectations._numbers_by_key import ByKey
from deltaspan.expectations._only import Only
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
    "AtLeast",
    "AtMost",
    "Between",
    "BoundPredicate",
    "By",
    "ByKey",
    "ChangeExpectation",
    "Decrease",
    "Expectation",
    "Ignored",
    "Incomparable",
    "Increase",
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
    "Pattern",
    "PredicateRaised",
    "Resizing",
    "Satisfying",
    "SomeChange",
    "States",
    "collateral_words",
    "collect_patterns",
    "computed_operands",
    "has_operand",
    "has_pattern",
    "is_glob",
    "is_of_numbers",
    "is_predicate",
    "parse_key",
    "parse_member",
    "pattern",
    "predicate_name",
    "read_own_generator",
    "removals_of_others",
    "with_operands",
    "without_unsigned",
]
