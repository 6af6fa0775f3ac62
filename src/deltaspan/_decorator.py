"""`expects`: the decorator that opens a window, calls the action, and closes the window."""

from __future__ import annotations

import copy
import logging
import pickle
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import wrapt

from deltaspan._actions import (
    Kind,
    check_decoratable,
    check_not_bare,
    check_not_registered,
    code_name_of,
    description_of,
    function_of,
    kind_of,
    name_of,
    parameters_of_action,
)
from deltaspan._batches import enabled
from deltaspan._config import settings
from deltaspan._engine import (
    SKIPPED,
    Options,
    Plan,
    Run,
    drive_async_generator,
    drive_generator,
    is_plain_value,
    keep_window_open,
    make_plan,
    report_unverified,
    wrap_pending,
)
from deltaspan._guard import log
from deltaspan._reports import is_collecting, publish_report
from deltaspan.checks import Check
from deltaspan.exceptions import DefinitionTypeError
from deltaspan.typing import Contention, Policy, ReportHook

# The decorated thing keeps its type whole: a function its ParamSpec, a class method its binding.
F = TypeVar("F", bound="Callable[..., Any] | classmethod[Any, Any, Any] | staticmethod[Any, Any]")


def expects(
    *checks: Check[Any],
    name: str | None = None,
    on_failure: Policy | None = None,
    on_inconclusive: Policy | None = None,
    on_report: ReportHook | None = None,
    on_contention: Contention = "inconclusive",
    deferred: bool = False,
    claim: Callable[..., object] | None = None,
    tool: bool | None = None,
    capture_arguments: bool | Collection[str] | None = None,
) -> Callable[[F], F]:
    """Verify what an action changed.

    The decorated action behaves as before in everything its caller can see: what it returns, what it
    raises, its signature. Around each call every probe is read, and each check is judged on the delta.

    The window of a generator is open from its first step to its last. If a generator is closed before its
    end, its checks are `abandoned`, except those that count what was `yielded` until then.

    A plain function may return something that is still to run:

    - If it returns a coroutine or a generator, the action is judged when that has ended.
    - If it returns a future, the action is judged when the future is done. A failure is then logged, even if
      the policy is `raise`.
    - If it returns another awaitable, such as a request of an HTTP client, the action is judged when that has
      been awaited or its `async with` block has ended. If neither happens, its checks are `abandoned`.

    Decorators that turn the function into something else belong above this one: a framework's tool, a
    property, a cache, a context manager.

    Args:
        checks: one or more of `change(...)`, `unchanged(...)`, `observe(...)`; each metric once.
        name: the action's name in telemetry and reports; the function's own name by default.
        on_failure: what a failed check does beyond being recorded: `record` (nothing), `warn` (a WARNING
            in the log), `raise` (DeltaCheckFailed after everything is recorded). By default the settings
            decide, and without these `record`. Some frameworks run a tool again if it raises: crewai's
            ReAct loop does so six times for one call of the model.
        on_inconclusive: what a check without a verdict does beyond being recorded, as for `on_failure`.
            `raise` raises DeltaInconclusive.
        on_report: called with the ActionReport of each run. If it raises, the exception is logged.
        on_contention: what to do if another action's window on the same scope overlapped: report
            `inconclusive`, or `ignore` the overlap. Use `ignore` if every other writer is known to write
            elsewhere.
        deferred: read each post-state once, return the action's result, and reach the verdict in the
            background. It goes to a span `verify {action}` of the same trace and to `on_report`; the
            process waits for it at exit. What `raise` would raise is logged.
        claim: returns whether the action says that it succeeded, such as `lambda result: result["ok"]`; it
            may name `result`, the action's parameters, `causal_tag` and, for a generator, `yielded`. It makes
            `claim` in reports and telemetry `success` or `failure`. An action that raised claims failure. If
            it raises itself, that is logged and there is no claim.
        tool: whether the action is a tool of an agent, with a span `execute_tool {action}`. By default it is
            one unless another tool calls it. The span of what is not a tool is `verify {action}`.
        capture_arguments: the arguments that leave on the span of the tool, as JSON: True for all of them and
            the result, or a list of names, in which `result` is the result. By default the settings decide,
            and without these none leave. Values under names such as `password` or `api_key` are masked, and
            what a `redacted()` check names is redacted.

    Raises:
        DefinitionTypeError: at decoration; something is not a check, a probe names a parameter that the
            action does not have, or what is decorated is not a function or method.
        DefinitionValueError: at decoration; two metrics have one key in the names of attributes, as `a.b` and
            `a-b` have, or an option has an unknown value.

    Example:
        >>> from deltaspan import change, collect_reports, expects
        >>> flows = {"acme": ["a"]}
        >>> @expects(change("flows", lambda tenant: len(flows[tenant])).by(1))
        ... def create_flow(tenant):
        ...     flows[tenant].append("b")
        ...     return "created"
        >>> with collect_reports() as reports:
        ...     create_flow("acme")
        'created'
        >>> reports[0]["flows"].explanation
        'flows changed by 1, as expected (1 → 2)'
    """
    options = Options(
        on_failure, on_inconclusive, on_report, deferred, on_contention, claim, tool, capture_arguments
    )
    check_not_bare(checks)

    def decorate(action: F) -> F:
        check_decoratable(action)
        check_not_registered(action, sys._getframe(1))  # noqa: SLF001  # documented, for this purpose
        function = function_of(action)
        kind = kind_of(function)
        plan = make_plan(
            name or name_of(function),
            code_name_of(function),
            parameters_of_action(action, function),
            checks,
            options,
            is_generator=kind.endswith("generator"),
            description=description_of(function),
        )
        _check_can_await(plan, kind)
        call = _CALLS[kind](plan, binds_receiver=not hasattr(action, "__self__"))
        # Python names a coroutine after the function that made it, which is therefore named like the action.
        call.__name__ = call.__qualname__ = name_of(function)
        # wrapt's proxy behaves like the object that it wraps, but its stubs do not say so.
        return _Action(action, call, _enabled_for(plan))  # type: ignore[return-value, arg-type]

    return decorate


