"""What passes from stage to stage: frozen, slotted, each field documented."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, get_args

from deltaspan._guard import class_name, qualified_name, safe_str
from deltaspan._interrupts import without_frames
from deltaspan._state.diff import Delta
from deltaspan.typing import Outcome, Reason

__all__ = [
    "FAIL",
    "OBSERVED",
    "PASS",
    "REASONS",
    "SEVERITY",
    "UNREAD",
    "Explained",
    "NotLocked",
    "ProbeTimeout",
    "Raised",
    "ReasonMeaning",
    "Timing",
    "Unread",
    "Verdict",
    "inconclusive",
]


class Unread:
    """The state that was never read; not None, which is a state like any other."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "(not read)"

    def __reduce__(self) -> str:
        return "UNREAD"


UNREAD: Final = Unread()


class Raised(NamedTuple):
    """An exception that left a check without a verdict.

    Attributes:
        name: the name of its class.
        qualified_name: the same with its module.
        message: its text.
        error: the exception without its traceback; None for the action's own, which belongs to its caller: a
            report that held it would keep the arguments of the action alive.
    """

    name: str
    qualified_name: str
    message: str
    error: BaseException | None

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """Describe what code of a check raised, and keep it."""
        return cls.by_action(error)._replace(error=without_frames(error))

    @classmethod
    def by_action(cls, error: BaseException) -> Raised:
        """Describe what the action raised."""
        kind = type(error)
        return cls(class_name(kind), qualified_name(kind), safe_str(error), None)


class Verdict(NamedTuple):
    """What judging a delta came to.

    Attributes:
        outcome: pass, fail, inconclusive, observed or skipped.
        reason: why there is no verdict; set for `inconclusive` alone.
        note: the sentence that explains it, when the expectation's own sentence does not.
        fault: the exception behind it, when there is one.
    """

    outcome: Outcome
    reason: Reason | None = None
    note: str | None = None
    fault: Raised | None = None


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


@dataclass(frozen=True, slots=True)
class ReasonMeaning:
    """The meaning of one reason for an inconclusive check.

    Attributes:
        sentence: the reason in words that quote no state, to follow "because".
        is_unreadable: whether a state could not be read. The note then describes the error of the read.
        hides_origin: whether it stays open who made a change, whatever the kind of attribution.
    """

    sentence: str
    is_unreadable: bool = False
    hides_origin: bool = False


def _meaning_of(reason: Reason) -> ReasonMeaning:  # noqa: PLR0911  # a table of all reasons
    match reason:  # the type checker reports a missing case
        case "baseline_failed":
            return ReasonMeaning("its baseline could not be read", is_unreadable=True)
        case "probe_failed":
            return ReasonMeaning("its probe raised after the action", is_unreadable=True)
        case "probe_timeout":
            return ReasonMeaning("its probe did not answer in time", is_unreadable=True)
        case "incomparable":
            return ReasonMeaning("its states cannot be compared in the way that was asked", hides_origin=True)
        case "expectation_failed":
            return ReasonMeaning("its expected value could not be computed")
        case "action_failed":
            return ReasonMeaning("the action raised")
        case "contended":
            return ReasonMeaning(
                "another run may have written to the same scope meanwhile", hides_origin=True
            )
        case "stale_baseline":
            return ReasonMeaning("its baseline is too old", hides_origin=True)
        case "abandoned":
            return ReasonMeaning("the window ended before its verdict was reached")


REASONS: Final[dict[Reason, ReasonMeaning]] = {reason: _meaning_of(reason) for reason in get_args(Reason)}
"""Each reason with its meaning."""


def inconclusive(reason: Reason, note: str, fault: Raised | None = None) -> Verdict:
    """Return a verdict that says why there is none.

    Args:
        reason: one of the reasons of `inconclusive`.
        note: the sentence for a person.
        fault: the exception behind it, if any.
    """
    return Verdict("inconclusive", reason, note, fault)


class ProbeTimeout(Exception):
    """A probe did not answer in the time that its check allows; becomes the reason `probe_timeout`."""


class NotLocked(Exception):
    """The lock of a check could not be taken; becomes the reason `baseline_failed`."""


class Explained(Protocol):
    """What a report needs of an expectation once its verdict is known."""

    @property
    def expected(self) -> object:
        """The value that a report shows as `expected_delta`: of `by` the amount, else words."""
        ...

    @property
    def keeps_others(self) -> bool:
        """Whether its own sentence describes the rows of others."""
        ...

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        """Return the sentence: what was expected, what happened, and both states if they are short."""
        ...
