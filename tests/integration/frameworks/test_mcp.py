"""mcp: `@server.tool()` above `@expects`."""

import pytest

from deltaspan import collect_reports, expects, observe

mcp_server = pytest.importorskip("mcp.server", reason="mcp is not installed: make frameworks")
types = pytest.importorskip("mcp.types")
if not hasattr(mcp_server, "MCPServer"):
    pytest.skip("mcp before 2.0 names its server otherwise", allow_module_level=True)
Context = pytest.importorskip("mcp.server.mcpserver").Context
MCPServer = pytest.importorskip("mcp.server.mcpserver").MCPServer


def sync_server(decorate, flows):
    server = mcp_server.MCPServer("flows")

    @server.tool()
    @decorate
    def create(name: str, context: Context, limit: int = 3) -> str:
        """Create a flow."""
        assert isinstance(context, Context)
        flows.rows.append(name)
        return f"{name} {limit}"

    return server


def async_server(decorate, flows):
    server = mcp_server.MCPServer("flows")

    @server.tool()
    @decorate
    async def create(name: str, context: Context, limit: int = 3) -> str:
        """Create a flow."""
        assert isinstance(context, Context)
        flows.rows.append(name)
        return f"{name} {limit}"

    return server


SERVERS = pytest.mark.parametrize("server", [sync_server, async_server])


@SERVERS
async def test_the_tool_looks_as_that_of_the_bare_function(server, verified, bare, flows):
    (with_us,) = await server(verified, flows).list_tools()
    (without,) = await server(bare, flows).list_tools()

    assert with_us.model_dump() == without.model_dump()


@SERVERS
async def test_a_call_of_the_tool_is_verified(server, verified, flows):
    with collect_reports() as reports:
        answer = await server(verified, flows).call_tool("create", {"name": "a"})

    assert (answer.is_error, answer.content[0].text) == (False, "a 3")
    assert [report.outcome for report in reports] == ["pass"]


async def test_expects_above_the_tool_is_refused(bare, flows):
    (tool,) = await sync_server(bare, flows).list_tools()

    with pytest.raises(TypeError, match=r"@mcp.tool\(\)\n    @expects"):
        expects(observe("flows", flows.count))(tool)


@pytest.mark.parametrize("kind", ["tool", "prompt", "resource"])
def test_expects_above_a_decorator_that_returns_the_function_is_refused(kind, flows):
    server = MCPServer("flows")
    decorators = {"tool": server.tool(), "prompt": server.prompt(), "resource": server.resource("a://{name}")}
    decorate = decorators[kind]
    with pytest.raises(TypeError, match=rf"registered 'create'[^@]*@mcp\.{kind}\(.*\)\n    @expects"):

        @expects(observe("flows", flows.count))
        @decorate
        def create(name: str) -> str:
            """Create a flow."""
            return name
