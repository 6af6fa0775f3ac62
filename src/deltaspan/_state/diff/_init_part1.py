"""What differencing finds: one frozen record a kind of state, each with the words for what it found.

A delta knows nothing of expectations. It answers three questions: did anything change, how is that put in
words, and what plain value stands for it in a report.
"""

from deltaspan._state.diff._deltas_part1 import MappingDelta, SequenceDelta, SetDelta
from deltaspan._state.diff._predicates import for_predicate
from deltaspan._state.diff._deltas import Delta, NumberDelta, ValueDelta
from deltaspan._state.diff._tagged_delta import Owned, TaggedDelta, merged, split, without_contents
from deltaspan._state.snapshot import Path

__all__ = [
    "Delta",
    "MappingDelta",
    "NumberDelta",
    "Owned",
    "Path",
    "SequenceDelta",
    "SetDelta",
    "TaggedDelta",
    "ValueDelta",
    "for_predicate",
    "merged",
    "split",
    "without_contents",
]
