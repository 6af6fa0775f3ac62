"""fastmcp: `@server.tool` above `@expects`."""

import pytest

from deltaspan import collect_reports, expects, observe

fastmcp = pytest.importorskip("fastmcp", reason="fastmcp is not installed: make frameworks")


def sync_server(decorate, flows):
    server = fastmcp.FastMCP("flows")

    @server.tool
    @decorate
    def create(name: str, context: fastmcp.Context, limit: int = 3) -> str:
        """Create a flow."""
        assert isinstance(context, fastmcp.Context)
        flows.rows.append(name)
        return f"{name} {limit}"

    return server


def async_server(decorate, flows):
    server = fastmcp.FastMCP("flows")

    @server.tool
    @decorate
    async def create(name: str, context: fastmcp.Context, limit: int = 3) -> str:
        """Create a flow."""
        assert isinstance(context, fastmcp.Context)
        flows.rows.append(name)
        return f"{name} {limit}"

    return server


SERVERS = pytest.mark.parametrize("server", [sync_server, async_server])


@SERVERS
async def test_the_tool_looks_as_that_of_the_bare_function(server, verified, bare, flows):
    (with_us,) = await server(verified, flows).list_tools()
    (without,) = await server(bare, flows).list_tools()

    assert with_us.to_mcp_tool().model_dump() == without.to_mcp_tool().model_dump()


@SERVERS
async def test_a_call_of_the_tool_is_verified(server, verified, flows):
    with collect_reports() as reports:
        answer = await server(verified, flows).call_tool("create", {"name": "a"})

    assert answer.structured_content == {"result": "a 3"}
    assert [report.outcome for report in reports] == ["pass"]


async def test_a_call_by_a_client_is_verified(verified, flows):
    with collect_reports() as reports:
        async with fastmcp.Client(sync_server(verified, flows)) as client:
            answer = await client.call_tool("create", {"name": "a"})

    assert answer.data == "a 3"
    assert [report.outcome for report in reports] == ["pass"]


async def test_expects_above_the_tool_is_refused(bare, flows):
    (tool,) = await sync_server(bare, flows).list_tools()

    with pytest.raises(TypeError, match=r"@mcp.tool\n    @expects"):
        expects(observe("flows", flows.count))(tool)


@pytest.mark.parametrize("kind", ["tool", "prompt", "resource"])
def test_expects_above_a_decorator_that_returns_the_function_is_refused(kind, flows):
    server = fastmcp.FastMCP("flows")
    decorate = {"tool": server.tool, "prompt": server.prompt, "resource": server.resource("a://{name}")}[kind]
    with pytest.raises(TypeError, match=rf"registered 'create'[^@]*@mcp\.{kind}(\(\.\.\.\))?\n    @expects"):

        @expects(observe("flows", flows.count))
        @decorate
        def create(name: str) -> str:
            """Create a flow."""
            return name


async def test_a_server_that_had_the_bare_function_first_does_not_run_it_again(verified, flows):
    def create(name: str) -> str:
        """Create a flow."""
        flows.rows.append(name)
        return name

    async def call(function):
        server = fastmcp.FastMCP("flows")
        server.tool(function)
        await server.call_tool("create", {"name": "a"})

    await call(create)
    with collect_reports() as reports:
        await call(verified(create))

    assert [report.outcome for report in reports] == ["pass"]
