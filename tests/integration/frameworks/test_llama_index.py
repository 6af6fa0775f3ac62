"""llama-index-core: `FunctionTool.from_defaults` around a function decorated with `@expects`."""

import pytest

from deltaspan import collect_reports, expects, observe

tools = pytest.importorskip(
    "llama_index.core.tools", reason="llama-index-core is not installed: make frameworks"
)
Context = pytest.importorskip("llama_index.core.workflow").Context


def sync_action(decorate, flows):
    @decorate
    def create(context: Context, name: str, limit: int = 3) -> str:
        """Create a flow."""
        flows.rows.append(name)
        return f"{context} {name} {limit}"

    return create


def async_action(decorate, flows):
    @decorate
    async def create(context: Context, name: str, limit: int = 3) -> str:
        """Create a flow."""
        flows.rows.append(name)
        return f"{context} {name} {limit}"

    return create


def made(action):
    return tools.FunctionTool.from_defaults(action)


def made_async(action):
    return tools.FunctionTool.from_defaults(async_fn=action)


KINDS = pytest.mark.parametrize(("make", "action"), [(made, sync_action), (made_async, async_action)])


@KINDS
def test_the_tool_looks_as_that_of_the_bare_function(make, action, verified, bare, flows):
    def looks(tool):
        metadata = tool.metadata
        return metadata.name, metadata.description, metadata.get_parameters_dict(), tool.requires_context

    assert looks(make(action(verified, flows))) == looks(make(action(bare, flows)))


def test_a_call_of_the_tool_is_verified(verified, flows):
    with collect_reports() as reports:
        answer = made(sync_action(verified, flows)).call(context="context", name="a")

    assert answer.raw_output == "context a 3"
    assert [report.outcome for report in reports] == ["pass"]


@KINDS
async def test_an_async_call_of_the_tool_is_verified(make, action, verified, flows):
    with collect_reports() as reports:
        answer = await make(action(verified, flows)).acall(context="context", name="a")

    assert answer.raw_output == "context a 3"
    assert [report.outcome for report in reports] == ["pass"]


def test_expects_above_the_tool_is_refused(bare, flows):
    with pytest.raises(TypeError, match=r"@FunctionTool.from_defaults\(\.\.\.\)"):
        expects(observe("flows", flows.count))(made(sync_action(bare, flows)))
