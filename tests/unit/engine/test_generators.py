"""A decorated generator: a generator to its consumer, whose window is open from first step to last."""

import contextlib
import inspect
import traceback
from pathlib import Path

import pytest

import deltaspan
from deltaspan import (
    change,
    collect_reports,
    expects,
    observe,
    unchanged,
)


class Flows:
    """A piece of state to act on, which counts its reads."""

    def __init__(self):
        self.rows = []
        self.reads = 0

    def count(self):
        self.reads += 1
        return len(self.rows)


@pytest.fixture
def flows():
    return Flows()


@pytest.fixture
def fill(flows):
    @expects(change("flows", flows.count).by(2))
    def fill(*names):
        for name in names:
            flows.rows.append(name)
            yield name
        return "filled"

    return fill


def test_it_is_a_generator_function_that_returns_a_generator_of_its_name(fill):
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


def test_what_is_sent_reaches_the_body(flows):
    @expects(observe("flows", flows.count))
    def echo():
        received = yield "ready"
        while True:
            received = yield received

    echoing = echo()

    assert [echoing.send(None), echoing.send(1), echoing.send(2), next(echoing)] == ["ready", 1, 2, None]


def test_sending_to_one_that_has_not_begun_is_refused_as_before(fill):
    with pytest.raises(TypeError, match="can't send non-None value to a just-started generator"):
        fill().send(1)


def test_what_it_returns_reaches_whoever_delegates_to_it(fill):
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


def test_what_is_sent_and_thrown_passes_through_delegation(flows):
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


def test_an_expected_value_may_name_what_it_returns(flows):
    @expects(change("flows", flows.count).by(lambda result: result))
    def act():
        flows.rows.append(1)
        yield
        return 1

    with collect_reports() as reports:
        list(act())

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


def frames_of_ours(error):
    package = Path(deltaspan.__file__).parent
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return sum(package in Path(name).parents or "wrapt" in name for name in frames)


def test_a_traceback_has_at_most_one_frame_of_ours(flows):
    @expects(change("flows", flows.count))
    def act():
        yield 1
        raise LookupError

    with pytest.raises(LookupError) as caught:
        list(act())

    assert frames_of_ours(caught.value) <= 1


def test_an_exception_that_is_thrown_in_and_comes_out_has_at_most_one_frame_of_ours(fill):
    filling = fill("a")
    next(filling)

    with pytest.raises(LookupError) as caught:
        filling.throw(LookupError())

    assert frames_of_ours(caught.value) <= 1


def test_what_is_thrown_in_can_be_caught_by_the_body(flows):
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


def test_what_the_body_raises_after_it_caught_something_has_no_context_of_ours(flows):
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
def test_whatever_is_thrown_in_comes_out_as_from_a_bare_generator(flows, error):
    def act():
        yield 1

    def thrown_into(generator):
        next(generator)
        with pytest.raises(BaseException) as caught:  # noqa: PT011  # what it is, is compared
            generator.throw(error)
        return caught.type, caught.value.args

    assert thrown_into(expects(observe("flows", flows.count))(act)()) == thrown_into(act())
