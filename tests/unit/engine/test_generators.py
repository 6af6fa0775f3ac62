"""Decorated generators: stepped by their consumer, judged at their end."""

import contextlib
import contextvars
import inspect
import types
from contextvars import ContextVar

import pytest
from opentelemetry import trace
from opentelemetry.context import attach, get_current, set_value

from deltaspan import (
    DeltaCheckFailed,
    change,
    collect_reports,
    current_causal_tag,
    expects,
    observe,
    unchanged,
)
from support.frames import count_own_frames
from support.reports import reports_of


@pytest.fixture
def fill(flows):
    @expects(change("flows", flows.count).by(2))
    def fill(*names):
        for name in names:
            flows.rows.append(name)
            yield name
        return "filled"

    return fill


def test_a_decorated_generator_function_keeps_its_kind_and_name(fill):
    assert inspect.isgeneratorfunction(fill)
    assert inspect.isgenerator(fill("a"))
    assert fill("a").__name__ == "fill"
    assert fill("a").__qualname__ == fill.__qualname__


def test_nothing_is_read_before_the_first_step(flows, fill):
    filling = fill("a", "b")
    assert flows.reads == 0

    next(filling)
    assert flows.reads == 1


def test_wrong_arguments_are_refused_at_the_call_as_before(flows):
    @expects(observe("flows", flows.count))
    def act(name):
        yield name

    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        act()


def test_a_generator_is_judged_when_it_is_exhausted(fill):
    with collect_reports() as reports:
        assert list(fill("a", "b")) == ["a", "b"]

    assert [report["flows"].explanation for report in reports] == ["flows changed by 2, as expected (0 → 2)"]


def test_a_sent_value_reaches_the_body(flows):
    @expects(observe("flows", flows.count))
    def echo():
        received = yield "ready"
        while True:
            received = yield received

    echoing = echo()

    assert [echoing.send(None), echoing.send(1), echoing.send(2), next(echoing)] == ["ready", 1, 2, None]


def test_a_send_before_the_first_step_raises_the_usual_error(fill):
    with pytest.raises(TypeError, match="can't send non-None value to a just-started generator"):
        fill().send(1)


def test_the_return_value_reaches_a_delegating_generator(fill):
    def delegate():
        return (yield from fill("a", "b"))

    delegating = delegate()
    with collect_reports() as reports:
        values = list(iter(delegating.__next__, "b"))
        with pytest.raises(StopIteration) as end:
            next(delegating)

    assert values == ["a"]
    assert end.value.value == "filled"
    assert reports[0].outcome == "pass"


def test_sent_values_and_thrown_exceptions_pass_through_delegation(flows):
    @expects(observe("flows", flows.count))
    def inner():
        try:
            received = yield "ready"
            yield received
        except LookupError as error:
            yield error

    def delegate():
        yield from inner()

    delegating = delegate()
    error = LookupError()

    assert [next(delegating), delegating.send(1), delegating.throw(error)] == ["ready", 1, error]


def test_an_expected_value_may_name_its_return_value(flows):
    @expects(change("flows", flows.count).by(lambda result: result))
    def act():
        flows.rows.append(1)
        yield
        return 1

    reports = reports_of(lambda: list(act()))

    assert reports[0].outcome == "pass"


def test_the_very_exception_that_the_body_raises_is_raised(flows):
    error = LookupError("no such tenant")

    @expects(change("flows", flows.count), unchanged("users", lambda: 1))
    def act():
        yield 1
        raise error

    with collect_reports() as reports, pytest.raises(LookupError) as caught:
        list(act())

    assert caught.value is error
    assert (error.__cause__, error.__context__) == (None, None)
    assert [(check.outcome, check.reason) for check in reports[0]] == [
        ("inconclusive", "action_failed"),
        ("pass", None),
    ]


def test_a_traceback_has_at_most_one_frame_of_deltaspan(flows):
    @expects(change("flows", flows.count))
    def act():
        yield 1
        raise LookupError

    with pytest.raises(LookupError) as caught:
        list(act())

    assert count_own_frames(caught.value) <= 1


