"""The claim that something changes, with all its words."""

from __future__ import annotations

from deltaspan.checks._check import S_co
from deltaspan.checks._members import MemberWords
from deltaspan.checks._numbers import AmountWords


class Change(AmountWords[S_co], MemberWords[S_co]):
    """A claim that the state changes.

    Its words say the start, the end, the amount and the members of the change.

    A type checker knows which words fit what the probe returns.
    """

    __slots__ = ()
