"""Freezing: from whatever a probe read to a deep, immutable snapshot of plain values.

`_walk.py` copies, `_kinds.py` says what a type is, `_fields.py` reads the fields of a record, `_refusal.py`
owns the sentence for what cannot be copied, `_paths.py` says where in a state something is.
"""

from deltaspan._state.snapshot._fields import fields_of, is_record
from deltaspan._state.snapshot._freeze import IGNORED, MAX_DEPTH, MAX_NODES, Pruning, freeze
from deltaspan._state.snapshot._hidden import Hidden
from deltaspan._state.snapshot._paths import (
    ORDER,
    STRUCTURE,
    Array,
    Aspect,
    Path,
    class_of,
    make_array,
    make_record,
    structure_of,
)
from deltaspan._state.snapshot._types import SCALARS
from deltaspan._state.snapshot._unfreezable import Unfreezable

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
    "class_of",
    "fields_of",
    "freeze",
    "is_record",
    "make_array",
    "make_record",
    "structure_of",
]
