"""Types shared by every layer, and the protocols that a user may implement: one method each."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from deltaspan._reports import ActionReport

__all__ = [
    "Attribution",
    "Claim",
    "Contention",
    "Number",
    "Origin",
    "Outcome",
    "Policy",
    "Probe",
    "Reason",
    "ReportHook",
]

Number: TypeAlias = int | float | Decimal | Fraction | timedelta
"""What a numeric delta can be; the difference of two datetimes is a timedelta."""

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
"""Who is held to have made a change; `Attribution` is how that is known."""
Claim: TypeAlias = Literal["success", "failure"]
"""What an action says of itself."""
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


class ReportHook(Protocol):
    """Receives the report of each finished run; what it raises is logged and goes no further."""

    def __call__(self, report: ActionReport, /) -> object: ...
