"""Freezing: from the value that a probe read to a deep, immutable snapshot.

`_freeze.py` copies, `_types.py` classifies types, `_fields.py` reads the fields of a record, `_paths.py`
names the entries of a state, `_unfreezable.py` builds the sentence for a value that cannot be copied.
"""

from deltaspan._state.record import MAPPINGS, Record, class_of, fields_in, has_foreign_keys
from deltaspan._state.snapshot._fields import fields_of, is_record
from deltaspan._state.snapshot._freeze import IGNORED, MAX_DEPTH, MAX_NODES, Pruning, freeze
from deltaspan._state.snapshot._hidden import Hidden
from deltaspan._state.snapshot._keys import is_comparable, is_plain_set
from deltaspan._state.snapshot._operands import rebuild
from deltaspan._state.snapshot._paths import (
    ORDER,
    STRUCTURE,
    Array,
    Aspect,
    Path,
    make_array,
    structure_of,
)
from deltaspan._state.snapshot._types import SCALARS
from deltaspan._state.snapshot._unfreezable import Unfreezable

__all__ = [
    "IGNORED",
    "MAPPINGS",
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
    "Record",
    "Unfreezable",
    "class_of",
    "fields_in",
    "fields_of",
    "freeze",
    "has_foreign_keys",
    "is_comparable",
    "is_plain_set",
    "is_record",
    "make_array",
    "rebuild",
    "structure_of",
]
