"""What differencing finds: one frozen record a kind of state, each with the words for what it found.

A delta knows nothing of expectations. It answers three questions: did anything change, how is that put in
words, and what plain value stands for it in a report.
"""

from deltaspan._deltas._collections import MappingDelta, SequenceDelta, SetDelta
from deltaspan._deltas._predicates import for_predicate
from deltaspan._deltas._scalars import Delta, NumberDelta, ValueDelta
from deltaspan._deltas._tagged import Owned, TaggedDelta, merged, split, without_contents
from deltaspan._freeze import Path

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
