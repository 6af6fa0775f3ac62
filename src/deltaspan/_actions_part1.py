"""What cannot be an action, and the order of decorators to write instead.

A tool object of an agent framework calls the function inside it, so what stands around the object is never
called. Tool objects are told by where their class, or a base of it, comes from; no framework is imported.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from types import FunctionType
from typing import Any, Final

from deltaspan.exceptions import DefinitionTypeError

__all__ = ["refuse_bare_use", "refuse_what_is_no_action"]

# Package and class name of what a framework makes of a function → the decorator that makes it.
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

# What a standard descriptor or wrapper hides its function in → the line that belongs above ours.
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


def refuse_bare_use(checks: Sequence[Any]) -> None:
    """Refuse `@expects` without parentheses.

    Raises:
        DefinitionTypeError: the action itself was given in place of checks.
    """
    for check in checks:
        if callable(check):
            raise DefinitionTypeError(
                "expects needs checks before it meets the action: write "
                f"@expects(change('flows', count_flows).by(1)) above {getattr(check, '__name__', check)!r}"
            )


def refuse_what_is_no_action(action: Any) -> None:
    """Refuse what cannot be verified, or what would never call us.

    Raises:
        DefinitionTypeError: it is a class, a property, a context manager's function, a framework's tool
            object, or nothing that could be called; the text shows the order to write.
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
            raise _wrong_order(type(action).__name__, "is no function that could be called", line)
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
