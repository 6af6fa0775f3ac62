"""The start and the end of one call of an action."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from deltaspan._engine._plan import YIELDED
from deltaspan.causal_tag import CausalTag
from deltaspan.typing import Claim

OpenReadSpan: TypeAlias = Callable[[str], AbstractContextManager[Any]]
"""Opens a span for a read of the metric that it is given."""

# Plain classes without keywords: every call makes one of each, and a NamedTuple, or a class that is called by
# keyword, takes half as long again to make.


class Call:
    """The start of a run.

    Attributes:
        values: the arguments that checks name, and the causal tag if a check names it.
        tag: the causal tag of the run.
        open_read_span: opens a span for a read of a metric. None if reads have no spans.
    """

    __slots__ = ("open_read_span", "tag", "values")

    def __init__(
        self, values: Mapping[str, Any], tag: CausalTag, open_read_span: OpenReadSpan | None = None
    ) -> None:
        self.values = values
        self.tag = tag
        self.open_read_span = open_read_span


class Ending:
    """The end of an action.

    Attributes:
        result: what the action returned. UNREAD if that is not known.
        error: what the action raised, or None.
        yielded: how many values a generator has yielded. None for any other action.
        is_closed_early: whether a generator was closed by its consumer before it ended.
        claim: what the action says of its own success, or None.
    """

    __slots__ = ("claim", "error", "is_closed_early", "result", "yielded")

    def __init__(
        self,
        result: Any,
        error: BaseException | None,
        yielded: int | None,
        is_closed_early: bool,  # noqa: FBT001
    ) -> None:
        self.result = result
        self.error = error
        self.yielded = yielded
        self.is_closed_early = is_closed_early
        self.claim: Claim | None = None

    @property
    def has_failed(self) -> bool:
        """True if the action raised, or claims failure."""
        return self.error is not None or self.claim == "failure"

    def values(self, call: Call) -> Mapping[str, Any]:
        """Return the values of a call, with `yielded` if it is a generator's."""
        return call.values if self.yielded is None else {**call.values, YIELDED: self.yielded}
