"""google-adk: `FunctionTool(...)` around a function decorated with `@expects`."""

import pytest

from deltaspan import collect_reports, expects, observe

tools = pytest.importorskip(
    "google.adk.tools",
    reason="google-adk is not installed: it is heavy, and no part of a group; uv pip install google-adk",
)


def sync_action(decorate, flows):
    @decorate
    def create(name: str, tool_context: tools.ToolContext, limit: int = 3) -> str:
        """Create a flow."""
        flows.rows.append(name)
        return f"{tool_context} {name} {limit}"

    return create


def async_action(decorate, flows):
    @decorate
    async def create(name: str, tool_context: tools.ToolContext, limit: int = 3) -> str:
        """Create a flow."""
        flows.rows.append(name)
        return f"{tool_context} {name} {limit}"

    return create


ACTIONS = pytest.mark.parametrize("action", [sync_action, async_action])


@ACTIONS
def test_the_tool_looks_as_that_of_the_bare_function(action, verified, bare, flows):
    def looks(made):
        return made.name, made.description, made._get_declaration().model_dump()

    assert looks(tools.FunctionTool(action(verified, flows))) == looks(
        tools.FunctionTool(action(bare, flows))
    )


@ACTIONS
async def test_a_call_of_the_tool_is_verified(action, verified, flows):
    tool = tools.FunctionTool(action(verified, flows))
    with collect_reports() as reports:
        answer = await tool.run_async(args={"name": "a"}, tool_context="context")

    assert answer == "context a 3"
    assert [report.outcome for report in reports] == ["pass"]


def test_expects_above_the_tool_is_refused(bare, flows):
    with pytest.raises(
        TypeError, match=r"@FunctionTool\(\.\.\.\) around the decorated function\n    @expects"
    ):
        expects(observe("flows", flows.count))(tools.FunctionTool(sync_action(bare, flows)))
