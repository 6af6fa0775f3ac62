"""Mistakes are found when the action is decorated, with advice in the error."""

import functools

import pytest

from deltaspan import DeltaspanError, change, expects, observe, unchanged, window

ROWS = change("rows", lambda: 3)


async def read_later():
    return 3


class LaterReader:
    async def __call__(self):
        return 3


def act(tenant, limit):
    return tenant, limit


def refusal(call, *args, **kwargs):
    with pytest.raises(DeltaspanError) as caught:
        call(*args, **kwargs)
    kinds = [kind for kind in (TypeError, ValueError) if isinstance(caught.value, kind)]
    assert len(kinds) == 1
    return kinds[0], str(caught.value)


def test_an_unknown_name_is_refused_with_the_known_names_and_the_nearest_match():
    decorate = expects(change("rows", lambda tennant: 3))

    assert refusal(decorate, act) == (
        TypeError,
        (
            "the probe of check 'rows' on action 'act' needs 'tennant', which does not exist; "
            "did you mean 'tenant'? (it may name: causal_tag, limit, tenant)"
        ),
    )


def test_an_unknown_name_without_a_near_match_is_refused_with_the_known_names():
    decorate = expects(change("rows", lambda zzz: 3))

    assert refusal(decorate, act) == (
        TypeError,
        (
            "the probe of check 'rows' on action 'act' needs 'zzz', which does not exist "
            "(it may name: causal_tag, limit, tenant)"
        ),
    )


@pytest.mark.parametrize("word", ["result", "pre_state"])
def test_a_probe_may_not_name_a_value_that_exists_only_after_the_action(word):
    probe = {"result": lambda result: 3, "pre_state": lambda pre_state: 3}[word]

    assert refusal(expects(change("rows", probe)), act) == (
        TypeError,
        (
            f"the probe of check 'rows' on action 'act' needs {word!r}, which does not exist "
            "(it may name: causal_tag, limit, tenant)"
        ),
    )


def test_an_expected_value_with_an_unknown_name_is_refused():
    kind, text = refusal(expects(ROWS.by(lambda reslt: 1)), act)

    assert kind is TypeError
    assert text.endswith(
        "of check 'rows' on action 'act' needs 'reslt', which does not exist; did you mean 'result'? "
        "(it may name: causal_tag, limit, pre_state, result, tenant)"
    )


def test_a_window_refuses_a_name_that_its_args_do_not_hold():
    assert refusal(window, "load", change("rows", lambda tenent: 3), args={"tenant": "acme"}) == (
        TypeError,
        (
            "the probe of check 'rows' on action 'load' needs 'tenent', which does not exist; "
            "did you mean 'tenant'? (it may name: causal_tag, tenant)"
        ),
    )


def test_a_probe_may_not_name_a_reserved_word_that_is_also_a_parameter():
    decorate = expects(change("rows", lambda causal_tag: 3))

    assert refusal(decorate, lambda causal_tag: None) == (
        ValueError,
        (
            "the probe of check 'rows' on action '<lambda>' names 'causal_tag', which is both a parameter of "
            "the action and a word of deltaspan; rename the action's parameter"
        ),
    )


@pytest.mark.parametrize(
    ("word", "expected", "action"),
    [
        ("result", lambda result: 1, lambda result: None),
        ("pre_state", lambda pre_state: 1, lambda pre_state: None),
        ("causal_tag", lambda causal_tag: 1, lambda causal_tag: None),
    ],
)
def test_an_expected_value_may_not_name_a_reserved_word_that_is_also_a_parameter(word, expected, action):
    kind, text = refusal(expects(ROWS.by(expected)), action)

    assert kind is ValueError
    assert text.endswith(
        f"names {word!r}, which is both a parameter of the action and a word of deltaspan; "
        "rename the action's parameter"
    )


def test_an_action_may_have_a_parameter_named_like_a_word_that_no_check_uses():
    expects(ROWS.by(1))(lambda result, causal_tag, pre_state: None)


def test_a_probe_may_name_a_parameter_that_is_a_reserved_word_of_expected_values_alone():
    expects(change("rows", lambda result: result))(lambda result: None)


