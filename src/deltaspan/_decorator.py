"""`expects`: the decorator. Its body is three thoughts: open the window, call, close the window."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from types import CoroutineType
from typing import Any, TypeVar

import wrapt

from deltaspan._binding import is_async, parameters_of
from deltaspan._config import enabled
from deltaspan._engine import Run
from deltaspan._plan import Options, Plan, make_plan
from deltaspan.checks import Check
from deltaspan.exceptions import DefinitionTypeError
from deltaspan.typing import Policy, ReportHook

__all__ = ["expects"]

_log = logging.getLogger("deltaspan")

# The decorated thing keeps its type whole: a function its ParamSpec, a class method its binding.
F = TypeVar("F", bound="Callable[..., Any] | classmethod[Any, Any, Any] | staticmethod[Any, Any]")


def expects(
    *checks: Check[Any],
    name: str | None = None,
    on_failure: Policy | None = None,
    on_inconclusive: Policy | None = None,
    on_report: ReportHook | None = None,
) -> Callable[[F], F]:
    """Verify what an action changed.

    The decorated action behaves as before in everything its caller can see: what it returns, what it
    raises, its signature. Around each call every probe is read, and each check is judged on the delta.

    Args:
        checks: one or more of `change(...)`, `unchanged(...)`, `observe(...)`; each metric once.
        name: the action's name in telemetry and reports; the function's own name by default.
        on_failure: what a failed check does beyond being recorded: `record` (nothing), `warn` (a WARNING
            in the log), `raise` (DeltaCheckFailed after everything is recorded). By default
            `DELTASPAN_ON_FAILURE` decides, and without it `record`.
        on_inconclusive: the same for checks without a verdict (DeltaInconclusive).
        on_report: called with the ActionReport of each run; what it raises is logged.

    Raises:
        DefinitionTypeError: at decoration; something is not a check, a probe names a parameter that the
            action does not have, or what is decorated is not a function or method.
        DefinitionValueError: at decoration; a metric is named twice, or an option has an unknown value.

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
    options = Options(on_failure, on_inconclusive, on_report)
    _refuse_bare_use(checks)

    def decorate(action: F) -> F:
        function = _function_of(action)
        asynchronous = is_async(function)
        plan = make_plan(
            name or _name_of(function), _code_name_of(function), parameters_of(function), checks, options
        )
        if plan.first_async_metric and not asynchronous:
            raise DefinitionTypeError(
                f"action {plan.action!r} is not async, but the probe of check "
                f"{plan.first_async_metric!r} is; use a probe that answers at once, or an async action"
            )
        call = _async_call if asynchronous else _sync_call
        wrapper = call(plan, binds_receiver=not hasattr(action, "__self__"))
        # wrapt's proxy is what it wraps in all that matters; its stubs cannot say so.
        return _Action(action, wrapper, _enabled_for(plan))  # type: ignore[return-value, arg-type]

    return decorate


class _BoundAction(wrapt.BoundFunctionWrapper[Any, Any]):
    """A decorated action bound to its object. Like a bound method it pickles and copies with that object."""

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.__self__, self.__name__)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()

    def __copy__(self) -> Any:
        return getattr(self.__self__, self.__name__)

    def __deepcopy__(self, memo: Any) -> Any:
        return getattr(copy.deepcopy(self.__self__, memo), self.__name__)


class _Action(wrapt.FunctionWrapper[Any, Any]):
    """A decorated action. Like a function it pickles by its qualified name and copies to itself."""

    __bound_function_wrapper__ = _BoundAction

    def __reduce__(self) -> str:
        return str(self.__qualname__)

    def __reduce_ex__(self, protocol: Any) -> str:
        return self.__reduce__()

    def __copy__(self) -> _Action:
        return self

    def __deepcopy__(self, memo: Any) -> _Action:
        return self


def _sync_call(plan: Plan, *, binds_receiver: bool) -> Callable[..., Any]:
    def call(
        wrapped: Callable[..., Any], receiver: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        with Run.of_call(plan, receiver if binds_receiver else None, args, kwargs) as run:
            run.result = wrapped(*args, **kwargs)
            if type(run.result) is CoroutineType:
                run.pause()  # the action has only begun; a Future or a Task is its result
                return _awaited(run, run.result)
        return run.result

    return call


async def _awaited(run: Run, coroutine: CoroutineType[Any, Any, Any]) -> Any:
    async with run:
        run.result = await coroutine
    return run.result


def _async_call(plan: Plan, *, binds_receiver: bool) -> Callable[..., Any]:
    async def call(
        wrapped: Callable[..., Any], receiver: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        async with Run.of_call(plan, receiver if binds_receiver else None, args, kwargs) as run:
            run.result = await wrapped(*args, **kwargs)
        return run.result

    return call


def _enabled_for(plan: Plan) -> Callable[[], bool]:
    """Return what is asked before each call; a disabled action that wanted to raise says so, once."""
    if "raise" not in (plan.options.on_failure, plan.options.on_inconclusive):
        return enabled
    said = False

    def ask() -> bool:
        nonlocal said
        active = enabled()
        if not active and not said:
            said = True
            _log.warning("DELTASPAN_ENABLED is false: %s runs unverified and will not raise", plan.action)
        return active

    return ask


def _refuse_bare_use(checks: Sequence[Any]) -> None:
    for check in checks:
        if callable(check):
            raise DefinitionTypeError(
                "expects needs checks before it meets the action: write "
                f"@expects(change('flows', count_flows).by(1)) above {getattr(check, '__name__', check)!r}"
            )


def _function_of(action: Any) -> Callable[..., Any]:
    """Return what carries the signature, or refuse what cannot be an action."""
    if isinstance(action, (classmethod, staticmethod)):
        return action.__func__
    if isinstance(action, type):
        raise DefinitionTypeError(
            f"expects verifies a call, and {action.__qualname__} is a class; "
            f"decorate the method that acts, or wrap the call in window(...)"
        )
    if not callable(action):
        raise DefinitionTypeError(
            f"expects must stand below the decorator that made this {type(action).__name__}, which would "
            f"never call it:\n"
            f"    @tool  # the framework's decorator first\n    @expects(...)\n    def action(...)"
        )
    return action  # type: ignore[no-any-return]


def _name_of(function: Any) -> str:
    inner = getattr(function, "func", function)  # functools.partial
    return getattr(inner, "__name__", None) or type(inner).__name__


def _code_name_of(function: Any) -> str:
    inner = getattr(function, "func", function)
    if not hasattr(inner, "__qualname__"):
        inner = type(inner)
    return f"{inner.__module__}.{inner.__qualname__}"
