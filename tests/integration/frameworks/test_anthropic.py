"""anthropic: `@beta_tool` and `@beta_async_tool` above `@expects`."""

import pytest

from deltaspan import collect_reports, expects, observe

anthropic = pytest.importorskip("anthropic", reason="anthropic is not installed: make frameworks")


def sync_tool(decorate, flows):
    @anthropic.beta_tool
    @decorate
    def create(name: str, limit: int = 3) -> str:
        """Create a flow.

        Args:
            name: what to call it.
            limit: how many at most.
        """
        flows.rows.append(name)
        return f"{name} {limit}"

    return create


def async_tool(decorate, flows):
    @anthropic.beta_async_tool
    @decorate
    async def create(name: str, limit: int = 3) -> str:
        """Create a flow.

        Args:
            name: what to call it.
            limit: how many at most.
        """
        flows.rows.append(name)
        return f"{name} {limit}"

    return create


TOOLS = pytest.mark.parametrize("tool", [sync_tool, async_tool])


@TOOLS
def test_the_tool_looks_as_that_of_the_bare_function(tool, verified, bare, flows):
    assert tool(verified, flows).to_dict() == tool(bare, flows).to_dict()


def test_a_call_of_the_tool_is_verified(verified, flows):
    with collect_reports() as reports:
        assert sync_tool(verified, flows).call({"name": "a"}) == "a 3"

    assert [report.outcome for report in reports] == ["pass"]


async def test_a_call_of_the_async_tool_is_verified(verified, flows):
    with collect_reports() as reports:
        assert await async_tool(verified, flows).call({"name": "a"}) == "a 3"

    assert [report.outcome for report in reports] == ["pass"]


@pytest.mark.parametrize(("tool", "line"), [(sync_tool, "beta_tool"), (async_tool, "beta_async_tool")])
def test_expects_above_the_tool_is_refused(tool, line, bare, flows):
    with pytest.raises(TypeError, match=rf"@{line}\n    @expects"):
        expects(observe("flows", flows.count))(tool(bare, flows))
