"""Above a framework's decorator that registers a function and returns it as it is, `expects` is refused."""

import functools
import sys
import types

import pytest

from deltaspan import DeltaspanError, change, collect_reports, expects, observe
from deltaspan._actions import _UNHELD

ROWS = change("rows", lambda: 3).by(0)


class Registry:
    """What hands a function back as it is, and holds it as frameworks do."""

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
    """An entry that holds a wrapper of what it is given."""

    @property
    def fn(self):
        return self._fn

    @fn.setter
    def fn(self, function):
        self._fn = functools.wraps(function)(lambda *args: function(*args))


@pytest.fixture
def framework(monkeypatch):
    """Return what makes a registry whose entries are of a framework's class."""

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
def test_it_is_refused_with_the_right_order(framework, package, name, line, base):
    registry = framework(package, name, base)
    with pytest.raises(DeltaspanError) as caught:

        @expects(ROWS)
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

        @expects(ROWS)
        @registry.tool
        async def create(name):
            return name

    with pytest.raises(TypeError, match="as it is"):

        class Tools:
            @expects(ROWS)
            @registry.tool
            def create(self, name):
                return name


def test_a_decorator_below_the_two_does_not_hide_it(framework):
    registry, verified = framework(), expects(ROWS)
    with pytest.raises(TypeError, match="as it is"):

        @verified
        @registry.tool
        @logged
        def delete(name):
            return name


def test_the_right_order_is_an_action(framework):
    registry = framework()

    @registry.tool
    @expects(ROWS)
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
        assert expects(ROWS)(create)("a") == "a"
    assert len(reports) == 1


def test_a_registry_of_the_users_own_decides_for_itself(framework):
    framework()  # one is imported, and holds nothing
    own = {}

    @expects(ROWS)
    @lambda function: own.setdefault("create", function)
    def create(name):
        return name

    with collect_reports() as reports:
        assert create("a") == "a"
    assert len(reports) == 1


def test_a_function_that_nobody_holds_is_not_looked_for(framework, monkeypatch):
    framework()
    monkeypatch.setattr("deltaspan._actions.gc.get_referrers", lambda *_: pytest.fail("looked"))

    @expects(observe("rows", lambda: 3))
    def create(name):
        return name

    def delete(name):
        return name

    assert create("a") == expects(ROWS)(delete)("a")
    assert 0 < _UNHELD < 100