@pytest.mark.parametrize(
    "probe", [read_later, functools.partial(read_later), LaterReader()], ids=["function", "partial", "object"]
)
def test_an_async_probe_on_an_action_that_is_not_async_is_refused(probe):
    assert refusal(expects(change("rows", probe)), act) == (
        TypeError,
        (
            "action 'act' is not async, but the probe of check 'rows' is; "
            "use a probe that answers at once, or an async action"
        ),
    )


def test_an_async_expected_value_is_refused():
    async def action():
        pass

    kind, text = refusal(expects(ROWS.by(read_later)), action)

    assert kind is TypeError
    assert text.endswith("of check 'rows' on action 'action' is async; compute it without waiting")


def test_a_metric_named_twice_is_refused():
    decorate = expects(ROWS, unchanged("users", len), observe("rows", lambda: 3))

    assert refusal(decorate, lambda obj: None) == (
        ValueError,
        (
            "action '<lambda>' names the metric 'rows' twice: combine the words in one check, "
            "or give the second a name of its own"
        ),
    )


@pytest.mark.parametrize(("first", "second"), [("Users", "users"), ("a.b", "a-b"), ("a_b", "A.B")])
def test_two_metrics_with_one_key_in_the_names_of_attributes_are_refused(first, second):
    decorate = expects(unchanged(first, len), observe(second, len))

    kind, text = refusal(decorate, lambda obj: None)

    assert kind is ValueError
    assert text == (
        f"action '<lambda>' has the metrics {first!r} and {second!r}, and both have the key "
        f"{first.lower().replace('.', '_')!r} in the names of attributes; rename one of them"
    )


def test_a_window_refuses_two_metrics_with_one_key_too():
    with pytest.raises(ValueError, match="both have the key 'rows' in the names of attributes"):
        window("w", observe("rows", list), observe("Rows", list)).open()


def test_an_action_without_a_check_is_refused():
    assert refusal(expects(), act) == (
        ValueError,
        "action 'act' has no check; write at least one change(), unchanged() or observe()",
    )


def test_a_window_without_a_check_is_refused():
    assert refusal(window, "load") == (
        ValueError,
        "action 'load' has no check; write at least one change(), unchanged() or observe()",
    )


def test_a_window_without_a_name_is_refused():
    assert refusal(window, "", ROWS) == (ValueError, "an action needs a name, not ''")


def test_a_window_that_was_given_a_check_for_its_name_is_refused():
    assert refusal(window, ROWS) == (ValueError, f"an action needs a name, not {ROWS!r}")


def test_a_decorator_without_parentheses_is_refused_with_advice():
    assert refusal(expects, act) == (
        TypeError,
        (
            "expects needs checks before it meets the action: write "
            "@expects(change('flows', count_flows).by(1)) above 'act'"
        ),
    )


def test_a_value_that_is_not_a_check_is_refused():
    assert refusal(expects("rows"), act) == (
        TypeError,
        "action 'act' expects checks such as change('flows', count).by(1), not 'rows'",
    )


@pytest.mark.parametrize("option", ["on_failure", "on_inconclusive"])
def test_an_unknown_policy_is_refused(option):
    assert refusal(expects, ROWS, **{option: "explode"}) == (
        ValueError,
        f"{option}='explode' is not one of record, warn, raise",
    )


def test_a_hook_that_cannot_be_called_is_refused():
    assert refusal(expects, ROWS, on_report=3) == (
        TypeError,
        "on_report=3 must be callable; it receives an ActionReport",
    )


def test_a_class_is_refused():
    class Store:
        pass

    assert refusal(expects(ROWS), Store) == (
        TypeError,
        (
            "expects verifies a call, and test_a_class_is_refused.<locals>.Store is a class; "
            "decorate the method that acts, or wrap the call in window(...)"
        ),
    )


def test_a_tool_object_that_would_never_call_the_action_is_refused_with_the_right_order():
    class Tool:
        """The object that a framework's decorator returns."""

    assert refusal(expects(ROWS), Tool()) == (
        TypeError,
        (
            "expects must stand below the decorator that made this Tool, which would never call it:\n"
            "    @tool  # the framework's decorator first\n"
            "    @expects(...)\n"
            "    def action(...)"
        ),
    )
