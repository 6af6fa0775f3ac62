"""Members, counts, amounts and predicates that are computed from the run."""

import io
import itertools

import pytest

from deltaspan import DeltaspanError, change, collect_reports, expects


def judged(words, effect, state, result=None):
    """Run an action that makes `effect` on `state`; return its one check report."""

    @expects(words(change("x", lambda: state)))
    def act(tenant):
        effect(state)
        return result

    with collect_reports() as reports:
        act("acme")
    return reports[0]["x"]


def verdict(*args, **kwargs):
    report = judged(*args, **kwargs)
    return report.outcome, report.explanation


def add(*members):
    return lambda state: state.update(members)


def made_by_a_generator_function(tenant):
    yield tenant
    yield 7


COMPUTED = {
    "an argument": (lambda c: c.adding(lambda tenant: tenant), add("acme"), "pass"),
    "text is one member": (lambda c: c.adding(lambda tenant: tenant), add("a", "c", "m", "e"), "fail"),
    "several members": (lambda c: c.adding(lambda tenant: [tenant, 7]), add("acme", 7), "pass"),
    "a generator": (lambda c: c.adding(lambda tenant: (m for m in (tenant, 7))), add("acme", 7), "pass"),
    "a generator function": (lambda c: c.adding(made_by_a_generator_function), add("acme", 7), "pass"),
    "a number is one member": (lambda c: c.adding(lambda result: 7), add(7), "pass"),
    "given and computed": (lambda c: c.adding("z", lambda tenant: tenant), add("acme", "z"), "pass"),
    "a count": (lambda c: c.adding(count=lambda tenant: 4 * bool(tenant)), add(1, 2, 3, 4), "pass"),
    "members before the action": (lambda c: c.removing(lambda pre_state: pre_state), set.clear, "pass"),
    "only": (lambda c: c.only(lambda tenant: tenant), add("acme"), "pass"),
    "ignoring": (lambda c: c.adding("b").ignoring(lambda tenant: tenant), add("acme", "b"), "pass"),
    "a size": (lambda c: c.resizing(lambda tenant: 4 * bool(tenant)), add(1, 2, 3, 4), "pass"),
}


@pytest.mark.parametrize(("words", "effect", "outcome"), COMPUTED.values(), ids=COMPUTED)
def test_an_operand_is_computed_from_the_values_that_it_names(words, effect, outcome):
    assert judged(words, effect, {"old"}).outcome == outcome


def test_amounts_by_key_are_computed_one_by_one_or_all_together():
    def effect(state):
        state.update(acme=2)

    assert judged(lambda c: c.by({"acme": lambda result: result}), effect, {"acme": 0}, 2).passed
    assert judged(lambda c: c.by(lambda tenant: {tenant: 2}), effect, {"acme": 0}).passed
    assert (
        judged(lambda c: c.by(lambda tenant: {tenant: 1}).ignoring("b"), effect, {"acme": 0}).outcome
        == "fail"
    )


def test_the_sentence_shows_the_computed_value():
    assert verdict(lambda c: c.adding(lambda tenant: tenant), add(), set()) == (
        "fail",
        "expected x to change by adding 'acme', but it did not change (set() → set())",
    )


def test_members_that_cannot_be_computed_leave_the_check_inconclusive():
    report = judged(lambda c: c.adding(lambda result: result.id), add("a"), set())

    assert (report.outcome, report.reason) == ("inconclusive", "expectation_failed")


# Predicates -----------------------------------------------------------------------------------------------


def test_a_predicate_receives_the_values_that_it_names():
    seen = {}

    def holds(delta, pre_state, post_state, result, tenant, causal_tag):
        seen.update(added=delta.added, states=(pre_state, post_state), rest=(result, tenant))
        return causal_tag

    report = judged(lambda c: c.satisfying(holds, "anything"), add("a"), set(), 3)

    assert (report.outcome, report.explanation) == ("pass", "x added 'a', as expected (set() → {'a'})")
    assert seen == {"added": frozenset({"a"}), "states": (frozenset(), frozenset({"a"})), "rest": (3, "acme")}


def test_a_predicate_on_a_number_is_given_the_amount():
    state = []
    check = change("n", lambda: len(state)).satisfying(lambda delta: delta % 2 == 0, "an even number of rows")

    @expects(check)
    def act(rows):
        state.extend(rows)

    with collect_reports() as reports:
        act([1, 2])
        act([1])

    assert [report["n"].explanation for report in reports] == [
        "n changed by 2, as expected (0 → 2)",
        "expected n to satisfy 'an even number of rows', but it changed by 1 (2 → 3)",
    ]
    assert reports[0]["n"].expected_delta == "an even number of rows"


