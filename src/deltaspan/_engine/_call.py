"""The start and the end of one call of an action, as every check of its run sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from deltaspan._engine._plan import YIELDED
from deltaspan.causal_tag import CausalTag
from deltaspan.typing import Claim

__all__ = ["Call", "Ending"]


class Call(NamedTuple):
    """The start of a run.

    Attributes:
        values: the arguments that checks name, and the causal tag if a check names it.
        tag: the causal tag of the run.
    """

    values: Mapping[str, Any]
    tag: CausalTag


class Ending(NamedTuple):
    """The end of an action.

    Attributes:
        result: what the action returned. UNREAD if that is not known.
        error: what the action raised, or None.
        yielded: how many values a generator has yielded. None for any other action.
        is_closed_early: whether a generator was closed by its consumer before it ended.
        claim: what the action says of its own success, or None.
    """

    result: Any
    error: BaseException | None
    yielded: int | None
    is_closed_early: bool
    claim: Claim | None = None

    @property
    def has_failed(self) -> bool:
        """Whether the action raised, or claims failure."""
        return self.error is not None or self.claim == "failure"

    def values(self, call: Call) -> Mapping[str, Any]:
        """Return the values of a call, and the number of yielded values of a generator."""
        return call.values if self.yielded is None else {**call.values, YIELDED: self.yielded}
