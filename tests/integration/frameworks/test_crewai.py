"""crewai: `@tool` above `@expects`."""

import copy

import pytest

from deltaspan import collect_reports, expects, observe

tools = pytest.importorskip(
    "crewai.tools",
    reason="crewai is not installed: it is heavy and wants older versions than other frameworks; "
    "uv pip install crewai in an environment of its own",
)


def tool_of(decorate, flows):
    @tools.tool
    @decorate
    def create(name: str, limit: int = 3) -> str:
        """Create a flow."""
        flows.rows.append(name)
        return f"{name} {limit}"

    return create


def test_the_tool_looks_as_that_of_the_bare_function(verified, bare, flows):
    def looks(made):
        return made.name, made.description, made.args_schema.model_json_schema()

    assert looks(tool_of(verified, flows)) == looks(tool_of(bare, flows))


def test_a_call_of_the_tool_is_verified(verified, flows):
    with collect_reports() as reports:
        assert tool_of(verified, flows).run(name="a") == "a 3"

    assert [report.outcome for report in reports] == ["pass"]


def test_a_call_of_the_structured_tool_is_verified(verified, flows):
    with collect_reports() as reports:
        assert tool_of(verified, flows).to_structured_tool().invoke({"name": "a"}) == "a 3"

    assert [report.outcome for report in reports] == ["pass"]


def test_a_call_of_a_copied_tool_is_verified(verified, flows):
    with collect_reports() as reports:
        assert copy.copy(tool_of(verified, flows)).run(name="a") == "a 3"

    assert [report.outcome for report in reports] == ["pass"]


def test_expects_above_the_tool_is_refused(bare, flows):
    with pytest.raises(TypeError, match=r"@tool\n    @expects"):
        expects(observe("flows", flows.count))(tool_of(bare, flows))
