"""Verdicts, and the meaning of each reason for an inconclusive one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, get_args

from deltaspan._guard import class_name, qualified_name, safe_str
from deltaspan._interrupts import without_frames
from deltaspan._state.diff import Delta
from deltaspan.typing import Outcome, Reason


class Unread:
    """The state that was not read, as distinct from the state None."""

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
        error: the exception without its traceback. It is None for an exception of the action: a report that
            held it would keep the arguments of the action alive.
    """

    name: str
    qualified_name: str
    message: str
    error: BaseException | None

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """Describe an exception of the code of a check, and keep it."""
        return cls.by_action(error)._replace(error=without_frames(error))

    @classmethod
    def by_action(cls, error: BaseException) -> Raised:
        """Describe the exception of the action."""
        kind = type(error)
        return cls(class_name(kind), qualified_name(kind), safe_str(error), None)


class Verdict(NamedTuple):
    """The result of judging a delta.

    Attributes:
        outcome: pass, fail, inconclusive, observed or skipped.
        reason: why there is no verdict. Only `inconclusive` has one.
        note: the sentence that explains it, if the sentence of the expectation does not.
        raised: the exception that caused it, or None.
    """

    outcome: Outcome
    reason: Reason | None = None
    note: str | None = None
    raised: Raised | None = None


class Timing(NamedTuple):
    """The attempts and waiting times of a check beyond two reads.

    Attributes:
        attempts: the number of reads of the post-state.
        settle_seconds: the time from the end of the action to the last read; None after a single read.
        lock_seconds: the time that the check waited for its lock; None without a lock.
        baseline_age_seconds: the age of a baseline of another process; None for a baseline of this one.
    """

    attempts: int = 1
    settle_seconds: float | None = None
    lock_seconds: float | None = None
    baseline_age_seconds: float | None = None


PASS: Final = Verdict("pass")
FAIL: Final = Verdict("fail")
OBSERVED: Final = Verdict("observed")

SEVERITY: Final[dict[Outcome, int]] = {"skipped": 0, "observed": 1, "pass": 2, "inconclusive": 3, "fail": 4}
"""The rank of each outcome. The highest among the checks is the outcome of the action."""


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


def inconclusive(reason: Reason, note: str, raised: Raised | None = None) -> Verdict:
    """Return an inconclusive verdict with its reason.

    Args:
        reason: one of the reasons of `inconclusive`.
        note: the sentence for a person.
        raised: the exception that caused it, if any.
    """
    return Verdict("inconclusive", reason, note, raised)


class ProbeTimeout(Exception):
    """A probe did not answer within its timeout: the reason `probe_timeout`."""


class NotLocked(Exception):
    """The lock of a check could not be taken: the reason `baseline_failed`."""


class Explained(Protocol):
    """The part of an expectation that a report needs after the verdict."""

    @property
    def expected(self) -> object:
        """The value that a report shows as `expected_delta`: of `by` the amount, else words."""
        ...

    @property
    def keeps_others(self) -> bool:
        """True if its own sentence describes the rows of others."""
        ...

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        """Return a sentence with the demand, the change, and both states if short."""
        ...
