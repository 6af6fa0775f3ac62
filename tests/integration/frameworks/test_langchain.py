"""langchain-core: `@tool` above `@expects`."""

import pytest

from deltaspan import collect_reports, expects, observe

tools = pytest.importorskip("langchain_core.tools", reason="langchain-core is not installed: make frameworks")
runnables = pytest.importorskip("langchain_core.runnables")


def sync_tool(decorate, flows):
    @tools.tool(parse_docstring=True)
    @decorate
    def create(name: str, config: runnables.RunnableConfig, limit: int = 3) -> str:
        """Create a flow.

        Args:
            name: what to call it.
            limit: how many at most.
        """
        flows.rows.append(name)
        return f"{config['configurable']['tenant']} {name} {limit}"

    return create


def async_tool(decorate, flows):
    @tools.tool(parse_docstring=True)
    @decorate
    async def create(name: str, config: runnables.RunnableConfig, limit: int = 3) -> str:
        """Create a flow.

        Args:
            name: what to call it.
            limit: how many at most.
        """
        flows.rows.append(name)
        return f"{config['configurable']['tenant']} {name} {limit}"

    return create


@pytest.mark.parametrize("tool", [sync_tool, async_tool])
def test_the_tool_looks_as_that_of_the_bare_function(tool, verified, bare, flows):
    def looks(made):
        return made.name, made.description, made.args_schema.model_json_schema(), made.coroutine is None

    assert looks(tool(verified, flows)) == looks(tool(bare, flows))


CONFIG = {"configurable": {"tenant": "acme"}}


def test_a_call_of_the_tool_is_verified(verified, flows):
    with collect_reports() as reports:
        assert sync_tool(verified, flows).invoke({"name": "a"}, CONFIG) == "acme a 3"

    assert [report.outcome for report in reports] == ["pass"]


@pytest.mark.parametrize("tool", [sync_tool, async_tool])
async def test_an_async_call_of_the_tool_is_verified(tool, verified, flows):
    with collect_reports() as reports:
        assert await tool(verified, flows).ainvoke({"name": "a"}, CONFIG) == "acme a 3"

    assert [report.outcome for report in reports] == ["pass"]


def test_expects_above_the_tool_is_refused(bare, flows):
    with pytest.raises(TypeError, match=r"@tool\n    @expects"):
        expects(observe("flows", flows.count))(sync_tool(bare, flows))