def _repr(action: Any) -> str:
    return f"<deltaspan action {code_name_of(function_of(action.__wrapped__))}>"


class _BoundAction(wrapt.BoundFunctionWrapper[Any, Any]):
    """A decorated action as an attribute of an object or a class.

    Like a method, it is equal to every other access through the same object, and pickles and copies with that
    object. If no object is bound, it pickles and copies with its class.
    """

    def __eq__(self, other: object) -> bool:
        if self._receiver is None and other is self._self_parent:
            return True
        if not isinstance(other, _BoundAction):
            return NotImplemented
        return self._self_parent is other._self_parent and self._receiver is other._receiver

    def __ne__(self, other: object) -> bool:
        is_equal = self.__eq__(other)
        return is_equal if is_equal is NotImplemented else not is_equal

    def __hash__(self) -> int:
        receiver = self._receiver
        return hash(self._self_parent) if receiver is None else hash((self._self_parent, id(receiver)))

    __repr__ = _repr

    def __reduce__(self) -> tuple[Any, ...]:
        receiver = self._receiver
        return getattr, (self._owner if receiver is None else receiver, self._attribute)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()

    def __copy__(self) -> _BoundAction:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        receiver = self._receiver
        copied = copy.deepcopy(receiver, memo)
        return self if copied is receiver else getattr(copied, self._attribute)

    @property
    def _receiver(self) -> Any:
        """The bound object or class, or None."""
        return getattr(self.__wrapped__, "__self__", None)

    @property
    def _attribute(self) -> str:
        """The name of the action in its class, which may differ from its function's."""
        for base in self._owner.__mro__:
            for name, value in vars(base).items():
                function = value.__func__ if type(value) in (classmethod, staticmethod) else value
                if function is self._self_parent:
                    return str(name)
        return str(self.__name__)

    @property
    def _owner(self) -> Any:
        return self._self_owner or type(self._receiver)


