"""Callables that are refused at decoration: wrong order of decorators, tools of frameworks."""

import contextlib
import functools
import sys
import types

import pytest

from deltaspan import DeltaspanError, change, collect_reports, expects, observe
from deltaspan._actions import _UNHELD
from support.reports import reports_of

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
def test_an_object_that_cannot_be_called_is_refused(thing):
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
def test_a_user_defined_callable_object_is_an_action_under_any_name(module, name):
    tool = tool_of(module, name)
    reports = reports_of(expects(ROWS)(tool))

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


# Functions that a framework holds already ---------------------------------------------------------------


STILL = change("rows", lambda: 3).by(0)


class Registry:
    """A registry that hands a function back as it is, and holds it as frameworks do."""

    def __init__(self, kind):
        self.kind = kind
        self.held = []

    def tool(self, function):
        entry = self.kind()
        entry.fn = function
        self.held.append(entry)
        return function


class Slotted:
    """An entry without a dictionary."""

    __slots__ = ("fn",)


class Wrapping:
    """An entry that holds a wrapper of the registered function."""

    @property
    def fn(self):
        return self._fn

    @fn.setter
    def fn(self, function):
        self._fn = functools.wraps(function)(lambda *args: function(*args))


@pytest.fixture
def framework(monkeypatch):
    """Return a function that creates a registry with entries of a framework's class."""

    def make(package="mcp", name="Tool", base=object):
        monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
        slots = {"__slots__": ()} if base is Slotted else {}
        return Registry(type(name, (base,), {"__module__": f"{package}.server.tools", **slots}))

    return make


def logged(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args)

    return call


@pytest.mark.parametrize("base", [object, Slotted, Wrapping])
@pytest.mark.parametrize(
    ("package", "name", "line"),
    [
        ("mcp", "Tool", "mcp.tool()"),
        ("mcp", "Prompt", "mcp.prompt()"),
        ("mcp", "ResourceTemplate", "mcp.resource(...)"),
        ("fastmcp", "FunctionTool", "mcp.tool"),
        ("pydantic_ai", "Tool", "agent.tool"),
        ("pydantic_ai", "OutputValidator", "agent.output_validator"),
        ("pydantic_ai", "SystemPromptRunner", "agent.system_prompt"),
        ("fastapi", "APIRoute", "app.post(...)"),
        ("flask", "Flask", "app.post(...)"),
        ("temporalio", "_Definition", "activity.defn"),
        ("typer", "CommandInfo", "app.command()"),
    ],
)
def test_a_function_that_a_framework_registered_is_refused_with_the_right_order(
    framework, package, name, line, base
):
    registry = framework(package, name, base)
    with pytest.raises(DeltaspanError) as caught:

        @expects(STILL)
        @registry.tool
        def create(name):
            return name

    assert isinstance(caught.value, TypeError)
    assert str(caught.value) == (
        "expects must stand below the decorator that registered 'create' as it is, "
        "which would never call what expects makes of it:\n"
        f"    @{line}\n"
        "    @expects(...)\n"
        "    def create(...)"
    )


def test_an_async_function_and_a_method_are_refused_too(framework):
    registry = framework()
    with pytest.raises(TypeError, match="as it is"):

        @expects(STILL)
        @registry.tool
        async def create(name):
            return name

    with pytest.raises(TypeError, match="as it is"):

        class Tools:
            @expects(STILL)
            @registry.tool
            def create(self, name):
                return name


def test_a_decorator_below_the_two_does_not_hide_it(framework):
    registry, verified = framework(), expects(STILL)
    with pytest.raises(TypeError, match="as it is"):

        @verified
        @registry.tool
        @logged
        def delete(name):
            return name


def test_the_right_order_is_an_action(framework):
    registry = framework()

    @registry.tool
    @expects(STILL)
    def create(name):
        return name

    with collect_reports() as reports:
        assert registry.held[0].fn("a") == "a"
    assert len(reports) == 1


def test_a_function_that_was_registered_bare_before_may_be_an_action_elsewhere(framework):
    def create(name):
        return name

    framework().tool(create)
    with collect_reports() as reports:
        assert expects(STILL)(create)("a") == "a"
    assert len(reports) == 1


def test_a_user_defined_registry_is_not_refused(framework):
    framework()  # one is imported, and holds nothing
    own = {}

    @expects(STILL)
    @lambda function: own.setdefault("create", function)
    def create(name):
        return name

    with collect_reports() as reports:
        assert create("a") == "a"
    assert len(reports) == 1


def test_a_function_without_other_references_is_not_searched_for(framework, monkeypatch):
    framework()
    monkeypatch.setattr("deltaspan._actions.gc.get_referrers", lambda *_: pytest.fail("looked"))

    @expects(observe("rows", lambda: 3))
    def create(name):
        return name

    def delete(name):
        return name

    assert create("a") == expects(STILL)(delete)("a")
    assert 0 < _UNHELD < 100