def test_an_exception_thrown_into_a_generator_has_at_most_one_frame_of_deltaspan(fill):
    filling = fill("a")
    next(filling)

    with pytest.raises(LookupError) as caught:
        filling.throw(LookupError())

    assert count_own_frames(caught.value) <= 1


def test_the_body_can_catch_a_thrown_exception(flows):
    @expects(change("flows", flows.count).by(1))
    def act():
        try:
            yield 1
        except LookupError:
            flows.rows.append(1)
        yield 2

    acting = act()
    with collect_reports() as reports:
        found = [next(acting), acting.throw(LookupError()), *acting]

    assert found == [1, 2]
    assert reports[0].outcome == "pass"


def test_an_exception_after_a_caught_one_has_no_context_of_deltaspan(flows):
    @expects(observe("flows", flows.count))
    def act():
        with contextlib.suppress(LookupError):
            yield 1
        raise ValueError

    acting = act()
    next(acting)
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # it has no text
        acting.throw(LookupError())

    assert caught.value.__context__ is None


@pytest.mark.parametrize("error", [KeyboardInterrupt("stop"), SystemExit(3), StopIteration(4)], ids=repr)
def test_a_thrown_exception_comes_out_as_from_a_bare_generator(flows, error):
    def act():
        yield 1

    def thrown_into(generator):
        next(generator)
        with pytest.raises(BaseException) as caught:  # noqa: PT011  # its type is compared
            generator.throw(error)
        return caught.type, caught.value.args

    assert thrown_into(expects(observe("flows", flows.count))(act)()) == thrown_into(act())


# Current tag, span and context --------------------------------------------------------------------------


def test_the_tag_is_current_in_the_body_at_each_step(flows):
    @expects(observe("flows", flows.count))
    def act():
        while True:
            yield current_causal_tag()

    acting = act()
    first, second = next(acting), next(acting)

    assert first is not None
    assert first == second


def test_the_consumer_never_sees_the_tag(flows):
    @expects(observe("flows", flows.count))
    def act():
        yield 1
        yield 2

    assert [current_causal_tag() for _ in act()] == [None, None]
    assert current_causal_tag() is None


def test_the_consumer_never_sees_the_span(recorded, flows):
    @expects(observe("flows", flows.count))
    def act():
        yield trace.get_current_span().is_recording()

    assert [(inside, trace.get_current_span().is_recording()) for inside in act()] == [(True, False)]


def test_a_span_that_the_body_holds_open_is_current_again_at_the_next_step(recorded, flows):
    @expects(observe("flows", flows.count))
    def act():
        with recorded.tracer.start_as_current_span("inner") as span:
            yield trace.get_current_span() is span
            yield trace.get_current_span() is span
        yield trace.get_current_span() is span

    assert list(act()) == [True, True, False]


def test_nothing_stays_current_after_a_generator_that_held_a_span_open(recorded, flows):
    @expects(observe("flows", flows.count))
    def act():
        with recorded.tracer.start_as_current_span("inner"):
            yield

    before = get_current()
    list(act())

    assert get_current() == before


def test_an_action_after_one_that_attached_a_value_is_still_a_tool(recorded, flows):
    @expects(observe("flows", flows.count))
    def act():
        attach(set_value("left", True))

    def run():
        act()
        act()

    contextvars.copy_context().run(run)

    assert [span.name for span in recorded.spans] == ["execute_tool act"] * 2


def test_interleaved_generators_each_keep_their_own_tag(flows):
    @expects(observe("flows", flows.count))
    def act():
        while True:
            yield current_causal_tag()

    one, other = act(), act()
    tags = [next(one), next(other), next(one), next(other)]

    assert tags[:2] == tags[2:]
    assert tags[0] != tags[1]


