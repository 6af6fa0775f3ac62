"""Expectations: what a delta must satisfy. Each is immutable, returns a verdict and owns its sentence.

`change.py` combines a start, an end and a movement, and `claims.py` holds the expectations without one. Each
other file is a family of movements (`movements.py`, `amounts.py`, `amounts_by_key.py`, `sizes.py`,
`members.py`, `only.py`, `predicates.py`) or what they share: `patterns.py` tells patterns from literal text,
`matching.py` finds what a member names, `ignoring.py` leaves members out, `order.py` sees reordering,
`operands.py` fills in what is computed. A new family is a new file.
"""

from deltaspan.expectations._numbers import AtLeast, AtMost, Between, By, Decrease, Increase
from deltaspan.expectations._numbers_by_key import ByKey
from deltaspan.expectations._base import Expectation, Movement
from deltaspan.expectations._change import ChangeExpectation
from deltaspan.expectations._change_part1 import NoChange, NoClaim
from deltaspan.expectations._ignoring import Ignored
from deltaspan.expectations._members import Kind, Members, Named
from deltaspan.expectations._movements import AnyMovement, NoMovement, SomeChange
from deltaspan.expectations._only import Only
from deltaspan.expectations._patterns import Pattern, pattern
from deltaspan.expectations._predicates import Satisfying
from deltaspan.expectations._members_part1 import Resizing

__all__ = [
    "AnyMovement",
    "AtLeast",
    "AtMost",
    "Between",
    "By",
    "ByKey",
    "ChangeExpectation",
    "Decrease",
    "Expectation",
    "Ignored",
    "Increase",
    "Kind",
    "Members",
    "Movement",
    "Named",
    "NoChange",
    "NoClaim",
    "NoMovement",
    "Only",
    "Pattern",
    "Resizing",
    "Satisfying",
    "SomeChange",
    "pattern",
]
