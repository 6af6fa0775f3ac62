"""Differencing: from two frozen states to their delta.

`_equality.py` decides whether two values are equal, `_difference.py` finds the delta.
"""

from deltaspan._state.diff._deltas import (
    Delta,
    MappingDelta,
    NumberDelta,
    SequenceDelta,
    SetDelta,
    ValueDelta,
)
from deltaspan._state.diff._difference import difference
from deltaspan._state.diff._equality import equal, identity
from deltaspan._state.diff._numbers import is_nan, is_number, subtract
from deltaspan._state.diff._predicates import for_predicate
from deltaspan._state.diff._tagged_delta import Ownership, TaggedDelta, merged, split, without_contents
from deltaspan._state.snapshot import Path

__all__ = [
    "Delta",
    "MappingDelta",
    "NumberDelta",
    "Ownership",
    "Path",
    "SequenceDelta",
    "SetDelta",
    "TaggedDelta",
    "ValueDelta",
    "difference",
    "equal",
    "for_predicate",
    "identity",
    "is_nan",
    "is_number",
    "merged",
    "split",
    "subtract",
    "without_contents",
]
