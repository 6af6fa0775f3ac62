"""When a check meets its action: names are resolved, options settled, mistakes refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from deltaspan._callables import ArgumentReader, Bound, bind, refuse_shadowing
from deltaspan._attribution._contention import Scope
from deltaspan._state.snapshot import freeze
from deltaspan._attribution._locks import LockSource
from deltaspan._engine._plan import CAUSAL_TAG, RESULT, YIELDED, CheckPlan, Options, Plan
from deltaspan.checks._probe import has_whole_values, hint_of, is_blocking, is_content, unscoped_names
from deltaspan._attribution._tagged import Tagged
from deltaspan._telemetry import ActionNames
from deltaspan.checks import Check, is_context_manager
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import NoChange, NoClaim
from deltaspan.expectations._numbers import is_of_numbers
from deltaspan.expectations._ignoring import NOTHING_IGNORED
from deltaspan.expectations._computed import (
    BEFORE,
    DELTA,
    KEY,
    MEMBER,
    POST_STATE,
    PRE_STATE,
    VALUE,
    computed_operands,
    is_predicate,
)
from deltaspan.expectations._patterns import MemberTemplate
from deltaspan.typing import Attribution

__all__ = ["make_plan"]

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

    Raises:
        DefinitionTypeError: something is not a check, or names a parameter that does not exist.
        DefinitionValueError: a metric is named twice, a name is ambiguous, or there is no check at all.
    """
    if not isinstance(action, str) or not action:
        raise DefinitionValueError(f"an action needs a name, not {action!r}")
    _refuse_wrong_checks(action, checks)
    _refuse_deferred_locks(action, checks, options)
    offered = [parameter.name for parameter in parameters]
    more = (YIELDED,) if is_generator else ()
    plans = tuple(_plan_check(check, action, offered, more, options) for check in checks)
    claim = None if options.claim is None else _claim(options.claim, action, offered, more)
    needed = {name for plan in plans for bound in plan.bounds for name in bound.names}
    needed.update(() if claim is None else claim.names)
    reader = ArgumentReader.for_parameters(parameters, needed) if needed & set(offered) else None
    names = ActionNames(
        action, function, {plan.metric: plan.claims_change for plan in plans}, claims=claim is not None
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
        is_patient=any(plan.patience is not None for plan in plans),
        claim=claim,
    )


def _claim(
    claim: Callable[..., object], action: str, parameters: Collection[str], more: tuple[str, ...]
) -> Bound:
    owner = f"claim= of action {action!r}"
    bound = _bound(claim, owner, parameters, _FOR_CLAIMS + more)
    if bound.is_async:
        raise DefinitionTypeError(f"{owner} is async; return whether the action succeeded without waiting")
    return bound


def _refuse_wrong_checks(action: str, checks: Sequence[Any]) -> None:
    if not checks:
        raise DefinitionValueError(
            f"action {action!r} has no check; write at least one change(), unchanged() or observe()"
        )
    seen: set[str] = set()
    for check in checks:
        if not isinstance(check, Check):
            raise DefinitionTypeError(
                f"action {action!r} expects checks such as change('flows', count).by(1), not {check!r}"
            )
        if check.metric in seen:
            raise DefinitionValueError(
                f"action {action!r} names the metric {check.metric!r} twice: "
                f"combine the words in one check, or give the second a name of its own"
            )
        seen.add(check.metric)


def _refuse_deferred_locks(action: str, checks: Sequence[Check[Any]], options: Options) -> None:
    for check in checks:
        if options.deferred and check.modifiers.lock is not None:
            raise DefinitionValueError(
                f"action {action!r} is deferred, and check {check.metric!r} holds a lock until its verdict: "
                f"the next call would wait for the verdict of this one; take one of the two away"
            )


