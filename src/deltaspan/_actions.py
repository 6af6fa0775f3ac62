"""Callables that can be decorated: their kind, their signature and their names."""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, FunctionType, ModuleType
from typing import Any, Final, Literal, TypeAlias

from deltaspan._callables import is_async, parameters_of
from deltaspan.exceptions import DefinitionTypeError

Kind: TypeAlias = Literal["plain", "coroutine", "generator", "async generator"]


def kind_of(function: Any) -> Kind:
    """Return the kind of a callable, as far as its definition shows it."""
    if is_async(function):
        return "coroutine"
    while isinstance(function, functools.partial):
        function = function.func
    for candidate in (function, getattr(type(function), "__call__", None)):  # noqa: B004  # to be inspected
        if inspect.isgeneratorfunction(candidate):
            return "generator"
        if inspect.isasyncgenfunction(candidate):
            return "async generator"
    return "plain"


def function_of(action: Any) -> Any:
    """Return the function behind a class method, a static method or a partial method."""
    if isinstance(action, (classmethod, staticmethod)):
        return action.__func__
    if isinstance(action, functools.partialmethod):
        return functools.partial(action.func, *action.args, **action.keywords)
    return action


def parameters_of_action(action: Any, function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    """Return the parameters of an action that are not bound already."""
    if isinstance(action, functools.partialmethod):
        return parameters_of(action.__get__(None, object))
    return parameters_of(function)


def name_of(function: Any) -> str:
    """Return the short name of an action."""
    inner = _innermost(function)
    return getattr(inner, "__name__", None) or type(inner).__name__


def code_name_of(function: Any) -> str:
    """Return module and qualified name of an action."""
    inner = _innermost(function)
    if not hasattr(inner, "__qualname__"):
        inner = type(inner)
    return f"{inner.__module__}.{inner.__qualname__}"


def description_of(function: Any) -> str | None:
    """Return the first line of the documentation of an action, or None."""
    documentation = getattr(_innermost(function), "__doc__", None)
    lines = documentation.strip().splitlines() if isinstance(documentation, str) else []
    return lines[0].strip() if lines else None


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


# Package and class name of a framework's tool object → the decorator that makes it from a function.
_TOOLS: Final = {
    ("agent_framework", "FunctionTool"): "tool",
    ("agents", "FunctionTool"): "function_tool",  # openai-agents
    ("agno", "Function"): "tool",
    ("anthropic", "BaseFunctionTool"): "beta_tool",
    ("anthropic", "BetaAsyncFunctionTool"): "beta_async_tool",
    ("anthropic", "BetaFunctionTool"): "beta_tool",
    ("autogen_core", "BaseTool"): "FunctionTool(...) around the decorated function",
    ("camel", "FunctionTool"): "FunctionTool(...) around the decorated function",
    ("celery", "Proxy"): "app.task",  # a task that is made when it is first asked for anything
    ("celery", "Task"): "app.task",
    ("claude_agent_sdk", "SdkMcpTool"): "tool(...)",
    ("crewai", "BaseTool"): "tool",
    ("crewai", "CrewStructuredTool"): "tool",
    ("dspy", "Tool"): "Tool(...) around the decorated function",
    ("fastmcp", "Tool"): "mcp.tool",
    ("google", "BaseTool"): "FunctionTool(...) around the decorated function",  # google-adk
    ("haystack", "Tool"): "tool",
    ("langchain_core", "BaseTool"): "tool",
    ("llama_index", "BaseTool"): "FunctionTool.from_defaults(...) around the decorated function",
    ("mcp", "Tool"): "mcp.tool()",
    ("mcp_types", "Tool"): "mcp.tool()",
    ("pydantic_ai", "Tool"): "Tool(...) around the decorated function",
    ("semantic_kernel", "KernelFunction"): "kernel_function",
    ("smolagents", "BaseTool"): "tool",
    ("smolagents", "Tool"): "tool",
    ("strands", "AgentTool"): "tool",
}

# A standard descriptor or wrapper around a function → the line that belongs above ours.
_DESCRIPTORS: Final[dict[type, str]] = {
    property: "property",
    functools.cached_property: "cached_property",
    functools.singledispatchmethod: "singledispatchmethod",
}


def _make_nothing() -> Any:
    yield


async def _make_nothing_later() -> Any:
    yield


# Every function that `contextlib` makes of a generator function shares one code object.
_CONTEXT_MANAGERS: Final[dict[Any, str]] = {
    contextlib.contextmanager(_make_nothing).__code__: "contextmanager",
    contextlib.asynccontextmanager(_make_nothing_later).__code__: "asynccontextmanager",
}


def check_not_bare(checks: Sequence[Any]) -> None:
    """Check that `@expects` was not used without parentheses.

    Raises:
        DefinitionTypeError: the action itself was given in place of checks.
    """
    for check in checks:
        if callable(check):
            raise DefinitionTypeError(
                "expects needs checks before it meets the action: write "
                f"@expects(change('flows', count_flows).by(1)) above {getattr(check, '__name__', check)!r}"
            )


def check_decoratable(action: Any) -> None:
    """Check that an object can be decorated, and that its calls can be verified.

    Raises:
        DefinitionTypeError: it is a class, a property, a context manager's function, a framework's tool
            object, or not callable. The message shows the order to write.
    """
    if isinstance(action, (classmethod, staticmethod, functools.partialmethod)):
        return
    if isinstance(action, type):
        raise DefinitionTypeError(
            f"expects verifies a call, and {action.__qualname__} is a class; "
            f"decorate the method that acts, or wrap the call in window(...)"
        )
    for kind, line in _DESCRIPTORS.items():
        if isinstance(action, kind):
            raise _wrong_order(type(action).__name__, "is not a function that could be called", line)
    manager = _CONTEXT_MANAGERS.get(action.__code__) if isinstance(action, FunctionType) else None
    if manager is not None:
        why = "only makes a context manager, and ends before its block begins"
        raise _wrong_order("function", why, manager)
    maker = _maker_of(type(action))
    if maker is not None or not callable(action):
        line = maker or "tool  # the framework's decorator first"
        raise _wrong_order(type(action).__name__, "would never call it", line)


def _maker_of(kind: type) -> str | None:
    for base in kind.__mro__[:-1]:
        package = (getattr(base, "__module__", None) or "").partition(".")[0]
        maker = _TOOLS.get((package, base.__name__))
        if maker is not None:
            return maker
    return None


def _wrong_order(made: str, why: str, line: str) -> DefinitionTypeError:
    return DefinitionTypeError(
        f"expects must stand below the decorator that made this {made}, which {why}:\n"
        f"    @{line}\n    @expects(...)\n    def action(...)"
    )


# Package of the object that holds a function → the decorator that registered it, by the holder's class.
_REGISTRIES: Final[dict[str, dict[str, str]]] = {
    "fastapi": {"": "app.post(...)"},
    "fastmcp": {"Prompt": "mcp.prompt", "Resource": "mcp.resource(...)", "": "mcp.tool"},
    "flask": {"": "app.post(...)"},
    "mcp": {"Prompt": "mcp.prompt()", "Resource": "mcp.resource(...)", "": "mcp.tool()"},
    "pydantic_ai": {
        "SystemPrompt": "agent.system_prompt",
        "Output": "agent.output_validator",
        "": "agent.tool",
    },
    "temporalio": {"": "activity.defn"},
    "typer": {"": "app.command()"},
}
_NO_REGISTRIES: Final = (FrameType, ModuleType, type)
_MAX_LEVELS: Final = 8
"""How many references to follow from a function to the framework's object."""
_MAX_HOLDERS: Final = 100


def check_not_registered(action: Any, caller: FrameType) -> None:
    """Check that no decorator below ours has registered the function with a framework.

    Args:
        action: what is being decorated.
        caller: the frame that applies our decorator.

    Raises:
        DefinitionTypeError: a framework holds the function itself. The message shows the order to write.
    """
    if type(action) is not FunctionType or sys.getrefcount(action) <= _UNHELD:
        return
    if sys.modules.keys().isdisjoint(_REGISTRIES) or not _is_decorated_here(action, caller):
        return
    for holder in _holders_of(action):
        kind = type(holder)
        lines = _REGISTRIES.get(str(kind.__module__).partition(".")[0])
        if lines is not None:
            line = next(line for word, line in lines.items() if word in kind.__name__)
            raise DefinitionTypeError(
                f"expects must stand below the decorator that registered {action.__name__!r} as it is, "
                f"which would never call what expects makes of it:\n"
                f"    @{line}\n    @expects(...)\n    def {action.__name__}(...)"
            )


def _is_decorated_here(action: FunctionType, caller: FrameType) -> bool:
    """Return whether the caller is just defining the function.

    If the function is decorated by a call later on, it may be registered undecorated on purpose.
    """
    code = getattr(inspect.unwrap(action), "__code__", None)
    if code is None or not any(constant is code for constant in caller.f_code.co_consts):
        return False
    last = max((line for *_, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return bool(code.co_firstlineno <= caller.f_lineno <= last)


def _holders_of(action: FunctionType) -> Iterator[Any]:
    """Yield the objects that refer to a function, directly and indirectly, nearest first."""
    level: list[Any] = [action]
    seen = {id(action)}
    for _ in range(_MAX_LEVELS):
        holders = [holder for holder in gc.get_referrers(*level) if _may_be_registry(holder, level, seen)]
        yield from holders
        if not 0 < len(holders) <= _MAX_HOLDERS:
            return
        seen.update(map(id, holders))
        level = holders


def _may_be_registry(holder: Any, level: list[Any], seen: set[int]) -> bool:
    if holder is level or id(holder) in seen or isinstance(holder, _NO_REGISTRIES):
        return False
    return type(holder) is not dict or "__builtins__" not in holder  # what a module names leads to everything


def _count_unheld_references() -> int:
    """Return the reference count of a function that only its decorators hold."""

    def decorate(action: Any) -> int:
        return count(action)

    def count(action: Any) -> int:
        return sys.getrefcount(action)

    @decorate
    def unheld() -> None: ...

    return unheld


_UNHELD: Final = _count_unheld_references()
