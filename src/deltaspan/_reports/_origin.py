"""The origin of a change: this action, another one, or nobody knows."""

from __future__ import annotations

from deltaspan._attribution_kinds import ATTRIBUTION_KINDS
from deltaspan._reports._serialized import SerializedCheck
from deltaspan._state.diff import Delta, TaggedDelta
from deltaspan._verdicts import REASONS, Verdict
from deltaspan.typing import Attribution, Origin


def origin_of(delta: Delta | None, verdict: Verdict, attribution: Attribution) -> Origin | None:
    """Return the origin of a change, or None if no change was seen.

    Args:
        delta: the difference of both states; None if one of them is missing.
        verdict: the verdict on the check.
        attribution: why the delta may be credited to the action.
    """
    if delta is None:
        return None
    kind = type(delta)
    origin: Origin | None
    if kind is SerializedCheck:
        origin = delta.origin  # type: ignore[attr-defined]  # comparing its type costs least
    elif kind is TaggedDelta:
        origin = _origin_of_rows(delta)  # type: ignore[arg-type]  # likewise
    elif not delta.changed:
        return None
    elif verdict[1] is None and verdict[0] != "observed":
        return "this_action"  # it passed or failed, as nearly always
    else:
        is_known = ATTRIBUTION_KINDS[attribution].is_known_without_verdict
        origin = "this_action" if is_known else "unknown"
    if origin is None or verdict.reason is None:
        return origin
    return "unknown" if REASONS[verdict.reason].hides_origin else origin


def _origin_of_rows(delta: TaggedDelta) -> Origin | None:
    """Return the origin of changed rows, of which rows of this run decide."""
    if delta.changed:
        return "this_action"
    if delta.untagged.changed:
        return "unknown"
    return "another_action" if delta.others.changed else None
