"""The four kinds of attribution, and what follows from each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, get_args

from deltaspan.typing import Attribution


@dataclass(frozen=True, slots=True)
class AttributionKind:
    """The consequences of one kind of attribution.

    Attributes:
        tolerates_rivals: whether a verdict stands although another window of the same scope was open.
        is_known_without_verdict: whether it names who made a change even if there is no verdict. `scoped` and
            `window` depend on the absence of overlapping windows, which is tested for a verdict only.
        includes_unverified_writers: whether a change by code that is not verified would be credited to the
            action without a trace.
    """

    tolerates_rivals: bool = False
    is_known_without_verdict: bool = False
    includes_unverified_writers: bool = False


def choose_attribution(*, uses_tag: bool, is_locked: bool, is_scoped: bool) -> Attribution:
    """Return the strongest kind of attribution that a check has.

    Args:
        uses_tag: whether its probe selects or compares by causal tag.
        is_locked: whether it holds a lock around the action.
        is_scoped: whether its probe names arguments of the action.
    """
    if uses_tag:
        return "causal_tag"
    if is_locked:
        return "exclusive"
    return "scoped" if is_scoped else "window"


def _kind_of(attribution: Attribution) -> AttributionKind:
    match attribution:  # the type checker reports a missing case
        case "causal_tag":
            return AttributionKind(tolerates_rivals=True, is_known_without_verdict=True)
        case "exclusive":
            # A rival did not take the lock, so it may have written meanwhile.
            return AttributionKind(is_known_without_verdict=True)
        case "scoped" | "window":
            return AttributionKind(includes_unverified_writers=True)


ATTRIBUTION_KINDS: Final[dict[Attribution, AttributionKind]] = {
    attribution: _kind_of(attribution) for attribution in get_args(Attribution)
}
