"""pydantic-ai: `@agent.tool` or `Tool(...)` around a function decorated with `@expects`."""

import pytest

from deltaspan import collect_reports, expects, observe

pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: make frameworks")
TestModel = pytest.importorskip("pydantic_ai.models.test").TestModel


def sync_action(decorate, flows):
    @decorate
    def create(context: pydantic_ai.RunContext[int], name: str, limit: int = 3) -> str:
        """Create a flow.

        Args:
            context: of the run.
            name: what to call it.
            limit: how many at most.
        """
        flows.rows.append(name)
        return f"{context.deps} {name} {limit}"

    return create


def async_action(decorate, flows):
    @decorate
    async def create(context: pydantic_ai.RunContext[int], name: str, limit: int = 3) -> str:
        """Create a flow.

        Args:
            context: of the run.
            name: what to call it.
            limit: how many at most.
        """
        flows.rows.append(name)
        return f"{context.deps} {name} {limit}"

    return create


ACTIONS = pytest.mark.parametrize("action", [sync_action, async_action])


@ACTIONS
def test_the_tool_looks_as_that_of_the_bare_function(action, verified, bare, flows):
    with_us, without = (pydantic_ai.Tool(action(decorate, flows)) for decorate in (verified, bare))

    assert with_us.tool_def == without.tool_def
    assert with_us.takes_ctx == without.takes_ctx


@ACTIONS
async def test_a_call_of_the_tool_is_verified(action, verified, flows):
    # This model stands in for a real one: it calls every tool once, with made-up arguments.
    agent = pydantic_ai.Agent(TestModel(), deps_type=int)
    agent.tool(action(verified, flows))
    with collect_reports() as reports:
        answer = await agent.run("create a flow", deps=7)

    assert '"create":"7 a' in answer.output
    assert [report.outcome for report in reports] == ["pass"]


def test_expects_above_the_tool_is_refused(bare, flows):
    with pytest.raises(TypeError, match=r"@Tool\(\.\.\.\) around the decorated function\n    @expects"):
        expects(observe("flows", flows.count))(pydantic_ai.Tool(sync_action(bare, flows)))


@pytest.mark.parametrize("kind", ["tool_plain", "toolset", "output_validator"])
def test_expects_above_a_decorator_that_returns_the_function_is_refused(kind, flows):
    agent, toolset = pydantic_ai.Agent(TestModel()), pydantic_ai.FunctionToolset()
    decorate = {
        "tool_plain": agent.tool_plain,
        "toolset": toolset.tool_plain,
        "output_validator": agent.output_validator,
    }[kind]
    with pytest.raises(
        TypeError, match=r"registered 'create'[^@]*@agent\.(tool|output_validator)\n    @expects"
    ):

        @expects(observe("flows", flows.count))
        @decorate
        def create(name: str) -> str:
            """Create a flow."""
            return name
