"""What a tool's span says of its call: agent, conversation, id, and on request arguments and result."""

import asyncio

import pytest

from deltaspan import change, configure, expects, observe, override, window
from deltaspan._engine import _deferred
from deltaspan.exceptions import DefinitionTypeError

ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
OF_THE_CALL = {
    "gen_ai.agent.name": "planner",
    "gen_ai.conversation.id": "conv_1",
    "gen_ai.tool.call.id": "call_1",
}
CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def tool(**options):
    @expects(observe("n", lambda: 1), **options)
    def act(tenant, rows=(), **more):
        return {"id": 7, "tenant": tenant}

    return act


def content(recorded):
    attributes = recorded.spans[-1].attributes
    return attributes.get(ARGUMENTS), attributes.get(RESULT)


# The enclosing span -----------------------------------------------------------------------------------------


def test_the_span_of_a_tool_says_what_the_enclosing_span_of_the_framework_says(recorded):
    with recorded.tracer.start_as_current_span("invoke_agent planner", attributes=OF_THE_CALL):
        tool()("acme")

    attributes = recorded.spans[0].attributes
    assert {name: attributes.get(name) for name in OF_THE_CALL} == OF_THE_CALL


def test_a_tool_without_an_enclosing_span_says_nothing_of_it(recorded):
    tool()("acme")

    assert OF_THE_CALL.keys() & recorded.span.attributes.keys() == set()


def test_a_tool_in_a_tool_has_its_agent_and_not_the_id_of_its_call(recorded):
    inner = tool(tool=True)

    @expects(observe("n", lambda: 1))
    def outer():
        inner("acme")

    with recorded.tracer.start_as_current_span("invoke_agent planner", attributes=OF_THE_CALL):
        outer()

    attributes = recorded.spans[0].attributes
    assert attributes["gen_ai.agent.name"] == "planner"
    assert "gen_ai.tool.call.id" not in attributes


def test_what_is_no_tool_says_nothing_of_a_call(recorded):
    with recorded.tracer.start_as_current_span("invoke_agent planner", attributes=OF_THE_CALL):
        tool(tool=False)("acme")
        with window("load", observe("n", int)):
            pass

    assert [OF_THE_CALL.keys() & span.attributes.keys() for span in recorded.spans[:2]] == [set(), set()]


# Arguments and result ---------------------------------------------------------------------------------------


def test_arguments_and_result_do_not_leave_by_default(recorded):
    tool()("acme")

    assert content(recorded) == (None, None)


@pytest.mark.parametrize(
    ("requested", "arguments", "result"),
    [
        (True, '{"tenant":"acme","rows":[1],"more":{"dry":true}}', '{"id":7,"tenant":"acme"}'),
        (["tenant"], '{"tenant":"acme"}', None),
        (("rows", "result"), '{"rows":[1]}', '{"id":7,"tenant":"acme"}'),
        ([], "{}", None),
        (False, None, None),
    ],
)
def test_the_definition_says_which_arguments_leave(recorded, requested, arguments, result):
    tool(capture_arguments=requested)("acme", rows=[1], dry=True)

    assert content(recorded) == (arguments, result)


def test_the_settings_decide_for_a_tool_whose_definition_does_not(recorded):
    with override(capture_arguments=True):
        tool()("acme")
        tool(capture_arguments=False)("acme")

    assert recorded.spans[0].attributes[ARGUMENTS] == '{"tenant":"acme","rows":[],"more":{}}'
    assert content(recorded) == (None, None)


@pytest.mark.parametrize(
    ("variable", "text", "leaves"),
    [
        ("DELTASPAN_CAPTURE_ARGUMENTS", "on", True),
        (CONTENT_VARIABLE, "SPAN_ONLY", True),
        (CONTENT_VARIABLE, "span_and_event", True),
        (CONTENT_VARIABLE, "EVENT_ONLY", False),
        (CONTENT_VARIABLE, "NO_CONTENT", False),
    ],
)
def test_a_variable_decides_for_the_process(recorded, environ, variable, text, leaves):
    environ(**{variable: text})
    tool()("acme")

    assert (content(recorded)[0] is not None) is leaves


def test_our_own_variable_goes_before_that_of_opentelemetry(recorded, environ):
    environ(**{CONTENT_VARIABLE: "SPAN_ONLY", "DELTASPAN_CAPTURE_ARGUMENTS": "off"})
    tool()("acme")

    assert content(recorded) == (None, None)


def test_arguments_are_those_from_before_the_action(recorded):
    @expects(observe("n", lambda: 1), capture_arguments=True)
    def act(rows):
        rows.clear()

    act([1, 2])

    assert content(recorded) == ('{"rows":[1,2]}', "null")


