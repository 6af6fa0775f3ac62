"""Differencing: from two frozen states to what changed between them.

`_equality.py` says when two values are equal, `_differ.py` finds the delta.
"""

from deltaspan._difference._differ import difference
from deltaspan._difference._equality import equal, identity

__all__ = ["difference", "equal", "identity"]
