"""What is fixed when a check has met its action, as frozen records that every run reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from deltaspan._callables import ArgumentReader, Bound, is_async
from deltaspan._config import settings
from deltaspan._attribution._contention import Scope
from deltaspan._guard import class_name
from deltaspan._attribution._locks import LockSource
from deltaspan._attribution._places import place_of
from deltaspan._telemetry import ActionNames
from deltaspan.checks import Patience
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import Expectation
from deltaspan.typing import Attribution, Contention, Policy, ReportHook

__all__ = ["CAUSAL_TAG", "RESULT", "YIELDED", "CheckPlan", "Options", "Plan"]

CAUSAL_TAG: Final = "causal_tag"
RESULT: Final = "result"
YIELDED: Final = "yielded"


@dataclass(frozen=True, slots=True)
class Options:
    """What a decorator or a window may say beside its checks.

    Attributes:
        on_failure: what a failed check does beyond being recorded; None follows the environment.
        on_inconclusive: the same for a check without a verdict.
        on_report: receives the report of each run.
        deferred: whether verdicts are reached after the action has returned.
        on_contention: whether a delta that another action may have made is inconclusive, or judged as it is.
        claim: returns whether the action says that it succeeded; it names what it needs of the run.
    """

    on_failure: Policy | None = None
    on_inconclusive: Policy | None = None
    on_report: ReportHook | None = None
    deferred: bool = False
    on_contention: Contention = "inconclusive"
    claim: Callable[..., object] | None = None

    def __post_init__(self) -> None:
        if self.on_contention not in get_args(Contention):
            words = ", ".join(get_args(Contention))
            raise DefinitionValueError(f"on_contention={self.on_contention!r} is not one of {words}")
        for name in ("on_failure", "on_inconclusive"):
            value = getattr(self, name)
            if value is not None and value not in get_args(Policy):
                raise DefinitionValueError(f"{name}={value!r} is not one of {', '.join(get_args(Policy))}")
        if self.deferred and "raise" in (self.on_failure, self.on_inconclusive):
            raise DefinitionValueError(
                "deferred=True returns the action's result before the verdict, so 'raise' would raise "
                "nowhere; use 'warn', or on_report"
            )
        if self.on_report is not None and not callable(self.on_report):
            raise DefinitionTypeError(
                f"on_report={self.on_report!r} must be callable; it receives an ActionReport"
            )
        if is_async(self.on_report):
            raise DefinitionTypeError(
                f"on_report={self.on_report!r} is async, and nobody would await it; "
                f"take the report in a plain function"
            )


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """One check, bound to its action.

    Attributes:
        metric: the name of what is measured.
        probe: the probe, with what it needs.
        expectation: judges the delta.
        computed: path of each computed operand of the expectation, and the callable that computes it.
        attribution: why its delta may be credited to the action, as far as the definition tells.
        scope_names: the arguments that scope it, sorted.
        claims_change: whether the action says that it writes what is measured.
        claims_nothing: whether no claim is made at all.
        judged_on_error: whether the delta is judged although the action raised.
        judged_when_left: whether it is judged although a generator was closed before its end.
        unchanged_on_error: whether an action that raised, or claims failure, must have left no trace.
        is_limited: whether its reads must not hold up the action, or not for long.
        timeout: the longest that one read may take, in seconds.
        patience: how long its post-state is looked at again.
        lock: where its lock comes from.
        redaction: turns a state into what may be shown of it.
        is_content: whether what is read is content, whose values are shown only where the process says so.
        hint: what keeps a change from being seen, in words.
        has_whole_values: whether each value of a mapping is compared as a whole, and not by its items.
        sample_rate: the share of runs in which it is read.
        ignores_rivals: whether it is judged although another action may have made the delta.
        is_tagged: whether its state is of rows, of which each is credited to whoever wrote it.
        counts_rows: whether such rows are counted, or else named.
        has_ignored: whether members are left out before the delta is judged.
    """

    metric: str
    probe: Bound
    expectation: Expectation
    computed: tuple[tuple[str, Bound], ...]
    attribution: Attribution
    scope_names: tuple[str, ...]
    claims_change: bool
    claims_nothing: bool
    judged_on_error: bool
    judged_when_left: bool
    unchanged_on_error: bool
    is_limited: bool
    timeout: float | None
    patience: Patience | None
    lock: LockSource | None
    redaction: Callable[[Any], Any] | None
    is_content: bool
    hint: str | None
    has_whole_values: bool
    sample_rate: float
    ignores_rivals: bool
    is_tagged: bool
    counts_rows: bool
    has_ignored: bool
    _bare_scope: Scope

    def patience_after(self, *, has_failed: bool) -> Patience | None:
        """Return how long the post-state is looked at again.

        An action that failed must have left no trace: one that is not there yet at first proves nothing.

        Args:
            has_failed: whether the action raised, or claims failure.
        """
        if not has_failed or self.patience is None or not self.unchanged_on_error:
            return self.patience
        return replace(self.patience, holding=True)

    @property
    def hides_content(self) -> bool:
        """Whether the values of its states are kept out of everything that leaves."""
        return self.is_content and not settings().shows_content

    @property
    def bounds(self) -> list[Bound]:
        """Whatever names arguments: the probe, computed operands, a computed lock."""
        lock = [] if self.lock is None or self.lock.computed is None else [self.lock.computed]
        return [self.probe, *[bound for _, bound in self.computed], *lock]

    def scope(self, values: Mapping[str, Any]) -> Scope:
        """Return where this run reads: the metric, and the places of the arguments that the probe names."""
        names = self.scope_names
        if not names:
            return self._bare_scope
        found = [place_of(values.get(name)) for name in names]
        if None not in found:
            return Scope(self.metric, names, names, tuple(found))
        known = [(name, place) for name, place in zip(names, found, strict=True) if place is not None]
        unknown = tuple(
            f"{name} ({_described(values.get(name))})"
            for name, place in zip(names, found, strict=True)
            if place is None
        )
        return Scope(
            self.metric, names, tuple(name for name, _ in known), tuple(place for _, place in known), unknown
        )


def _described(argument: Any) -> str:
    name = "None" if argument is None else class_name(type(argument))
    return name if argument is None else f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


@dataclass(frozen=True, slots=True)
class Plan:
    """One action or window with its checks, ready to run.

    Attributes:
        action: its name.
        checks: its checks, in the order declared.
        arguments: reads the arguments that checks name; None when none does.
        names: what telemetry says of it.
        options: policies and the hook.
        names_values: whether any probe or expected value names anything.
        is_generator: whether the action yields values that expected values may count.
        has_locks: whether any check holds a lock.
        is_patient: whether any post-state is looked at again.
        claim: tells what the action says of itself; None when its definition does not say how.
    """

    action: str
    checks: tuple[CheckPlan, ...]
    arguments: ArgumentReader | None
    names: ActionNames
    options: Options
    names_values: bool
    is_generator: bool
    has_locks: bool
    is_patient: bool
    claim: Bound | None

    @property
    def first_async_lock(self) -> str | None:
        """The metric of the first check whose lock only an async action can take, or None."""
        return next((check.metric for check in self.checks if check.lock and check.lock.is_async), None)

    @property
    def first_async_metric(self) -> str | None:
        """The metric of the first check whose probe is async, or None."""
        return next((check.metric for check in self.checks if check.probe.is_async), None)

    def policy(self, outcome: str) -> Policy:
        """Return what a failed or an inconclusive outcome does beyond being recorded."""
        if outcome == "fail":
            return self.options.on_failure or settings().on_failure
        return self.options.on_inconclusive or settings().on_inconclusive
