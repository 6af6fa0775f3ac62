"""What passes from stage to stage: frozen, slotted, each field documented."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from deltaspan.typing import Outcome, Reason

__all__ = ["FAIL", "OBSERVED", "PASS", "SEVERITY", "UNREAD", "Timing", "Unread", "Verdict", "inconclusive"]


class Unread:
    """The state that was never read; not None, which is a state like any other."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "(not read)"

    def __reduce__(self) -> str:
        return "UNREAD"


UNREAD: Final = Unread()


class Verdict(NamedTuple):
    """What judging a delta came to.

    Attributes:
        outcome: pass, fail, inconclusive, observed or skipped.
        reason: why there is no verdict; set for `inconclusive` alone.
        note: the sentence that explains it, when the expectation's own sentence does not.
        error: the exception behind it, when there is one.
    """

    outcome: Outcome
    reason: Reason | None = None
    note: str | None = None
    error: Any = None


class Timing(NamedTuple):
    """What a check took beyond two reads.

    Attributes:
        attempts: how many reads of the post-state there were.
        settle_seconds: from the end of the action to the last read; None when it was read once.
        lock_seconds: how long its lock had to be waited for; None without a lock.
        baseline_age_seconds: how old a baseline was that another process captured; None otherwise.
    """

    attempts: int = 1
    settle_seconds: float | None = None
    lock_seconds: float | None = None
    baseline_age_seconds: float | None = None


PASS: Final = Verdict("pass")
FAIL: Final = Verdict("fail")
OBSERVED: Final = Verdict("observed")

SEVERITY: Final[dict[Outcome, int]] = {"skipped": 0, "observed": 1, "pass": 2, "inconclusive": 3, "fail": 4}
"""How outcomes of several checks combine: the highest names the action's outcome."""


def inconclusive(reason: Reason, note: str, error: BaseException | None = None) -> Verdict:
    """Return a verdict that says why there is none.

    Args:
        reason: one of the reasons of `inconclusive`.
        note: the sentence for a person.
        error: the exception behind it, if any.
    """
    return Verdict("inconclusive", reason, note, error)