def test_the_object_of_a_method_is_not_an_argument(recorded):
    class Flows:
        @expects(observe("n", lambda: 1), capture_arguments=True)
        def create(self, tenant):
            return 1

    Flows().create("acme")

    assert content(recorded) == ('{"tenant":"acme"}', 1)


def test_values_under_names_of_secrets_are_masked(recorded):
    @expects(observe("n", lambda: 1), capture_arguments=True)
    def act(password, options, url, max_tokens):
        return {"access_token": "t", "sort_key": "id"}

    act("p", {"headers": [{"Authorization": "Bearer x"}], "apiKey": "k"}, "db://u:pw@host/x", 9)
    arguments, result = content(recorded)

    mask = "**********"
    assert arguments == (
        f'{{"password":"{mask}","options":{{"headers":[{{"Authorization":"{mask}"}}],"apiKey":"{mask}"}},'
        f'"url":"db://{mask}@host/x","max_tokens":9}}'
    )
    assert result == f'{{"access_token":"{mask}","sort_key":"id"}}'


def test_what_a_redacted_check_names_is_redacted(recorded):
    @expects(change("n", lambda tenant: 1).by(0).redacted(), capture_arguments=True)
    def act(tenant, size):
        return "made"

    act("acme", 2)

    assert content(recorded) == ('{"tenant":"(redacted)","size":2}', "(redacted)")


def test_content_is_as_long_as_a_state_at_most(recorded):
    with override(max_state_chars=32):
        tool(capture_arguments=True)("a" * 1000, rows=range(1000))
    arguments, result = content(recorded)

    assert len(arguments) <= 32
    assert len(result) <= 32


@pytest.mark.parametrize("capture", ["summary", "none"])
def test_without_full_states_there_is_no_content(recorded, capture):
    with override(capture_state=capture):
        tool(capture_arguments=True)("acme")

    assert content(recorded) == (None, None)


def test_an_argument_that_cannot_be_copied_is_its_class(recorded):
    @expects(observe("n", lambda: 1), capture_arguments=True)
    def act(items):
        return list(items)

    assert act(iter([1])) == [1]
    assert content(recorded) == ('{"items":"(list_iterator)"}', "[1]")


def test_a_tool_that_raised_has_no_result(recorded):
    @expects(observe("n", lambda: 1), capture_arguments=True)
    def act(tenant):
        raise ValueError(tenant)

    with pytest.raises(ValueError, match="acme"):
        act("acme")

    assert content(recorded) == ('{"tenant":"acme"}', None)


def test_the_content_of_a_coroutine_has_its_result(recorded):
    @expects(observe("n", lambda: 1), capture_arguments=True)
    async def act(tenant):
        await asyncio.sleep(0)
        return "made"

    asyncio.run(act("acme"))

    assert content(recorded) == ('{"tenant":"acme"}', "made")


def test_the_content_of_a_deferred_tool_is_on_its_own_span(recorded):
    tool(capture_arguments=["tenant", "result"], deferred=True)("acme")
    assert _deferred.drain(10)
    action, verdict = recorded.spans

    assert action.attributes[ARGUMENTS] == '{"tenant":"acme"}'
    assert action.attributes[RESULT] == '{"id":7,"tenant":"acme"}'
    assert {ARGUMENTS, RESULT} & verdict.attributes.keys() == set()


def test_the_span_of_a_framework_gets_no_content(recorded):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "act", ARGUMENTS: "theirs"}
    with recorded.tracer.start_as_current_span("execute_tool act", attributes=attributes):
        tool(capture_arguments=True)("acme")

    assert content(recorded) == ("theirs", None)


def test_what_is_no_tool_has_no_content(recorded):
    tool(capture_arguments=True, tool=False)("acme")

    assert content(recorded) == (None, None)


@pytest.mark.parametrize("requested", ["tenant", 1, 0.5])
def test_a_request_that_is_not_a_list_is_refused(requested):
    with pytest.raises(DefinitionTypeError, match=r"is not True, False, None or a list of names"):
        tool(capture_arguments=requested)


def test_a_name_that_is_not_an_argument_is_refused():
    with pytest.raises(DefinitionTypeError, match=r"names 'tennant', .* did you mean 'tenant'"):
        tool(capture_arguments=["tennant"])
    with pytest.raises(DefinitionTypeError, match="write some of tenant, rows, more, result"):
        tool(capture_arguments=["x"])


def test_configure_takes_the_setting(recorded):
    configure(capture_arguments=True)
    tool()("acme")

    assert content(recorded)[1] == '{"id":7,"tenant":"acme"}'