def test_a_predicate_is_called_once_and_never_by_the_report():
    asked = []
    report = judged(lambda c: c.satisfying(lambda delta: asked.append(delta.added), "never"), add("a"), set())

    assert {report.explanation, str(report).rpartition("explanation: ")[2]} == {
        "expected x to satisfy 'never', but it added 'a' (set() → {'a'})"
    }
    assert len(asked) == 1


def test_only_the_predicate_decides_if_the_state_has_to_change():
    assert judged(lambda c: c.satisfying(lambda post_state: not post_state, "empty"), add(), set()).passed


def test_a_predicate_sees_no_ignored_members():
    words = lambda c: c.satisfying(lambda delta: delta.added == {"b"}, "b alone").ignoring("a")  # noqa: E731

    assert judged(words, add("a", "b"), set()).passed


def test_a_predicate_and_an_end_are_both_demanded():
    words = lambda c: c.from_({1}).satisfying(lambda delta: True, "anything")  # noqa: E731

    assert verdict(words, add(2), {3}) == (
        "fail",
        "expected x to satisfy 'anything' from {1}, but it started at {3} and added member 2 ({3} → {2, 3})",
    )


def test_a_predicate_that_raises_makes_the_check_inconclusive():
    report = judged(lambda c: c.satisfying(lambda delta: delta.nothing, "anything"), add("a"), set())

    assert (report.outcome, report.reason) == ("inconclusive", "expectation_failed")
    assert report.explanation == (
        "x: the predicate 'anything' raised AttributeError: 'SetDelta' object has no attribute 'nothing'"
    )


def test_a_predicate_that_names_an_unknown_value_is_refused():
    with pytest.raises(DeltaspanError) as caught:
        judged(lambda c: c.satisfying(lambda dleta: True, "anything"), add(), set())

    assert str(caught.value) == (
        "the predicate of check 'x' on action 'act' needs 'dleta', which does not exist; "
        "did you mean 'delta'? (it may name: causal_tag, delta, post_state, pre_state, result, tenant)"
    )


def test_a_computed_member_may_not_name_a_value_reserved_for_predicates():
    with pytest.raises(
        DeltaspanError, match=r"the expected value in \.adding\(\.\.\.\) of .* needs 'post_state'"
    ):
        judged(lambda c: c.adding(lambda post_state: post_state), add(), set())


def test_a_computed_ignored_member_is_not_a_trace_of_an_action_that_raised():
    state = {"tmp"}

    @expects(
        change("x", lambda: state)
        .adding(lambda result: result)
        .ignoring(lambda tenant: tenant)
        .or_unchanged_on_error()
    )
    def act(tenant):
        state.add(tenant)
        raise OSError

    with collect_reports() as reports, pytest.raises(OSError):  # noqa: PT011  # any will do
        act("acme")

    assert reports[0]["x"].explanation == (
        "x did not change after the action raised OSError, ignoring 'acme', as expected "
        "({'tmp'} → {'acme', 'tmp'})"
    )


class Endless:
    def __iter__(self):
        return itertools.count()


ITERATORS = {
    "of a list": lambda: iter(["acme"]),
    "a map": lambda: map(str, ["acme"]),
    "a generator": lambda: (member for member in ["acme"]),
    "lines": lambda: io.StringIO("acme"),
}


@pytest.mark.parametrize("make", ITERATORS.values(), ids=ITERATORS)
@pytest.mark.parametrize(
    "words",
    [
        lambda c: c.adding(lambda result: result["created"]),
        lambda c: c.only(lambda result: result["created"]),
        lambda c: c.ignoring(lambda result: result["created"]),
        lambda c: c.to(lambda result: result["created"]),
    ],
)
def test_an_iterator_within_the_result_is_left_to_the_caller(words, make):
    result = {"created": make()}

    report = judged(words, add("acme"), set(), result)

    assert report.reason == "expectation_failed"
    assert "Unfreezable: found an" in report.explanation
    assert list(result["created"]) == ["acme"]


@pytest.mark.parametrize("result", [range(10**9), Endless()])
def test_more_members_than_a_state_may_have_are_not_all_read(result):
    report = judged(lambda c: c.adding(lambda result: result), add("acme"), set(), result)

    assert (report.reason, report.explanation) == (
        "expectation_failed",
        (
            "x: its expected value could not be computed: DefinitionValueError: it computed more than "
            "1000000 members; write a pattern that matches them, or their count"
        ),
    )
