"""Who is held to have made a change, beside how well that is known."""

from __future__ import annotations

from typing import Final

from deltaspan._reports._serialized import SerializedCheck
from deltaspan._state.diff import Delta, TaggedDelta
from deltaspan._verdicts import Verdict
from deltaspan.typing import Attribution, Origin, Reason

__all__ = ["origin_of"]

_CREDITED_TO_NOBODY: Final[frozenset[Reason | None]] = frozenset(
    {"contended", "stale_baseline", "incomparable"}
)
"""Reasons that leave open who made a change, however it is attributed."""

_KNOWN_WITHOUT_VERDICT: Final[frozenset[Attribution]] = frozenset({"causal_tag", "exclusive"})
"""Attributions that name who made a change, whatever became of the verdict.

`scoped` and `window` rest on there being no overlapping window, which is looked at only for a verdict.
"""


def origin_of(delta: Delta | None, verdict: Verdict, attribution: Attribution) -> Origin | None:
    """Return who is held to have made a change; None when no change was seen.

    Args:
        delta: the difference of both states; None when one of them is missing.
        verdict: what the check came to.
        attribution: why the delta may be credited to the action.
    """
    if delta is None:
        return None
    kind = type(delta)
    if kind is SerializedCheck:
        origin = delta.origin  # type: ignore[attr-defined]  # its type was compared, which costs least
    elif kind is TaggedDelta:
        origin = _of_rows(delta)  # type: ignore[arg-type]  # likewise
    elif not delta.changed:
        return None
    elif verdict[1] is None and verdict[0] != "observed":
        return "this_action"  # it passed or failed, as nearly always
    else:
        origin = "this_action" if attribution in _KNOWN_WITHOUT_VERDICT else "unknown"
    return "unknown" if origin is not None and verdict.reason in _CREDITED_TO_NOBODY else origin


def _of_rows(delta: TaggedDelta) -> Origin | None:
    """Read who changed rows from their tags: what is mine decides, then what nobody signed."""
    if delta.changed:
        return "this_action"
    if delta.untagged.changed:
        return "unknown"
    return "another_action" if delta.others.changed else None
