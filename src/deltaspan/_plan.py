"""What is fixed when a check meets its action: names resolved, options settled, mistakes refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from deltaspan._binding import ArgumentReader, Bound, bind, refuse_shadowing
from deltaspan._config import settings
from deltaspan._difference import identity
from deltaspan._freeze import SCALARS, Unfreezable, freeze
from deltaspan._telemetry import ActionNames
from deltaspan.checks import Check
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import Expectation, NoChange, NoClaim
from deltaspan.expectations.base import computed_operands
from deltaspan.typing import Attribution, Policy, ReportHook

__all__ = ["CAUSAL_TAG", "CheckPlan", "Options", "Plan", "make_plan"]

CAUSAL_TAG: Final = "causal_tag"
PRE_STATE: Final = "pre_state"
RESULT: Final = "result"
_FOR_PROBES: Final = (CAUSAL_TAG,)
_FOR_EXPECTED: Final = (CAUSAL_TAG, PRE_STATE, RESULT)
_RECEIVERS: Final = frozenset({"self", "cls"})


@dataclass(frozen=True, slots=True)
class Options:
    """What a decorator or a window may say beside its checks.

    Attributes:
        on_failure: what a failed check does beyond being recorded; None follows the environment.
        on_inconclusive: the same for a check without a verdict.
        on_report: receives the report of each run.
    """

    on_failure: Policy | None = None
    on_inconclusive: Policy | None = None
    on_report: ReportHook | None = None

    def __post_init__(self) -> None:
        for name in ("on_failure", "on_inconclusive"):
            value = getattr(self, name)
            if value is not None and value not in get_args(Policy):
                raise DefinitionValueError(f"{name}={value!r} is not one of {', '.join(get_args(Policy))}")
        if self.on_report is not None and not callable(self.on_report):
            raise DefinitionTypeError(
                f"on_report={self.on_report!r} must be callable; it receives an ActionReport"
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
        scope_names: the arguments that scope it.
        claims_change: whether the action says that it writes what is measured.
        claims_nothing: whether no claim is made at all.
        judged_on_error: whether the delta is judged although the action raised.
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
    _bare_scope: tuple[str]

    def scope(self, values: Mapping[str, Any]) -> Hashable:
        """Return what equal windows share: the metric and the argument values bound to the probe."""
        if not self.scope_names:
            return self._bare_scope
        return (self.metric, *[_value_of(values.get(name)) for name in self.scope_names])


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
    """

    action: str
    checks: tuple[CheckPlan, ...]
    arguments: ArgumentReader | None
    names: ActionNames
    options: Options
    names_values: bool

    @property
    def first_async_metric(self) -> str | None:
        """The metric of the first check whose probe is async, or None."""
        return next((check.metric for check in self.checks if check.probe.is_async), None)

    def policy(self, outcome: str) -> Policy:
        """Return what a failed or an inconclusive outcome does beyond being recorded."""
        if outcome == "fail":
            return self.options.on_failure or settings().on_failure
        return self.options.on_inconclusive or settings().on_inconclusive


def make_plan(
    action: str,
    function: str | None,
    parameters: Sequence[inspect.Parameter],
    checks: Sequence[Check[Any]],
    options: Options,
) -> Plan:
    """Bind checks to an action.

    Args:
        action: its name.
        function: module and qualified name of its function; None for a window.
        parameters: what the action takes, which checks may name.
        checks: one or more.
        options: policies and the hook.

    Raises:
        DefinitionTypeError: something is not a check, or names a parameter that does not exist.
        DefinitionValueError: a metric is named twice, a name is ambiguous, or there is no check at all.
    """
    if not isinstance(action, str) or not action:
        raise DefinitionValueError(f"an action needs a name, not {action!r}")
    _refuse_wrong_checks(action, checks)
    offered = [parameter.name for parameter in parameters]
    plans = tuple(_plan_check(check, action, offered) for check in checks)
    needed = {
        name
        for plan in plans
        for bound in (plan.probe, *[b for _, b in plan.computed])
        for name in bound.names
    }
    reader = ArgumentReader.for_parameters(parameters, needed) if needed & set(offered) else None
    names = ActionNames(action, function, tuple(plan.metric for plan in plans))
    return Plan(action, plans, reader, names, options, bool(needed))


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


def _plan_check(check: Check[Any], action: str, parameters: Collection[str]) -> CheckPlan:
    owner = f"check {check.metric!r} on action {action!r}"
    probe = _bound(check.probe, f"the probe of {owner}", parameters, _FOR_PROBES)
    computed = tuple(
        (path, _bound(call, f"the expected value ({path}) of {owner}", parameters, _FOR_EXPECTED))
        for path, call in computed_operands(check.expectation)
    )
    for path, bound in computed:
        if bound.is_async:
            raise DefinitionTypeError(
                f"the expected value ({path}) of {owner} is async; compute it without waiting"
            )
    scope_names = tuple(name for name in probe.names if name != CAUSAL_TAG and name not in _RECEIVERS)
    claims_nothing = isinstance(check.expectation, NoClaim)
    unchanged = isinstance(check.expectation, NoChange)
    return CheckPlan(
        metric=check.metric,
        probe=probe,
        expectation=check.expectation,
        computed=computed,
        attribution=CAUSAL_TAG if CAUSAL_TAG in probe.names else "scoped" if scope_names else "window",
        scope_names=scope_names,
        claims_change=not (claims_nothing or unchanged),
        claims_nothing=claims_nothing,
        judged_on_error=claims_nothing or unchanged,
        _bare_scope=(check.metric,),
    )


def _bound(
    function: Callable[..., Any], owner: str, parameters: Collection[str], reserved: Sequence[str]
) -> Bound:
    bound = bind(function, {*parameters, *reserved}, owner)
    refuse_shadowing(bound.names, parameters, reserved, owner)
    return bound


def _value_of(argument: Any) -> Hashable:
    """Return what equal arguments share, taken now: the action may change the argument itself."""
    kind = type(argument)
    if kind in SCALARS:
        return identity(argument)
    if getattr(kind, "__eq__", None) is object.__eq__:
        return (kind, id(argument))  # a thing with an identity: an engine, a client
    try:
        return identity(freeze(argument))
    except Unfreezable:
        return (kind, id(argument))
