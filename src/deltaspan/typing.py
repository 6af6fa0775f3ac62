"""Types shared by every layer, and protocols that a user may implement."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

__all__ = [
    "Attribution",
    "Claim",
    "Contention",
    "Delta",
    "EntriesDelta",
    "MembersDelta",
    "Number",
    "Origin",
    "Outcome",
    "Policy",
    "Probe",
    "Reason",
    "Report",
    "ReportHook",
    "RowsDelta",
]

Number: TypeAlias = int | float | Decimal | Fraction | timedelta
"""The types of a numeric delta. The difference of two datetimes is a timedelta."""

Outcome: TypeAlias = Literal["pass", "fail", "inconclusive", "observed", "skipped"]
Reason: TypeAlias = Literal[
    "baseline_failed",
    "probe_failed",
    "probe_timeout",
    "incomparable",
    "expectation_failed",
    "action_failed",
    "contended",
    "stale_baseline",
    "abandoned",
]
Attribution: TypeAlias = Literal["causal_tag", "exclusive", "scoped", "window"]
Origin: TypeAlias = Literal["this_action", "another_action", "unknown"]
"""The origin of a change. `Attribution` is the evidence for it."""
Claim: TypeAlias = Literal["success", "failure"]
"""The claim of an action about its own success."""
Contention: TypeAlias = Literal["inconclusive", "ignore"]
Policy: TypeAlias = Literal["record", "warn", "raise"]

S_co = TypeVar("S_co", covariant=True)


class Probe(Protocol[S_co]):
    """Reads one piece of state.

    Any callable is a probe. Its parameters name what it needs: parameters of the action, or `causal_tag`.
    It must not change what it reads, and should return a number, text, or a collection of them.
    """

    # Any, not object: to a type checker it then stands for whatever parameters a probe names.
    def __call__(self, *args: Any, **kwargs: Any) -> S_co: ...


class Report(Protocol):
    """The `ActionReport` of one run, as an error carries it."""

    @property
    def action(self) -> str:
        """The action's name."""
        ...

    @property
    def causal_tag(self) -> str | None:
        """The tag of the run, canonical UUID text, or None if skipped."""
        ...

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of its checks."""
        ...

    @property
    def passed(self) -> bool:
        """True if the outcome is `pass`."""
        ...

    @property
    def explanation(self) -> str:
        """The explanations of the checks that decide the outcome, joined."""
        ...

    def feedback(self) -> str:
        """Return a compact text for the agent's next attempt."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values: the run, then its checks."""
        ...

    def __getitem__(self, metric: str, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


class ReportHook(Protocol):
    """A callable that receives the report of each finished run.

    If it raises, the error is logged and goes no further.
    """

    # Any, not ActionReport: reports are made of these types.
    def __call__(self, report: Any, /) -> object: ...


class Delta(Protocol):
    """The difference of two states, as a predicate receives it under the name `delta`.

    Of two numbers, or two points in time, it is the amount itself. Of states without members it has no more
    than this. Of the others see `MembersDelta`, `EntriesDelta` and `RowsDelta`.
    """

    @property
    def changed(self) -> bool:
        """True if the two states differ."""
        ...


class MembersDelta(Delta, Protocol):
    """The difference of two sets or two sequences."""

    @property
    def added(self) -> Collection[Any]:
        """The members that only the post-state has.

        Of a set it is a frozenset, of a sequence a tuple in order.
        """
        ...

    @property
    def removed(self) -> Collection[Any]:
        """The members that only the baseline has, in the same way."""
        ...


class EntriesDelta(Delta, Protocol):
    """The difference of two mappings or two documents.

    An entry at the top level is named by its key. One further down is named by its path, such as
    `"orders/3/status"`. A removed item of a sequence has the index that it had, any other the one that it
    has.
    """

    @property
    def added(self) -> Mapping[Any, Any]:
        """Key or path → value, of entries that only the post-state has."""
        ...

    @property
    def removed(self) -> Mapping[Any, Any]:
        """Key or path → value, of entries that only the baseline has."""
        ...

    @property
    def modified(self) -> Mapping[Any, tuple[Any, Any]]:
        """Key or path → (value before, value after), of entries that both have."""
        ...


class RowsDelta(EntriesDelta, Protocol):
    """The difference of two reads of rows with `tagged(...)`.

    `added`, `removed` and `modified` are this run's own.
    """

    @property
    def amount(self) -> int:
        """By how many rows of this run the state grew."""
        ...

    @property
    def others(self) -> EntriesDelta:
        """The rows with the tag of another run."""
        ...

    @property
    def untagged(self) -> EntriesDelta:
        """The rows without a tag, and rows that an unknown run removed."""
        ...
