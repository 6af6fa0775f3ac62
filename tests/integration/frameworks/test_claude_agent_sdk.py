"""claude-agent-sdk: `@tool(...)` above `@expects`."""

import pytest

from deltaspan import collect_reports, expects, observe

sdk = pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed: make frameworks")


def tool_of(decorate, flows):
    @sdk.tool("create", "Create a flow.", {"name": str})
    @decorate
    async def create(args):
        flows.rows.append(args["name"])
        return {"content": [{"type": "text", "text": args["name"]}]}

    return create


def test_the_tool_looks_as_that_of_the_bare_function(verified, bare, flows):
    def looks(made):
        return made.name, made.description, made.input_schema, made.annotations

    assert looks(tool_of(verified, flows)) == looks(tool_of(bare, flows))


async def test_a_call_of_the_tool_is_verified(verified, flows):
    with collect_reports() as reports:
        answer = await tool_of(verified, flows).handler({"name": "a"})

    assert answer == {"content": [{"type": "text", "text": "a"}]}
    assert [report.outcome for report in reports] == ["pass"]


def test_expects_above_the_tool_is_refused(bare, flows):
    with pytest.raises(TypeError, match=r"@tool\(\.\.\.\)\n    @expects"):
        expects(observe("flows", flows.count))(tool_of(bare, flows))