class _Action(wrapt.FunctionWrapper[Any, Any]):
    """A decorated action.

    Like a function, it pickles by its qualified name and copies to itself. It is equal to itself alone: a
    cache that a framework keeps by function must not take it for the function inside, which is not verified.
    """

    __bound_function_wrapper__ = _BoundAction
    __repr__ = _repr

    def __eq__(self, other: object) -> bool:
        return True if self is other else NotImplemented

    def __ne__(self, other: object) -> bool:
        return False if self is other else NotImplemented

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __reduce__(self) -> str:
        name = getattr(self, "__qualname__", None)
        if name is None:
            raise pickle.PicklingError(
                f"a decorated action pickles by its qualified name, and a {type(self.__wrapped__).__name__} "
                f"has none; decorate a function that calls it"
            )
        return str(name)

    def __reduce_ex__(self, protocol: Any) -> str:
        return self.__reduce__()

    def __copy__(self) -> _Action:
        return self

    def __deepcopy__(self, memo: Any) -> _Action:
        return self


def _plain_call(plan: Plan, *, binds_receiver: bool) -> Callable[..., Any]:
    def call(
        wrapped: Callable[..., Any], receiver: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        with Run.of_call(plan, receiver if binds_receiver else None, args, kwargs) as run:
            run.result = result = wrapped(*args, **kwargs)
            # A coroutine, a generator or a future means that the action has not ended yet.
            is_pending = not is_plain_value(result) and keep_window_open(run, result)
        return wrap_pending(run, result) if is_pending else result

    return call


def _coroutine_call(plan: Plan, *, binds_receiver: bool) -> Callable[..., Any]:
    async def call(
        wrapped: Callable[..., Any], receiver: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        async with Run.of_call(plan, receiver if binds_receiver else None, args, kwargs) as run:
            run.result = await wrapped(*args, **kwargs)
        return run.result

    return call


def _driven_call(plan: Plan, *, binds_receiver: bool, drive: Callable[..., Any]) -> Callable[..., Any]:
    def call(
        wrapped: Callable[..., Any], receiver: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        start = partial(Run.of_call, plan, receiver if binds_receiver else None, args, kwargs)
        return drive(start, wrapped(*args, **kwargs))

    return call


_CALLS: Final[dict[Kind, Callable[..., Callable[..., Any]]]] = {
    "plain": _plain_call,
    "coroutine": _coroutine_call,
    "generator": partial(_driven_call, drive=drive_generator),
    "async generator": partial(_driven_call, drive=drive_async_generator),
}


def _check_can_await(plan: Plan, kind: Kind) -> None:
    if kind in ("coroutine", "async generator"):
        return
    if plan.first_async_lock:
        raise DefinitionTypeError(
            f"action {plan.action!r} is not async, but the lock of check {plan.first_async_lock!r} is; "
            f"use a lock that blocks, such as threading.Lock(), or an async action"
        )
    if plan.first_async_metric:
        raise DefinitionTypeError(
            f"action {plan.action!r} is not async, but the probe of check "
            f"{plan.first_async_metric!r} is; use a probe that answers at once, or an async action"
        )


def _enabled_for(plan: Plan) -> Callable[[], bool]:
    """Return a function that returns, before each call, whether it is verified.

    A disabled call is reported as skipped if reports are collected. If the policy is `raise`, it is logged
    once that the action will not raise.
    """
    should_raise = "raise" in (plan.options.on_failure, plan.options.on_inconclusive)
    is_logged = False

    def is_verified() -> bool:
        nonlocal is_logged
        if enabled():
            return True
        if not settings().enabled:
            if is_collecting():
                publish_report(report_unverified(plan, SKIPPED))
            if should_raise and not is_logged:
                is_logged = True
                log(
                    logging.WARNING,
                    "DELTASPAN_ENABLED is false: %s runs unverified and will not raise",
                    plan.action,
                )
        return False

    return is_verified
