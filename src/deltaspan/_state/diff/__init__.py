"""Differencing: from two frozen states to what changed between them.

`_equality.py` says when two values are equal, `_differ.py` finds the delta.
"""

from deltaspan._state.diff._difference import difference
from deltaspan._state.diff._equality import equal, identity

__all__ = ["difference", "equal", "identity"]