def _plan_check(
    check: Check[Any], action: str, parameters: Collection[str], more: tuple[str, ...], options: Options
) -> CheckPlan:
    owner = f"check {check.metric!r} on action {action!r}"
    probe = _bound(check.probe, f"the probe of {owner}", parameters, _FOR_PROBES)
    pruning = getattr(check.expectation, "ignored", NOTHING_IGNORED).pruning
    if pruning is not None:
        probe = replace(probe, freeze=partial(freeze, pruning=pruning))
    computed = tuple(
        (path, _bound(call, f"{_role(path, call)} of {owner}", parameters, _offered(path, call, more)))
        for path, call in computed_operands(check.expectation)
    )
    for path, bound in computed:
        if bound.is_async:
            role = _role(path, bound.function)
            raise DefinitionTypeError(f"{role} of {owner} is async; compute it without waiting")
    apart = {CAUSAL_TAG, *_RECEIVERS, *unscoped_names(check.probe)}
    scope_names = tuple(sorted(name for name in probe.names if name not in apart))
    said = check.modifiers
    lock = _lock_source(said.lock, owner, parameters)
    claims_nothing = isinstance(check.expectation, NoClaim)
    unchanged = isinstance(check.expectation, NoChange)
    is_tagged = isinstance(check.probe, Tagged)
    return CheckPlan(
        metric=check.metric,
        probe=probe,
        expectation=check.expectation,
        computed=computed,
        attribution="causal_tag" if is_tagged else _attribution(probe, lock, scope_names),
        scope_names=scope_names,
        claims_change=not (claims_nothing or unchanged),
        claims_nothing=claims_nothing,
        judged_on_error=claims_nothing or unchanged,
        judged_when_left=any(YIELDED in bound.names for _, bound in computed),
        unchanged_on_error=said.unchanged_on_error,
        is_limited=said.timeout is not None or (is_blocking(check.probe) and not probe.is_async),
        timeout=said.timeout,
        patience=said.patience,
        lock=lock,
        redaction=said.redaction,
        is_content=is_content(check.probe) and not said.showing,
        hint=hint_of(check.probe),
        has_whole_values=is_tagged or has_whole_values(check.probe),
        sample_rate=said.sample_rate,
        ignores_rivals=options.on_contention == "ignore",
        is_tagged=is_tagged,
        counts_rows=is_tagged and is_of_numbers(getattr(check.expectation, "movement", None)),
        has_ignored=getattr(check.expectation, "ignored", NOTHING_IGNORED) is not NOTHING_IGNORED,
        _bare_scope=Scope(check.metric),
    )


def _attribution(probe: Bound, lock: LockSource | None, scope_names: tuple[str, ...]) -> Attribution:
    if CAUSAL_TAG in probe.names:
        return "causal_tag"
    if lock is not None:
        return "exclusive"
    return "scoped" if scope_names else "window"


def _lock_source(lock: Any, owner: str, parameters: Collection[str]) -> LockSource | None:
    if lock is None:
        return None
    if is_context_manager(lock):
        return LockSource(lock, None)
    computed = _bound(lock, f"the lock of {owner}", parameters, _FOR_PROBES)
    if computed.is_async:
        raise DefinitionTypeError(f"the lock of {owner} is async; compute it without waiting")
    return LockSource(None, computed)


def _role(path: str, call: Callable[..., Any]) -> str:
    if isinstance(call, MemberTemplate):
        return f"the member {call!r}"
    return "the predicate" if is_predicate(path) else f"the expected value ({path})"


def _offered(path: str, call: Callable[..., Any], more: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(call, MemberTemplate):
        return _FOR_PROBES  # a field stands for an argument, here as in a probe
    if not is_predicate(path):
        return (*_FOR_EXPECTED, *more)
    return (*(_FOR_WHERE if path.endswith("where") else _FOR_PREDICATES), *more)


def _bound(
    function: Callable[..., Any], owner: str, parameters: Collection[str], reserved: Sequence[str]
) -> Bound:
    bound = bind(function, {*parameters, *reserved}, owner)
    refuse_shadowing(bound.names, parameters, reserved, owner)
    return bound
