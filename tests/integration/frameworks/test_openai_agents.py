"""openai-agents: `@function_tool` above `@expects`."""

import inspect
import json

import pytest

from deltaspan import collect_reports, expects, observe

agents = pytest.importorskip("agents", reason="openai-agents is not installed: make frameworks")
tool_context = pytest.importorskip("agents.tool_context")


def sync_tool(decorate, flows):
    @agents.function_tool
    @decorate
    def create(context: agents.RunContextWrapper[int], name: str, limit: int = 3) -> str:
        """Create a flow.

        Args:
            name: what to call it.
            limit: how many at most.
        """
        flows.rows.append(name)
        return f"{context.context} {name} {limit}"

    return create


def async_tool(decorate, flows):
    @agents.function_tool
    @decorate
    async def create(context: agents.RunContextWrapper[int], name: str, limit: int = 3) -> str:
        """Create a flow.

        Args:
            name: what to call it.
            limit: how many at most.
        """
        flows.rows.append(name)
        return f"{context.context} {name} {limit}"

    return create


TOOLS = pytest.mark.parametrize("tool", [sync_tool, async_tool])


@TOOLS
def test_the_tool_looks_as_that_of_the_bare_function(tool, verified, bare, flows):
    def looks(made):
        return made.name, made.description, made.params_json_schema, made.strict_json_schema

    assert looks(tool(verified, flows)) == looks(tool(bare, flows))


@TOOLS
async def test_a_call_of_the_tool_is_verified(tool, verified, flows):
    context = tool_context.ToolContext(
        context=7, tool_name="create", tool_call_id="call_1", tool_arguments="{}"
    )
    with collect_reports() as reports:
        answer = await tool(verified, flows).on_invoke_tool(context, json.dumps({"name": "a", "limit": 4}))

    assert answer == "7 a 4"
    assert [report.outcome for report in reports] == ["pass"]


def test_expects_above_the_tool_is_refused(bare, flows):
    with pytest.raises(TypeError, match=r"@function_tool\n    @expects"):
        expects(observe("flows", flows.count))(sync_tool(bare, flows))


def test_an_async_action_is_async_to_the_framework(verified):
    @verified
    async def create() -> None:
        """Create a flow."""

    assert inspect.iscoroutinefunction(create)
