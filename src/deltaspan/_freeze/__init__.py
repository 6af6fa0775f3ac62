"""Freezing: from whatever a probe read to a deep, immutable snapshot of plain values.

`_walk.py` copies, `_kinds.py` says what a type is, `_fields.py` reads the fields of a record, `_refusal.py`
owns the sentence for what cannot be copied, `_paths.py` says where in a state something is.
"""

from deltaspan._freeze._fields import fields_of, is_record
from deltaspan._freeze._hidden import Hidden
from deltaspan._freeze._kinds import SCALARS
from deltaspan._freeze._paths import Path
from deltaspan._freeze._record import (
    ORDER,
    STRUCTURE,
    Array,
    Aspect,
    array,
    class_of,
    record,
    structure_of,
)
from deltaspan._freeze._refusal import Unfreezable
from deltaspan._freeze._walk import IGNORED, MAX_DEPTH, MAX_NODES, Pruning, freeze

__all__ = [
    "IGNORED",
    "MAX_DEPTH",
    "MAX_NODES",
    "ORDER",
    "SCALARS",
    "STRUCTURE",
    "Array",
    "Aspect",
    "Hidden",
    "Path",
    "Pruning",
    "Unfreezable",
    "array",
    "class_of",
    "fields_of",
    "freeze",
    "is_record",
    "record",
    "structure_of",
]
