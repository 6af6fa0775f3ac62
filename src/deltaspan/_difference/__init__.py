"""Differencing: from two frozen states to what changed between them.

`_equality.py` says when two values are equal, `_differ.py` finds the delta, `_apply.py` replays it.
"""

from deltaspan._difference._apply import apply
from deltaspan._difference._differ import difference
from deltaspan._difference._equality import equal, identity

__all__ = ["apply", "difference", "equal", "identity"]