def test_a_run_called_by_the_body_is_its_child_and_one_called_by_the_consumer_is_not(flows):
    inner = expects(observe("flows", flows.count), name="inner")(lambda: None)

    @expects(observe("flows", flows.count), name="outer")
    def act():
        inner()
        yield

    with collect_reports() as reports:
        for _ in act():
            inner()

    by_body, by_consumer, outer = reports
    assert by_body.parent_tag == outer.causal_tag
    assert by_consumer.parent_tag is None


def test_the_body_sees_the_context_variables_that_its_consumer_sets_later(flows):
    variable = ContextVar("variable", default="before")

    @expects(observe("flows", flows.count))
    def act():
        yield variable.get()
        yield variable.get()

    acting = act()
    found = [next(acting)]
    variable.set("after")
    found.append(next(acting))

    assert found == ["before", "after"]


def test_the_consumer_sees_the_context_variables_that_the_body_sets(flows):
    variable = ContextVar("variable", default="before")

    @expects(observe("flows", flows.count))
    def act():
        variable.set("after")
        yield

    next(act())

    assert variable.get() == "after"


def test_a_failure_can_be_raised_at_exhaustion_with_the_return_value(flows):
    @expects(change("flows", flows.count).by(1), on_failure="raise")
    def act():
        yield 1
        return "done"

    acting = act()
    assert next(acting) == 1
    with collect_reports() as reports, pytest.raises(DeltaCheckFailed) as caught:
        next(acting)

    assert caught.value.report is reports[0]
    assert caught.value.result == "done"
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_method_may_be_a_generator(flows):
    class Agent:
        @expects(change("flows", flows.count).by(1), observe("name", lambda name: name))
        def act(self, name):
            flows.rows.append(name)
            yield self

    agent = Agent()
    with collect_reports() as reports:
        assert list(agent.act("a")) == [agent]

    assert reports[0].outcome == "pass"
    assert reports[0]["name"].pre_state == "a"


def test_two_stacked_decorators_are_two_runs_of_which_the_inner_is_a_child(flows):
    @expects(change("flows", flows.count).by(1), name="outer")
    @expects(change("flows", flows.count).by(1), name="inner")
    def act():
        flows.rows.append(1)
        yield 1

    with collect_reports() as reports:
        assert list(act()) == [1]

    assert [(report.action, report.outcome) for report in reports] == [("inner", "pass"), ("outer", "pass")]
    assert reports[0].parent_tag == reports[1].causal_tag


def test_a_generator_that_can_be_awaited_still_can(flows):
    @expects(change("flows", flows.count).by(1))
    @types.coroutine
    def act():
        flows.rows.append(1)
        received = yield "waiting"
        return received

    async def wait():
        return await act()

    with collect_reports() as reports:
        waiting = wait()
        asked = waiting.send(None)
        with pytest.raises(StopIteration) as end:
            waiting.send("came")

    assert (asked, end.value.value) == ("waiting", "came")
    assert reports[0].outcome == "pass"


def test_a_generator_object_that_a_plain_function_returns_is_judged_when_it_is_exhausted(flows):
    def fill():
        flows.rows.append(1)
        yield 1
        return "filled"

    act = expects(change("flows", flows.count).by(1), name="act")(lambda: fill())
    with collect_reports() as reports:
        acting = act()
        assert inspect.isgenerator(acting)
        assert (list(acting), acting.__name__) == ([1], "fill")

    assert [report.outcome for report in reports] == ["pass"]


def test_a_generator_object_that_had_already_begun_is_returned_unchanged(flows):
    begun = iter_of_two()
    next(begun)

    assert expects(observe("flows", flows.count))(lambda: begun)() is begun


def iter_of_two():
    yield 1
    yield 2


def test_a_context_manager_made_of_a_decorated_generator_is_a_window_around_its_block(flows):

    @contextlib.contextmanager
    @expects(change("flows", flows.count).by(1))
    def opened():
        yield flows

    with collect_reports() as reports, opened() as found:
        found.rows.append(1)
        assert current_causal_tag() is None

    assert reports[0].outcome == "pass"
