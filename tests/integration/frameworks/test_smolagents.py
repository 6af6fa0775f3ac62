"""smolagents: `@tool` above `@expects`."""

import pytest

from deltaspan import collect_reports, expects, observe

smolagents = pytest.importorskip("smolagents", reason="smolagents is not installed: make frameworks")
tool = smolagents.tool  # it looks for its own name in the source

# It warns of every other decorator, because it sends a tool's source to remote executors without them.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Function 'create' has decorators other than @tool:UserWarning"
)


def with_us(verified, flows):
    @tool
    @verified
    def create(name: str, limit: int = 3) -> str:
        """Create a flow.

        Args:
            name: what to call it.
            limit: how many at most.
        """
        flows.rows.append(name)
        return f"{name} {limit}"

    return create


def without(flows):
    # Written out: smolagents reads the source of a tool, decorators included.
    @tool
    def create(name: str, limit: int = 3) -> str:
        """Create a flow.

        Args:
            name: what to call it.
            limit: how many at most.
        """
        flows.rows.append(name)
        return f"{name} {limit}"

    return create


def test_the_tool_looks_as_that_of_the_bare_function(verified, flows):
    def looks(made):
        return made.name, made.description, made.inputs, made.output_type

    assert looks(with_us(verified, flows)) == looks(without(flows))


def test_a_call_of_the_tool_is_verified(verified, flows):
    with collect_reports() as reports:
        assert with_us(verified, flows)(name="a") == "a 3"

    assert [report.outcome for report in reports] == ["pass"]


def test_expects_above_the_tool_is_refused(flows):
    with pytest.raises(TypeError, match=r"@tool\n    @expects"):
        expects(observe("flows", flows.count))(without(flows))
