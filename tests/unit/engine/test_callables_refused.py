"""What can be no action is refused at decoration, with the order of decorators to write instead."""

import contextlib
import functools

import pytest

from deltaspan import DeltaspanError, change, collect_reports, expects

ROWS = change("rows", lambda: 3)


def refusal(action):
    with pytest.raises(DeltaspanError) as caught:
        expects(ROWS)(action)
    assert isinstance(caught.value, TypeError)
    return str(caught.value)


@pytest.mark.parametrize("kind", [property, functools.cached_property, functools.singledispatchmethod])
def test_a_descriptor_that_hides_its_function_is_refused_with_the_right_order(kind):
    assert refusal(kind(lambda self: self)) == (
        f"expects must stand below the decorator that made this {kind.__name__}, "
        "which is not a function that could be called:\n"
        f"    @{kind.__name__}\n"
        "    @expects(...)\n"
        "    def action(...)"
    )


@pytest.mark.parametrize("kind", [contextlib.contextmanager, contextlib.asynccontextmanager])
def test_a_function_that_makes_a_context_manager_is_refused_with_the_right_order(kind):
    assert refusal(kind(lambda: None)) == (
        "expects must stand below the decorator that made this function, "
        "which only makes a context manager, and ends before its block begins:\n"
        f"    @{kind.__name__}\n"
        "    @expects(...)\n"
        "    def action(...)"
    )


@pytest.mark.parametrize("thing", [None, 3, "act", [len]], ids=repr)
def test_what_cannot_be_called_is_refused(thing):
    assert f"made this {type(thing).__name__}, which would never call it" in refusal(thing)


def tool_of(module, name, heir=""):
    """Return an object of a class that a framework would have, or of an heir of it in a user's module."""
    kind = type(name, (), {"__module__": module, "__call__": lambda self: None, "name": "act"})
    if heir:
        kind = type(heir, (kind,), {"__module__": "shop.tools"})
    return kind()


@pytest.mark.parametrize(
    ("module", "name", "line"),
    [
        ("agents.tool", "FunctionTool", "function_tool"),
        ("agent_framework._tools", "FunctionTool", "tool"),
        ("agno.tools.function", "Function", "tool"),
        ("autogen_core.tools._base", "BaseTool", "FunctionTool(...) around the decorated function"),
        ("camel.toolkits.function_tool", "FunctionTool", "FunctionTool(...) around the decorated function"),
        ("celery.local", "Proxy", "app.task"),
        ("celery.app.task", "Task", "app.task"),
        ("dspy.adapters.types.tool", "Tool", "Tool(...) around the decorated function"),
        ("haystack.tools.tool", "Tool", "tool"),
        ("semantic_kernel.functions.kernel_function", "KernelFunction", "kernel_function"),
        ("strands.types.tools", "AgentTool", "tool"),
        ("langchain_core.tools.base", "BaseTool", "tool"),
        ("mcp.types", "Tool", "mcp.tool()"),
        ("fastmcp.tools.base", "Tool", "mcp.tool"),
        ("pydantic_ai.tools", "Tool", "Tool(...) around the decorated function"),
        ("smolagents.tools", "Tool", "tool"),
        ("crewai.tools.base_tool", "BaseTool", "tool"),
        (
            "llama_index.core.tools.types",
            "BaseTool",
            "FunctionTool.from_defaults(...) around the decorated function",
        ),
        ("google.adk.tools.base_tool", "BaseTool", "FunctionTool(...) around the decorated function"),
        ("anthropic.lib.tools._beta_functions", "BetaFunctionTool", "beta_tool"),
        ("claude_agent_sdk", "SdkMcpTool", "tool(...)"),
    ],
)
@pytest.mark.parametrize("heir", ["", "OwnTool"])
def test_a_tool_object_of_a_framework_is_refused_with_the_right_order(module, name, line, heir):
    assert refusal(tool_of(module, name, heir)) == (
        f"expects must stand below the decorator that made this {heir or name}, which would never call it:\n"
        f"    @{line}\n"
        "    @expects(...)\n"
        "    def action(...)"
    )


@pytest.mark.parametrize(
    ("module", "name"), [("shop.agents", "FunctionTool"), ("shop", "Tool"), ("agents.own", "Runner")]
)
def test_a_callable_object_of_the_users_own_is_an_action_whatever_it_is_called(module, name):
    tool = tool_of(module, name)
    with collect_reports() as reports:
        expects(ROWS)(tool)()

    assert len(reports) == 1


def test_a_callable_object_that_answers_to_any_name_is_an_action():
    class Anything:
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return []

        def __call__(self):
            return "done"

    assert expects(ROWS)(Anything())() == "done"
