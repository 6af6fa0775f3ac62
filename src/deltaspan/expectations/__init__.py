"""Expectations: what a delta must satisfy. Each is immutable, returns a verdict and owns its sentence.

`change.py` combines a start, an end and a movement; `amounts.py` holds the numeric movements; `claims.py`
the expectations without a movement: no change at all, and no claim. A new family is a new file.
"""

from deltaspan.expectations.amounts import AtLeast, AtMost, Between, By, Decrease, Increase
from deltaspan.expectations.base import Expectation, Movement
from deltaspan.expectations.change import ChangeExpectation, SomeChange
from deltaspan.expectations.claims import NoChange, NoClaim

__all__ = [
    "AtLeast",
    "AtMost",
    "Between",
    "By",
    "ChangeExpectation",
    "Decrease",
    "Expectation",
    "Increase",
    "Movement",
    "NoChange",
    "NoClaim",
    "SomeChange",
]
