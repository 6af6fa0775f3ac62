"""Plans: actions and windows with their checks, bound once and read by every run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, get_args

from deltaspan._attribution import Doubt, LockSource, Scope, Tagged, folders_above, place_of
from deltaspan._attribution_kinds import choose_attribution
from deltaspan._callables import ArgumentReader, Bound, bind, check_no_shadowing, is_async
from deltaspan._config import settings
from deltaspan._engine._capture import Capture, make_capture
from deltaspan._engine._reads import ReadLimit
from deltaspan._guard import class_name
from deltaspan._state.render import attribute_key
from deltaspan._state.snapshot import freeze
from deltaspan._telemetry import ActionNames
from deltaspan.checks import (
    Check,
    Modifiers,
    Polling,
    has_whole_values,
    hint_of,
    is_blocking,
    is_content,
    is_context_manager,
    unscoped_names,
)
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import (
    BEFORE,
    DELTA,
    KEY,
    MEMBER,
    POST_STATE,
    PRE_STATE,
    VALUE,
    Expectation,
    MemberTemplate,
    NoChange,
    NoClaim,
    Operand,
    Predicate,
    is_of_numbers,
)
from deltaspan.typing import Attribution, Contention, Policy, ReportHook

CAUSAL_TAG: Final = "causal_tag"
RESULT: Final = "result"
YIELDED: Final = "yielded"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a decorator or a window, beside its checks.

    `expects` documents them. A policy that is None follows the settings.
    """

    on_failure: Policy | None = None
    on_inconclusive: Policy | None = None
    on_report: ReportHook | None = None
    deferred: bool = False
    on_contention: Contention = "inconclusive"
    claim: Callable[..., object] | None = None
    tool: bool | None = None
    capture_arguments: bool | Collection[str] | None = None

    def __post_init__(self) -> None:
        if self.on_contention not in get_args(Contention):
            words = ", ".join(get_args(Contention))
            raise DefinitionValueError(f"on_contention={self.on_contention!r} is not one of {words}")
        for name in ("on_failure", "on_inconclusive"):
            value = getattr(self, name)
            if value is not None and value not in get_args(Policy):
                raise DefinitionValueError(f"{name}={value!r} is not one of {', '.join(get_args(Policy))}")
        if self.tool is not None and type(self.tool) is not bool:
            raise DefinitionTypeError(f"tool={self.tool!r} is not True, False or None")
        captured = self.capture_arguments
        if isinstance(captured, str) or not isinstance(captured, bool | Collection | None):
            raise DefinitionTypeError(
                f"capture_arguments={captured!r} is not True, False, None or a list of names; "
                f"write the names of arguments, such as ['tenant']"
            )
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
        check: the check as it was written.
        metric: what it measures.
        expectation: the demand on the delta.
        modifiers: how it is read and judged.
        options: the options of its action.
        probe: the probe, with the arguments that it names.
        computed: each operand of the expectation that a run fills in, and its callable.
        lock: where its lock comes from.
        limit: keeps its reads from holding up the action. None for reads on the thread of the action.
        attribution: why its delta may be credited to the action, as far as the definition tells.
        scope_names: the arguments that scope it, sorted.
        claims_change: whether the check claims that the action changes the state.
        reads_content: whether the probe reads content.
        has_whole_values: whether each value of a mapping is compared as a whole, and not by its items.
        is_tagged: whether its state consists of rows, each credited to the run that wrote it.
    """

    # What every run asks is found once, at the binding. The rest is a property.
    check: Check[Any]
    metric: str
    expectation: Expectation
    modifiers: Modifiers
    options: Options
    probe: Bound
    computed: tuple[tuple[Operand, Bound], ...]
    lock: LockSource | None
    limit: ReadLimit | None
    attribution: Attribution
    scope_names: tuple[str, ...]
    claims_change: bool
    reads_content: bool
    has_whole_values: bool
    is_tagged: bool
    _bare_scope: Scope

    def polling(self, *, has_failed: bool) -> Polling | None:
        """Return how the post-state is polled, or None.

        With `or_unchanged_on_error`, an action that failed must leave the state unchanged. An unchanged state
        proves nothing at first, so it must hold throughout.

        Args:
            has_failed: whether the action raised, or claims failure.
        """
        modifiers = self.modifiers
        polling = modifiers.polling
        if polling is None or not (has_failed and modifiers.unchanged_on_error):
            return polling
        return replace(polling, until="fail")

    @property
    def is_judged_on_error(self) -> bool:
        """True if the delta is judged although the action raised."""
        return self.modifiers.unchanged_on_error or not self.claims_change

    @property
    def is_judged_when_closed_early(self) -> bool:
        """True if the delta is judged although a generator was closed before its end."""
        return any(YIELDED in bound.names for _, bound in self.computed)

    @property
    def ignores_rivals(self) -> bool:
        """True if the delta is judged although another action may have made it."""
        return self.options.on_contention == "ignore"

    @property
    def counts_rows(self) -> bool:
        """True if tagged rows are counted. Otherwise they are named."""
        return self.is_tagged and is_of_numbers(self.expectation.movement)

    @property
    def hint(self) -> str | None:
        """A sentence about what may hide a change from the probe, or None."""
        return hint_of(self.check.probe)

    @property
    def hides_content(self) -> bool:
        """True if no value of its states may leave the process."""
        return self.reads_content and not self.modifiers.showing and not settings().shows_content

    @property
    def bounds(self) -> list[Bound]:
        """The callables that name arguments: the probe, computed operands, a computed lock."""
        lock = [] if self.lock is None or self.lock.computed is None else [self.lock.computed]
        return [self.probe, *[bound for _, bound in self.computed], *lock]

    def scope(self, values: Mapping[str, Any]) -> Scope:
        """Return the scope of one run, by the values of its arguments."""
        names = self.scope_names
        if not names:
            return self._bare_scope
        metric = self.metric
        known: list[str] = []
        places: list[str] = []
        unknown: list[str] = []
        is_broken = False
        for name in names:
            place = place_of(values.get(name))
            if not isinstance(place, Doubt):
                known.append(name)
                places.append(place)
                continue
            unknown.append(f"the place of {name} ({_describe(values.get(name))}) {place.words}")
            is_broken = is_broken or place.is_broken
        if is_broken:
            return Scope(metric, names, unknown=tuple(unknown))
        above = tuple(map(folders_above, places)) if any("/" in place for place in places) else ()
        return Scope(metric, names, tuple(known), tuple(places), tuple(unknown), above)


def _describe(argument: Any) -> str:
    name = "None" if argument is None else class_name(type(argument))
    return name if argument is None else f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


@dataclass(frozen=True, slots=True)
class Plan:
    """One action or window with its checks, ready to run.

    Attributes:
        action: its name.
        checks: its checks, in the order declared.
        arguments: reads the arguments that checks name. None if no check names any.
        names: its names in telemetry.
        options: policies and the hook.
        names_values: whether a probe, an expected value, a lock or `claim` names an argument.
        is_generator: whether the action yields values that expected values may count.
        has_locks: whether any check holds a lock.
        is_polled: whether any post-state is polled.
        claim: returns whether the action says that it succeeded, or None.
        capture: the arguments and the result that may leave in telemetry, or None.
    """

    action: str
    checks: tuple[CheckPlan, ...]
    arguments: ArgumentReader | None
    names: ActionNames
    options: Options
    names_values: bool
    is_generator: bool
    has_locks: bool
    is_polled: bool
    claim: Bound | None
    capture: Capture | None

    @property
    def first_async_lock(self) -> str | None:
        """The metric of the first check with an async lock, or None."""
        return next((plan.metric for plan in self.checks if plan.lock and plan.lock.is_async), None)

    @property
    def first_async_metric(self) -> str | None:
        """The metric of the first check with an async probe, or None."""
        return next((plan.metric for plan in self.checks if plan.probe.is_async), None)

    def policy(self, outcome: str) -> Policy:
        """Return the policy for an outcome, `fail` or `inconclusive`."""
        if outcome == "fail":
            return self.options.on_failure or settings().on_failure
        return self.options.on_inconclusive or settings().on_inconclusive


# What a callable of each role may name, beside the parameters of the action.
_FOR_PROBES: Final = (CAUSAL_TAG,)
_FOR_CLAIMS: Final = (CAUSAL_TAG, RESULT)
_FOR_EXPECTED: Final = (CAUSAL_TAG, PRE_STATE, RESULT)
_FOR_PREDICATES: Final = (*_FOR_EXPECTED, DELTA, POST_STATE)
_FOR_WHERE: Final = (*_FOR_EXPECTED, MEMBER, KEY, VALUE, BEFORE)
_RECEIVERS: Final = frozenset({"self", "cls"})


def make_plan(
    action: str,
    function: str | None,
    parameters: Sequence[inspect.Parameter],
    checks: Sequence[Check[Any]],
    options: Options,
    *,
    is_generator: bool = False,
    description: str | None = None,
) -> Plan:
    """Bind checks to an action.

    Args:
        action: its name.
        function: module and qualified name of its function; None for a window.
        parameters: what the action takes, which checks may name.
        checks: one or more.
        options: policies and the hook.
        is_generator: whether the action is a generator or an async one, whose expected values may name
            `yielded`.
        description: the first line of what its documentation says, or None.

    Raises:
        DefinitionTypeError: something is not a check, or names a parameter that does not exist.
        DefinitionValueError: two metrics have one key, a name is ambiguous, or there is no check at all.
    """
    if not isinstance(action, str) or not action:
        raise DefinitionValueError(f"an action needs a name, not {action!r}")
    _validate_checks(action, checks)
    _check_no_deferred_lock(action, checks, options)
    offered = [parameter.name for parameter in parameters]
    extra = (YIELDED,) if is_generator else ()
    plans = tuple(_plan_check(check, action, offered, extra, options) for check in checks)
    claim = None if options.claim is None else _claim(options.claim, action, offered, extra)
    needed = {name for plan in plans for bound in plan.bounds for name in bound.names}
    needed.update(() if claim is None else claim.names)
    reader = ArgumentReader.for_parameters(parameters, needed) if needed & set(offered) else None
    metrics = {
        plan.metric: None if isinstance(plan.expectation, NoClaim) else plan.claims_change for plan in plans
    }
    names = ActionNames(
        action,
        function,
        metrics,
        claims=claim is not None,
        description=description,
        tool=options.tool,
    )
    return Plan(
        action,
        plans,
        reader,
        names,
        options,
        names_values=bool(needed),
        is_generator=is_generator,
        has_locks=any(plan.lock is not None for plan in plans),
        is_polled=any(plan.modifiers.polling is not None for plan in plans),
        claim=claim,
        capture=_capture(options, action, parameters, plans) if function is not None else None,
    )


def _capture(
    options: Options, action: str, parameters: Sequence[inspect.Parameter], plans: Sequence[CheckPlan]
) -> Capture | None:
    redacted = [plan for plan in plans if plan.modifiers.redaction is not None]
    names = {name for plan in redacted for bound in plan.bounds for name in bound.names}
    return make_capture(
        options.capture_arguments, action, parameters, names if redacted else None, result=RESULT
    )


def _claim(
    claim: Callable[..., object], action: str, parameters: Collection[str], extra: tuple[str, ...]
) -> Bound:
    owner = f"claim= of action {action!r}"
    bound = _bound(claim, owner, parameters, _FOR_CLAIMS + extra)
    if bound.is_async:
        raise DefinitionTypeError(f"{owner} is async; return whether the action succeeded without waiting")
    return bound


def _validate_checks(action: str, checks: Sequence[Any]) -> None:
    if not checks:
        raise DefinitionValueError(
            f"action {action!r} has no check; write at least one change(), unchanged() or observe()"
        )
    by_key: dict[str, str] = {}
    for check in checks:
        if not isinstance(check, Check):
            raise DefinitionTypeError(
                f"action {action!r} expects checks such as change('flows', count).by(1), not {check!r}"
            )
        key = attribute_key(check.metric)
        other = by_key.get(key)
        if other == check.metric:
            raise DefinitionValueError(
                f"action {action!r} names the metric {check.metric!r} twice: "
                f"combine the words in one check, or give the second a name of its own"
            )
        if other is not None:
            raise DefinitionValueError(
                f"action {action!r} has the metrics {other!r} and {check.metric!r}, and both have the key "
                f"{key!r} in the names of attributes; rename one of them"
            )
        by_key[key] = check.metric


def _check_no_deferred_lock(action: str, checks: Sequence[Check[Any]], options: Options) -> None:
    for check in checks:
        if options.deferred and check.modifiers.lock is not None:
            raise DefinitionValueError(
                f"action {action!r} is deferred, and check {check.metric!r} holds a lock until its verdict: "
                f"the next call would wait for the verdict of this one; take one of the two away"
            )


def _plan_check(
    check: Check[Any],
    action: str,
    parameters: Collection[str],
    extra: tuple[str, ...],
    options: Options,
) -> CheckPlan:
    owner = f"check {check.metric!r} on action {action!r}"
    probe = _bound(check.probe, f"the probe of {owner}", parameters, _FOR_PROBES)
    pruning = check.expectation.ignored.pruning
    if pruning is not None:
        probe = replace(probe, freeze=partial(freeze, pruning=pruning))
    computed = tuple(
        (each, _bound(each.function, f"{_role(each)} of {owner}", parameters, _offered(each, extra)))
        for each in check.expectation.operands
    )
    for operand, bound in computed:
        role = f"{_role(operand)} of {owner}"
        if bound.is_async:
            raise DefinitionTypeError(f"{role} is async; compute it without waiting")
        _check_has_baseline(operand, bound, role)
    unscoped = {CAUSAL_TAG, *_RECEIVERS, *unscoped_names(check.probe)}
    scope_names = tuple(sorted(name for name in probe.names if name not in unscoped))
    modifiers = check.modifiers
    lock = _lock_source(modifiers.lock, owner, parameters)
    is_limited = modifiers.timeout is not None or (is_blocking(check.probe) and not probe.is_async)
    claims_change = not isinstance(check.expectation, NoClaim | NoChange)
    is_tagged = isinstance(check.probe, Tagged)
    return CheckPlan(
        check=check,
        metric=check.metric,
        expectation=check.expectation,
        modifiers=modifiers,
        options=options,
        probe=probe,
        computed=computed,
        lock=lock,
        limit=ReadLimit(modifiers.timeout) if is_limited else None,
        attribution=choose_attribution(
            uses_tag=is_tagged or CAUSAL_TAG in probe.names,
            is_locked=lock is not None,
            is_scoped=bool(scope_names),
        ),
        scope_names=scope_names,
        claims_change=claims_change,
        reads_content=is_content(check.probe),
        has_whole_values=is_tagged or has_whole_values(check.probe),
        is_tagged=is_tagged,
        _bare_scope=Scope(check.metric),
    )


def _lock_source(lock: Any, owner: str, parameters: Collection[str]) -> LockSource | None:
    if lock is None:
        return None
    if is_context_manager(lock):
        return LockSource(lock, None)
    computed = _bound(lock, f"the lock of {owner}", parameters, _FOR_PROBES)
    if computed.is_async:
        raise DefinitionTypeError(f"the lock of {owner} is async; compute it without waiting")
    return LockSource(None, computed)


def _role(operand: Operand) -> str:
    if isinstance(operand, Predicate):
        return "the predicate"
    if isinstance(operand.function, MemberTemplate):
        return f"the member {operand.function!r}"
    return f"the expected value in .{operand.word}(...)"


def _check_has_baseline(operand: Operand, bound: Bound, role: str) -> None:
    """Check that a predicate names the baseline of members only if they have one."""
    if not isinstance(operand, Predicate) or not operand.is_of_entry or operand.word == "modifying":
        return
    if BEFORE in bound.names:
        raise DefinitionTypeError(
            f"{role} names {BEFORE!r}, which {operand.word}(where=...) does not have; name 'member', or "
            f"'key' and 'value' of a mapping, or use modifying(where=...)"
        )


def _offered(operand: Operand, extra: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(operand, Predicate):
        return (*(_FOR_WHERE if operand.is_of_entry else _FOR_PREDICATES), *extra)
    if isinstance(operand.function, MemberTemplate):
        return _FOR_PROBES  # a field stands for an argument, here as in a probe
    return (*_FOR_EXPECTED, *extra)


def _bound(
    function: Callable[..., Any], owner: str, parameters: Collection[str], reserved: Sequence[str]
) -> Bound:
    bound = bind(function, {*parameters, *reserved}, owner)
    check_no_shadowing(bound.names, parameters, reserved, owner)
    return bound
